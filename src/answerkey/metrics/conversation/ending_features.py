"""What speaks for and against a solved problem at the end of a conversation, in figures.

`tools/fit_conversations.py` fits one weight per feature.
"""

from __future__ import annotations

from collections.abc import Sequence

from answerkey.embed import Embedder
from answerkey.language.quantities import figures
from answerkey.language.refusal import refusal
from answerkey.language.sentences import content_stems
from answerkey.metrics.agreement.comparable import read
from answerkey.metrics.conversation.asked_again import questions_in
from answerkey.metrics.conversation.reactions import (
    COMPLAINT,
    LEAVING,
    SLIGHT_DENIAL,
    complaint_degree,
    denial_degree,
    leaving_degree,
)
from answerkey.metrics.conversation.read_turns import (
    begins_with_phrase,
    ends_with_question,
    filler_stems,
    has_phrase,
    phrase_list,
    plain,
)
from answerkey.text import words
from answerkey.types import Turn

Features = dict[str, float]

_SAME_MESSAGE = 0.75  # share of the words that two messages of the user have in common
_SHORTEST_QUESTION = 3  # content words; a short reply such as "8 pm" may be given twice
_RECENT = 2  # answers at the end
_SAME_ANSWER_AFTER_COMPLAINT = 0.7  # nobody complains about an answer to hear it again
_SHORTEST_ANSWER = 4  # content words by which an answer is known again
_MOST_NEW = 0.5  # share of the words of an answer that earlier answers do not have
_SAME_ANSWER = 0.8  # cosine; repeated answers of written conversations have 0.85 to 1
_ON_TOPIC = 0.5  # cosine of a message and an answer to it
_LONGEST_CLOSING = 25  # words; longer messages say more than thanks


def ending_features(turns: Sequence[Turn], embed: Embedder) -> Features:
    """The features of a conversation, in the order of the weights in `fitted/ending.json`."""
    last = turns[-1]
    before = turns[:-1]
    earlier_answer = before[-1].answer if before else ""
    is_repeated = any(_is_same_message(last.user, turn.user) for turn in before)
    return {
        "complaints": float(sum(_complains(turns, place) for place in range(1, len(turns)))),
        "declines": float(_declines(last.answer)),
        "declined_before": float(_declines(earlier_answer)),
        "only_asks": float(_only_asks(last.answer)),
        "repeats_answer": float(_says_the_same(turns, embed)),
        "repeated_before": float(len(turns) > 1 and _says_nothing_new(before, embed)),
        "words_of_earlier_answer": _share_of_earlier_words(turns),
        "question_repeated": float(is_repeated or _insists(turns)),
        "off_topic": max(0.0, _ON_TOPIC - _cosine(last.user, last.answer, embed)),
        "vague": float(not set(words(last.answer)).isdisjoint(phrase_list("vague"))),
        "empty_courtesy": float(begins_with_phrase(last.answer, phrase_list("courtesies"))),
        # The rest speaks for a solved problem.
        "closing": float(is_closing(last.user)),
        "is_question": float(ends_with_question(last.user)),
        "new_figure": float(bool(_figures([last]) - _figures(before))),
    }


def _cosine(text: str, other: str, embed: Embedder) -> float:
    if not text.strip() or not other.strip():
        return 0.0
    vectors = embed.embed([text, other])
    return float(vectors[0] @ vectors[1])


def _figures(turns: Sequence[Turn]) -> set[float]:
    return {figure.value for turn in turns for figure in figures(turn.answer)}


def _share_of_earlier_words(turns: Sequence[Turn]) -> float:
    """The share of content words that the last answer and an earlier one have in common."""
    stems = content_stems(turns[-1].answer)
    shares: list[float] = []
    for turn in turns[:-1]:
        other = content_stems(turn.answer)
        shares.append(len(stems & other) / max(1, len(stems | other)))
    return max(shares, default=0.0)


def _says_the_same(turns: Sequence[Turn], embed: Embedder) -> bool:
    return _repeats_answer(turns) or _says_nothing_new(turns, embed)


def _declines(answer: str) -> bool:
    """Whether an answer declines, by its words and by the model.

    "I've unlocked it. Please try again." has the words of a refusal and is none.
    """
    if refusal(answer) != "full":
        return False
    degree = denial_degree(answer)
    return degree == 0.0 or degree >= SLIGHT_DENIAL


def _complains(turns: Sequence[Turn], place: int) -> bool:
    """Whether a message says that the answer before it did not help.

    A reply to a question of the bot describes the problem, which is no complaint.
    """
    message = turns[place].user
    if place == 0 or ends_with_question(turns[place - 1].answer):
        return False
    if is_discontent(message) or leaving_degree(message) >= LEAVING:
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
