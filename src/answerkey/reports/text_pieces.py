"""Answers and passages cut into pieces: sentences that a detector checked, spans that support them.

The places come from the details of a metric, so that any of them may be wrong. Every letter of the
text is shown exactly once, whatever the places are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from answerkey.coerce.values import is_list
from answerkey.reports.evidence import read_details
from answerkey.types import Outcome


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Part of an answer or passage.

    A sentence that was checked has a `flag`; a span that supports a sentence has its number.
    """

    text: str
    sentence: int | None = None
    flag: bool | None = None
    probability: float | None = None
    reason: str = ""
    passage: int | None = None
    supports: int | None = None


_Span = tuple[int, int, TextPiece]


def answer_pieces(outcome: Outcome, longest: int | None = None) -> list[TextPiece]:
    """The answer split at the detector's sentences; the text between them has the `flag` None."""
    answer = outcome.response.answer or ""
    spans: list[_Span] = []
    for number, sentence in enumerate(sentences_of(outcome), 1):
        piece = TextPiece(
            "",
            sentence=number,
            flag=bool(sentence.get("flag")),
            probability=_probability(sentence.get("probability")),
            reason=str(sentence.get("reason") or ""),
            passage=_passage_number(sentence),
        )
        start, end = _clip_place(sentence.get("start"), sentence.get("end"), answer)
        spans.append((start, end, piece))
    return _cut_text(answer, spans, longest)


def passage_pieces(outcome: Outcome, number: int, longest: int | None = None) -> list[TextPiece]:
    """A passage (counted from 1) split at the spans that support a sentence of the answer."""
    text = outcome.response.passages[number - 1].text
    spans: list[_Span] = []
    for place, sentence in enumerate(sentences_of(outcome), 1):
        if _passage_number(sentence) == number and not sentence.get("flag"):
            start, end = _find_span(sentence.get("span"), text)
            spans.append((start, end, TextPiece("", supports=place)))
    return _cut_text(text, spans, longest)


def sentences_of(outcome: Outcome) -> list[Mapping[str, Any]]:
    """The sentences that a detector looked at."""
    return read_details(outcome, "sentences")


def _probability(value: Any) -> float | None:
    # Details of anyone's metric: a number outside 0 to 1 is no probability.
    if isinstance(value, int | float) and 0 <= value <= 1:
        return value
    return None


def _passage_number(sentence: Mapping[str, Any]) -> int | None:
    place = sentence.get("passage")
    if isinstance(place, int) and place >= 0:
        return place + 1
    return None


def _find_span(span: Any, text: str) -> tuple[int, int]:
    """The span of two positions or of the quoted words; empty if neither is in the text."""
    if is_list(span) and len(span) == 2:
        return _clip_place(span[0], span[1], text)
    if not isinstance(span, str) or not span:
        return 0, 0
    start = text.find(span)
    if start >= 0:
        return (start, start + len(span))
    return (0, 0)


def _clip_place(start: Any, end: Any, text: str) -> tuple[int, int]:
    if not (isinstance(start, int) and isinstance(end, int)):
        return 0, 0
    return max(start, 0), min(end, len(text))


def _cut_text(text: str, spans: Iterable[_Span], longest: int | None) -> list[TextPiece]:
    """The spans in their order, with the text between them; of two that overlap the first wins."""
    shown = text if longest is None else text[:longest]
    pieces: list[TextPiece] = []
    reached = 0
    for span_start, span_end, piece in sorted(spans, key=lambda span: span[:2]):
        start = max(span_start, reached)
        end = min(span_end, len(shown))
        # Wholly inside an earlier span, or behind the cut: its letters are shown already, or never.
        if start >= end:
            continue
        if start > reached:
            pieces.append(TextPiece(shown[reached:start]))
        pieces.append(replace(piece, text=shown[start:end]))
        reached = end
    # An empty text is one empty piece, so that a page has something to show.
    if reached < len(shown) or not pieces:
        pieces.append(TextPiece(shown[reached:]))
    return pieces
