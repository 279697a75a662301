"""Citations `[n]`, `[1, 3]` and `[1-3]`, and declining to answer when that is right."""

from __future__ import annotations

import re
from collections.abc import Mapping

from answerkey.metrics.registry import metric
from answerkey.metrics.sentences import sentence_spans
from answerkey.text import CITATION, citations, has_any
from answerkey.types import Case, Response, Score

_LETTER = re.compile(r"[^\W\d_]")
# A mark behind the full stop, "It is so. [1]": not behind the number of a list, nor behind an abbreviation.
_BEHIND_END = re.compile(
    r"(?<![.!?。！？])(?<!^\d)(?<!^\d\d)(?<!\bal)(?<!\bcf)(?<!\b[A-Za-z]\.[A-Za-z])"
    rf"([.!?。！？]+[\"'”’)]*)((?:[^\S\n]*{CITATION.pattern})+)",
    re.MULTILINE,
)
_RUNS_ON = re.compile(r"(?:\b[A-Za-z]\.[A-Za-z]|\b(?:al|cf|pp?|vol|sec|art))\.$", re.IGNORECASE)
_GOES_ON = re.compile(r"[a-z\d\[(]")


@metric(
    "citation_validity", needs=("answer",), uses=("contexts",), empty="does not apply without a marker [n]"
)
def citation_validity(case: Case, response: Response) -> Score:
    """Share of markers [n] that point to a passage that was retrieved."""
    marks = citations(response.answer or "")
    if not marks:
        return Score.not_applicable("the answer cites nothing")
    count = len(response.passages) or len(response.sources)
    wrong = sorted({mark for mark in marks if not 1 <= mark <= count})
    told = f"of {count} passages there is no {', '.join(f'[{mark}]' for mark in wrong)}" if wrong else ""
    return Score(sum(1 <= mark <= count for mark in marks) / len(marks), told)


@metric("citation_coverage", needs=("answer",), empty="does not apply to an answer with no sentence")
def citation_coverage(case: Case, response: Response) -> Score:
    """Share of the answer's sentences that carry a marker [n]."""
    marked = _marked_sentences(response.answer or "")
    if not marked:
        return Score.not_applicable("the answer has no sentence")
    return Score(sum(marked) / len(marked), f"{sum(marked)} of {len(marked)} sentences")


@metric("abstention", needs=("answer",), empty="an empty answer declines nothing")
def abstention(case: Case, response: Response, *, words: Mapping[str, tuple[str, ...]]) -> Score:
    """1 when the bot declined exactly when it should have: on a question that is out of scope."""
    declined = has_any(response.answer or "", words["abstains"])
    should = case.criteria.out_of_scope
    told = ("declined" if declined else "answered") + (", out of scope" if should else ", in scope")
    return Score(float(declined == should), told)


def _marked_sentences(answer: str) -> list[bool]:
    """Of each sentence whether it carries a marker. A line that ends in a colon belongs to what follows."""
    text = _BEHIND_END.sub(r"\2\1", answer)
    marked: list[bool] = []
    before = ""
    for start, end in sentence_spans(text, longest=len(text) + 1):
        part = text[start:end]
        has_mark = CITATION.search(part) is not None
        if marked and _is_one(before[-12:], part):
            marked[-1] |= has_mark
        elif _LETTER.search(part):
            marked.append(has_mark)
        before = part
    return marked


def _is_one(before: str, part: str) -> bool:
    return before.endswith(":") or (_RUNS_ON.search(before) is not None and _GOES_ON.match(part) is not None)
