"""Whether a conversation ends with the user's problem solved, and after how many turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from answerkey.embed import Embedder
from answerkey.language.quantities import figures
from answerkey.language.refusal import refusal
from answerkey.language.sentences import content_stems
from answerkey.metrics.agreement.comparable import read
from answerkey.metrics.conversation.asked_again import questions_in
from answerkey.metrics.conversation.reactions import (
    COMPLAINT,
    DENIAL,
    LEAVING,
    SLIGHT_DENIAL,
    complaint_degree,
    denial_degree,
    leaving_degree,
)
from answerkey.metrics.conversation.read_turns import (
    ends_with_question,
    filler_stems,
    has_phrase,
    phrase_list,
    plain,
)
from answerkey.types import Turn

_SAME_MESSAGE = 0.75  # share of the words that two messages of the user have in common
_SHORTEST_MESSAGE = 2  # content words
_SHORTEST_QUESTION = 3  # content words; a short reply such as "8 pm" may be given twice
_RECENT = 2  # answers at the end
_SAME_ANSWER_AFTER_COMPLAINT = 0.7  # nobody complains about an answer to hear it again
_LONGEST_COURTESY = 2  # content words of an answer that only wishes well
_SHORTEST_ANSWER = 4  # content words by which an answer is known again
_MOST_NEW = 0.5  # share of the words of an answer that earlier answers do not have
_SAME_ANSWER = 0.8  # cosine; repeated answers of written conversations have 0.85 to 1
_LONGEST_CLOSING = 25  # words; longer messages say more than thanks


class ConversationEnding(StrEnum):
    """How a conversation ends."""

    CONTENT = "the user is content"
    ANSWERED = "the last question is answered"
    DISCONTENT = "the user is not content"
    REPEATED = "the user asks the same again"
    STUCK = "the bot repeats an answer"
    REFUSED = "the last answer declines"
    OPEN = "the bot still asks"
    SILENT = "the last message has no answer"


@dataclass(frozen=True, slots=True)
class Resolution:
    ending: ConversationEnding
    turns: int

    @property
    def is_resolved(self) -> bool:
        return self.ending in (ConversationEnding.CONTENT, ConversationEnding.ANSWERED)


def find_resolution(turns: Sequence[Turn], embed: Embedder) -> Resolution:
    """How the conversation ends, and the number of turns until its problem was solved."""
    turns = _without_end_mark(turns)
    last = turns[-1]
    # A complaint counts whatever follows it: the user has not confirmed the last answer.
    if is_discontent(last.user):
        return Resolution(ConversationEnding.DISCONTENT, len(turns))
    if len(turns) > 1 and is_closing(last.user) and not _only_asks(last.answer):
        before = turns[-2]
        if _declines(before.answer) and not before.tools:
            # Thanks for nothing: politeness after a refusal is no solution.
            return Resolution(ConversationEnding.REFUSED, len(turns))
        return Resolution(ConversationEnding.CONTENT, len(turns) - 1)
    if any(_is_same_message(last.user, turn.user) for turn in turns[:-1]) or _insists(turns):
        return Resolution(ConversationEnding.REPEATED, len(turns))
    if _repeats_answer(turns) or any(
        _says_nothing_new(turns[:count], embed) for count in (len(turns), len(turns) - 1)
    ):
        return Resolution(ConversationEnding.STUCK, len(turns))
    if not last.answer.strip():
        return Resolution(ConversationEnding.SILENT, len(turns))
    if _declines(last.answer) or _gives_up(turns):
        return Resolution(ConversationEnding.REFUSED, len(turns))
    if _only_asks(last.answer):
        return Resolution(ConversationEnding.OPEN, len(turns))
    if _complains(turns, len(turns) - 1) or leaving_degree(last.user) >= LEAVING:
        return Resolution(ConversationEnding.DISCONTENT, len(turns))
    return Resolution(ConversationEnding.ANSWERED, len(turns))


def _declines(answer: str) -> bool:
    """Whether an answer declines, by its words and by the model.

    "I've unlocked it. Please try again." has the words of a refusal and is none.
    """
    if refusal(answer) != "full":
        return False
    degree = denial_degree(answer)
    return degree == 0.0 or degree >= SLIGHT_DENIAL


def _gives_up(turns: Sequence[Turn]) -> bool:
    """Whether the user complained before, or was refused, and the last answer brings no help."""
    if len(turns) == 1:
        return False
    last = turns[-1].answer
    earlier = range(1, len(turns))
    if denial_degree(last) >= DENIAL:
        # "CL-20991", "Unfortunately the system is not available": it asked, and did not help.
        is_reply = ends_with_question(turns[-2].answer)
        is_denied_after_reply = is_reply and not ends_with_question(turns[-1].user)
        return is_denied_after_reply or any(_complains(turns, place) for place in earlier)
    if has_phrase(last, phrase_list("deflections")):
        return any(_declines(turn.answer) for turn in turns[:-1])
    # "I can't give medical advice.", "Fine, we'll drive to the hospital.", "Take care!"
    is_courtesy = len(content_stems(last)) <= _LONGEST_COURTESY
    is_question = ends_with_question(turns[-1].user)
    return is_courtesy and not is_question and denial_degree(turns[-2].answer) >= DENIAL


def _complains(turns: Sequence[Turn], place: int) -> bool:
    """Whether a message says that the answer before it did not help.

    A reply to a question of the bot describes the problem, which is no complaint.
    """
    message = turns[place].user
    if place == 0 or ends_with_question(turns[place - 1].answer):
        return False
    if is_discontent(message):
        return True
    # The model takes "So nothing is left after that?" for a complaint.
    return not ends_with_question(message) and complaint_degree(message) >= COMPLAINT


def _says_nothing_new(turns: Sequence[Turn], embed: Embedder) -> bool:
    """Whether the last answer repeats an earlier one in other words."""
    last = turns[-1].answer
    is_negative = read(last).negations > 0
    earlier = [
        turn.answer
        for turn in turns[:-1]
        if turn.answer.strip() and (read(turn.answer).negations > 0) == is_negative
    ]
    if not earlier:
        return False
    stems = content_stems(last)
    if not stems:
        return False
    said_before = {stem for answer in earlier for stem in content_stems(answer)}
    if len(stems - said_before) > _MOST_NEW * len(stems):
        return False
    old_values = {figure.value for answer in earlier for figure in figures(answer)}
    if not {figure.value for figure in figures(last)} <= old_values:
        return False
    if len(stems) >= _SHORTEST_ANSWER and any(stems <= content_stems(each) for each in earlier):
        return True
    vectors = embed.embed([last, *earlier])
    if any(_complains(turns, place) for place in range(1, len(turns))):
        least = _SAME_ANSWER_AFTER_COMPLAINT
    else:
        least = _SAME_ANSWER
    return float((vectors[1:] @ vectors[0]).max()) >= least


def _without_end_mark(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The turns without a last message that says nothing and got no answer: "###STOP###"."""
    last = turns[-1]
    is_mark = len(content_stems(last.user)) < _SHORTEST_MESSAGE and not is_closing(last.user)
    if len(turns) > 1 and not last.answer.strip() and is_mark:
        return turns[:-1]
    return turns


def is_discontent(message: str) -> bool:
    return has_phrase(message, phrase_list("unsolved"))


def is_closing(message: str) -> bool:
    """Whether a message only thanks, agrees or says goodbye."""
    if ends_with_question(message) or len(message.split()) > _LONGEST_CLOSING:
        return False
    return has_phrase(message, phrase_list("solved"))


def _repeats_answer(turns: Sequence[Turn]) -> bool:
    """Whether the bot gave one of its last answers before, word for word."""
    answers = [plain(turn.answer) for turn in turns if turn.answer.strip()]
    recent = answers[-_RECENT:]
    return any(
        answer in answers[: len(answers) - len(recent) + n] for n, answer in enumerate(recent)
    )


def _is_same_message(message: str, earlier: str) -> bool:
    stems = content_stems(message)
    other = content_stems(earlier)
    if len(stems) < _SHORTEST_QUESTION or not other:
        return False
    return len(stems & other) / len(stems | other) >= _SAME_MESSAGE


def _insists(turns: Sequence[Turn]) -> bool:
    """Whether the last message asks for something of an earlier one that no answer mentions."""
    if len(turns) == 1:
        return False
    topic = content_stems(turns[-1].user) - filler_stems("insisting")
    answers = {stem for turn in turns for stem in content_stems(turn.answer)}
    if not topic or topic & answers or not turns[-1].answer.strip():
        return False
    if ends_with_question(turns[-2].answer) or not ends_with_question(turns[-1].user):
        return False  # a reply to the bot's own question repeats what it must
    return any(topic <= content_stems(turn.user) for turn in turns[:-1])


def _only_asks(answer: str) -> bool:
    """Whether the answer ends with a question for something that the user must still say."""
    questions = questions_in(answer)
    return bool(questions) and answer.rstrip().endswith(questions[-1].rstrip()[-10:])
