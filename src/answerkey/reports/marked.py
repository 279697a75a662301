"""An answer and its passages in pieces: what is unsupported is marked, and so is what supports the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from answerkey.types import Json, Outcome

Span = tuple[int, int, Json]


def answer_pieces(outcome: Outcome, longest: int | None = None) -> list[Json]:
    """The answer cut where the detector's sentences begin and end. Pieces in between have no `flag`."""
    answer = outcome.response.answer or ""
    found: list[Span] = []
    for number, sentence in enumerate(sentences_of(outcome), 1):
        about = {
            "sentence": number,
            "flag": bool(sentence.get("flag")),
            "probability": sentence.get("probability"),
            "reason": sentence.get("reason") or "",
            "passage": _passage_number(sentence),
        }
        found.append((*_place(sentence.get("start"), sentence.get("end"), answer), about))
    return _cut(answer, found, longest)


def passage_pieces(outcome: Outcome, number: int, longest: int | None = None) -> list[Json]:
    """A passage (counted from 1) cut where it supports a sentence of the answer."""
    text = outcome.response.passages[number - 1].text
    found: list[Span] = []
    for place, sentence in enumerate(sentences_of(outcome), 1):
        if _passage_number(sentence) == number and not sentence.get("flag"):
            found.append((*_span(sentence.get("span"), text), {"supports": place}))
    return _cut(text, found, longest)


def sentences_of(outcome: Outcome) -> list[Mapping[str, Any]]:
    """What the first metric that looked at single sentences says of each; `groundedness` where it was measured."""
    looked = sorted(outcome.scores.items(), key=lambda entry: entry[0] != "groundedness")
    for _, score in looked:
        given = score.details.get("sentences")
        if isinstance(given, list | tuple) and given:
            return [sentence for sentence in given if isinstance(sentence, Mapping)]
    return []


def _passage_number(sentence: Mapping[str, Any]) -> int | None:
    place = sentence.get("passage")
    return place + 1 if isinstance(place, int) and place >= 0 else None


def _span(span: Any, text: str) -> tuple[int, int]:
    """Two places, or the words themselves."""
    if isinstance(span, str):
        start = text.find(span) if span else -1
        return (start, start + len(span)) if start >= 0 else (0, 0)
    if isinstance(span, list | tuple) and len(span) == 2:
        return _place(span[0], span[1], text)
    return 0, 0


def _place(start: Any, end: Any, text: str) -> tuple[int, int]:
    if not (isinstance(start, int) and isinstance(end, int)):
        return 0, 0
    return max(start, 0), min(end, len(text))


def _cut(text: str, found: Iterable[Span], longest: int | None) -> list[Json]:
    shown = text if longest is None else text[:longest]
    pieces: list[Json] = []
    reached = 0
    for start, end, about in sorted(found, key=lambda span: span[:2]):
        start, end = max(start, reached), min(end, len(shown))
        if start >= end:
            continue
        if start > reached:
            pieces.append({"text": shown[reached:start]})
        pieces.append({"text": shown[start:end], **about})
        reached = end
    return [*pieces, {"text": shown[reached:]}] if reached < len(shown) or not pieces else pieces
