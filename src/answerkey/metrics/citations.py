"""Citations `[n]`, and declining to answer when that is right."""

from __future__ import annotations

import re
from collections.abc import Mapping

from answerkey.metrics.registry import metric
from answerkey.text import has_any
from answerkey.types import Case, Response, Score

MARKER = re.compile(r"\[(\d{1,3})\]")
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+(?:\s*\[\d{1,3}\])*|$)")


@metric(
    "citation_validity", needs=("answer",), uses=("contexts",), empty="does not apply without a marker [n]"
)
def citation_validity(case: Case, response: Response) -> Score:
    """Share of markers [n] that point to a passage that was retrieved."""
    marks = [int(mark) for mark in MARKER.findall(response.answer or "")]
    if not marks:
        return Score.not_applicable("the answer cites nothing")
    count = len(response.passages) or len(response.sources)
    wrong = sorted({mark for mark in marks if not 1 <= mark <= count})
    told = f"of {count} passages there is no {', '.join(f'[{mark}]' for mark in wrong)}" if wrong else ""
    return Score(sum(1 <= mark <= count for mark in marks) / len(marks), told)


@metric("citation_coverage", needs=("answer",), empty="does not apply to an answer with no sentence")
def citation_coverage(case: Case, response: Response) -> Score:
    """Share of the answer's sentences that carry a marker [n]."""
    parts = [part for part in _SENTENCE.findall(response.answer or "") if _LETTER.search(part)]
    if not parts:
        return Score.not_applicable("the answer has no sentence")
    return Score(sum(bool(MARKER.search(part)) for part in parts) / len(parts), f"{len(parts)} sentences")


@metric("abstention", needs=("answer",), empty="an empty answer declines nothing")
def abstention(case: Case, response: Response, *, words: Mapping[str, tuple[str, ...]]) -> Score:
    """1 when the bot declined exactly when it should have: on a question that is out of scope."""
    declined = has_any(response.answer or "", words["abstains"])
    should = case.criteria.out_of_scope
    told = ("declined" if declined else "answered") + (", out of scope" if should else ", in scope")
    return Score(float(declined == should), told)
