"""Citation markers `[n]`, `[1, 3]` and `[1-3]`."""

from __future__ import annotations

import re

from answerkey.metrics.registry import metric
from answerkey.metrics.sentences import sentence_spans
from answerkey.text import CITATION, citations
from answerkey.types import Case, Response, Score

_LETTER = re.compile(r"[^\W\d_]")
# A mark after the full stop, "It is so. [1]": not after the number of a list, nor after an abbreviation.
_AFTER_END = re.compile(
    r"(?<![.!?。！？])(?<!^\d)(?<!^\d\d)(?<!\bal)(?<!\bcf)(?<!\b[A-Za-z]\.[A-Za-z])"
    rf"([.!?。！？]+[\"'”’)]*)((?:[^\S\n]*{CITATION.pattern})+)",
    re.MULTILINE,
)
_RUNS_ON = re.compile(r"(?:\b[A-Za-z]\.[A-Za-z]|\b(?:al|cf|pp?|vol|sec|art))\.$", re.IGNORECASE)
_CONTINUES = re.compile(r"[a-z\d\[(]")


@metric(
    "citation_validity", needs=("answer",), uses=("contexts",), empty="not applicable without a marker [n]"
)
def citation_validity(case: Case, response: Response) -> Score:
    """Share of markers [n] that point to a retrieved passage: 0.5 for `[1] [9]` with two passages."""
    marks = citations(response.answer or "")
    if not marks:
        return Score.not_applicable("the answer cites nothing")
    count = len(response.passages) or len(response.sources)
    wrong = sorted({mark for mark in marks if not 1 <= mark <= count})
    missing = f"no passage {', '.join(f'[{mark}]' for mark in wrong)} among {count}" if wrong else ""
    return Score(sum(1 <= mark <= count for mark in marks) / len(marks), missing)


@metric("citation_coverage", needs=("answer",), empty="not applicable to an answer with no sentence")
def citation_coverage(case: Case, response: Response) -> Score:
    """Share of the answer's sentences that carry a marker [n]: 0.5 for `One [1]. Two.`"""
    marked = _marked_sentences(response.answer or "")
    if not marked:
        return Score.not_applicable("the answer has no sentence")
    return Score(sum(marked) / len(marked), f"{sum(marked)} of {len(marked)} sentences")


def _marked_sentences(answer: str) -> list[bool]:
    """For each sentence whether it carries a marker. A line that ends in a colon belongs to what follows."""
    text = _AFTER_END.sub(r"\2\1", answer)
    marked: list[bool] = []
    before = ""
    for start, end in sentence_spans(text, longest=len(text) + 1):
        part = text[start:end]
        has_mark = CITATION.search(part) is not None
        if marked and _is_one_sentence(before[-12:], part):
            marked[-1] |= has_mark
        elif _LETTER.search(part):
            marked.append(has_mark)
        before = part
    return marked


def _is_one_sentence(before: str, part: str) -> bool:
    return before.endswith(":") or (
        _RUNS_ON.search(before) is not None and _CONTINUES.match(part) is not None
    )
