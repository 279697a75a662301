"""`refusal` and `abstention`: does the answer decline, and should it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerkey.language.refusal import refusal
from answerkey.language.sentences import content_stems, pieces
from answerkey.language.words import synonyms
from answerkey.metrics.registry import metric
from answerkey.text import has_any
from answerkey.types import Case, Response, Score

_VALUES = {"full": 1.0, "partial": 0.5, "none": 0.0}


def should_decline(case: Case) -> bool:
    """Whether the case is out of scope, or an expected answer is itself a refusal."""
    if case.criteria.out_of_scope:
        return True
    return any(refusal(expected) == "full" for expected in case.expected)


@metric(
    "refusal", family="communication", better="neither", needs=("answer",), empty="0", version=5
)
def refusal_metric(case: Case, response: Response) -> Score:
    """1 for an answer that declines, 0.5 for one that declines in part, else 0.

    1 for `I don't know.`
    """
    kind = refusal(response.answer or "")
    reason = "" if kind == "none" else f"{kind} refusal"
    return Score(_VALUES[kind], reason)


@metric(
    "abstention",
    family="communication",
    needs=("answer",),
    empty="0, or 1 where the bot should decline",
    version=8,  # an empty answer is no answer
)
def abstention(case: Case, response: Response, *, words: Mapping[str, tuple[str, ...]]) -> Score:
    """1 when the bot declined exactly when it should: out of scope, or a refusal is expected.

    Without an expected answer it may decline where the passages have at most half of the
    question's words.
    """
    should = should_decline(case)
    if not any(character.isalnum() for character in response.answer or ""):
        return Score(float(should), f"no answer, {_expectation(should)}")
    declined = _is_declined(response.answer or "", words["abstains"], should)
    is_unasked = declined and not should and not case.expected
    if is_unasked and _lacks_topic(case.question, response.contexts):
        return Score(1.0, "declined; the passages have few of the question's words")
    did = "declined" if declined else "answered"
    return Score(float(declined == should), f"{did}, {_expectation(should)}")


def _expectation(should: bool) -> str:
    if should:
        return "should decline"
    return "should answer"


def _is_declined(answer: str, abstaining: Sequence[str], should: bool) -> bool:
    """Whether the answer declines; a partial refusal counts where a refusal is right."""
    # The profile's own phrases win, so that another language needs no code.
    if has_any(answer, abstaining):
        return True
    kind = refusal(answer)
    return kind == "full" or (kind == "partial" and should)


def _lacks_topic(question: str, contexts: Sequence[str]) -> bool:
    """Whether the passages have at most half of the question's words."""
    stems = content_stems(question)
    context_stems = {stem for text in contexts for piece in pieces(text) for stem in piece.stems}
    present = [
        stem in context_stems or not context_stems.isdisjoint(synonyms().get(stem, ()))
        for stem in stems
    ]
    # Without passages nothing says that the bot should have declined.
    return bool(context_stems) and 2 * sum(present) <= len(present)
