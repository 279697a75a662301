"""Whether a conversation ends with the user's problem solved, and after how many turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from answerkey.language.refusal import refusal
from answerkey.language.sentences import content_stems
from answerkey.metrics.conversation.asked_again import questions_in
from answerkey.metrics.conversation.read_turns import has_phrase, phrase_list, plain
from answerkey.types import Turn

_SAME_MESSAGE = 0.75  # share of the words that two messages of the user have in common
_SHORTEST_MESSAGE = 2  # content words
_SHORTEST_QUESTION = 3  # content words; a short reply such as "8 pm" may be given twice
_RECENT = 2  # answers at the end
_LONGEST_CLOSING = 25  # words; longer messages say more than thanks


class Ending(StrEnum):
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
    ending: Ending
    turns: int

    @property
    def is_resolved(self) -> bool:
        return self.ending in (Ending.CONTENT, Ending.ANSWERED)


def find_resolution(turns: Sequence[Turn]) -> Resolution:
    """How the conversation ends, and the number of turns until its problem was solved."""
    turns = _without_end_mark(turns)
    last = turns[-1]
    if is_discontent(last.user):
        return Resolution(Ending.DISCONTENT, len(turns))
    if len(turns) > 1 and is_closing(last.user):
        before = turns[-2]
        if refusal(before.answer) == "full" and not before.tools:
            # Thanks for nothing: politeness after a refusal is no solution.
            return Resolution(Ending.REFUSED, len(turns))
        return Resolution(Ending.CONTENT, len(turns) - 1)
    if any(_is_same_message(last.user, turn.user) for turn in turns[:-1]):
        return Resolution(Ending.REPEATED, len(turns))
    if _repeats_answer(turns):
        return Resolution(Ending.STUCK, len(turns))
    if not last.answer.strip():
        return Resolution(Ending.SILENT, len(turns))
    if refusal(last.answer) == "full":
        return Resolution(Ending.REFUSED, len(turns))
    if _only_asks(last.answer):
        return Resolution(Ending.OPEN, len(turns))
    return Resolution(Ending.ANSWERED, len(turns))


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
    if message.rstrip().endswith("?") or len(message.split()) > _LONGEST_CLOSING:
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


def _only_asks(answer: str) -> bool:
    """Whether the answer ends with a question for something that the user must still say."""
    questions = questions_in(answer)
    return bool(questions) and answer.rstrip().endswith(questions[-1].rstrip()[-10:])
