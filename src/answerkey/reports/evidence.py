"""What the metrics found in an answer (sentences, facts, criteria), read from the details that they store.

Anyone's metric may store such details, so everything is read with care: what has another shape is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from answerkey.coerce.values import is_list, is_mapping
from answerkey.types import Outcome, Score

MOST_LISTED = 60
GOOD = ("found", "supported", "met")


@dataclass(frozen=True, slots=True)
class CheckedFact:
    """A fact of the expected answer, or a claim of the answer. `quote` is the nearest evidence in the other text."""

    text: str
    state: str
    quote: str = ""

    @property
    def tone(self) -> str:
        return "good" if self.state in GOOD else "bad" if self.state == "contradicted" else "warn"


@dataclass(frozen=True, slots=True)
class CheckedCriterion:
    """One requirement of a case: `met`, `not met`, `not applicable` or `error`, with the judge's quote."""

    ask: str
    state: str
    reason: str
    quote: str = ""

    @property
    def tone(self) -> str:
        return {"met": "good", "not met": "bad", "error": "failed"}.get(self.state, "plain")


def facts_of(outcome: Outcome) -> tuple[list[CheckedFact], list[CheckedFact]]:
    """The expected facts, found, missing or contradicted; and the claims of the answer. Contradictions come first."""
    facts, claims = (
        [
            CheckedFact(*(_text(item.get(name)) for name in ("text", "state", "quote")))
            for item in _listed(outcome, key)[:MOST_LISTED]
        ]
        for key in ("facts", "claims")
    )
    return sorted(facts, key=_urgency), sorted(claims, key=_urgency)


def criteria_of(outcome: Outcome) -> list[CheckedCriterion]:
    """The requirements of the case, those that are not met first."""
    found: list[CheckedCriterion] = []
    for item in _listed(outcome, "criteria")[:MOST_LISTED]:
        error, met = item.get("error"), item.get("met")
        state = (
            "error" if error else "not applicable" if met is None else "met" if met else "not met"
        )
        ask = _text(item.get("ask")) or _text(item.get("name"))
        found.append(
            CheckedCriterion(
                ask, state, _text(error or item.get("reason")), _text(item.get("quote"))
            )
        )
    return sorted(found, key=lambda each: each.state == "met")


def fact_lines(outcome: Outcome) -> list[str]:
    """For the terminal: a line per fact, and per claim that contradicts the expected answer."""
    facts, claims = facts_of(outcome)
    lines = [_line(fact) for fact in facts]
    return lines + [
        f"the answer claims, {_line(claim)}" for claim in claims if claim.state == "contradicted"
    ]


def criterion_lines(outcome: Outcome) -> list[str]:
    found = criteria_of(outcome)
    return [
        f"{c.state}: {c.ask}{f' ({c.reason})' if c.reason else ''}{quoted(c.quote)}" for c in found
    ]


def quote_of(score: Score) -> str:
    """The words of the answer that a judge gave for its score; empty without any."""
    return _text(score.details.get("quote"))


def texts_of(score: Score, key: str) -> list[str]:
    """The text or texts under a key in the details of a score; of a damaged one whatever is there, as text."""
    given = score.details.get(key)
    return [str(text) for text in (given if is_list(given) else [given]) if text]


def _listed(outcome: Outcome, key: str) -> list[Mapping[str, Any]]:
    """The entries under a key in the details of `groundedness`, or else of the first metric that has any."""
    for _, score in sorted(outcome.scores.items(), key=lambda entry: entry[0] != "groundedness"):
        given = score.details.get(key)
        if is_list(given) and given:
            return [item for item in given if is_mapping(item)]
    return []


def _urgency(fact: CheckedFact) -> int:
    return 0 if fact.state == "contradicted" else 2 if fact.state in GOOD else 1


def _line(fact: CheckedFact) -> str:
    return f"{fact.state}: {fact.text}{quoted(fact.quote)}"


def quoted(quote: str) -> str:
    return f' (quote: "{quote}")' if quote else ""


def _text(value: Any) -> str:
    return "" if value is None else str(value)[:2000]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Part of an answer or passage: a sentence that was checked has a `flag`, a span that supports one its number."""

    text: str
    sentence: int | None = None
    flag: bool | None = None
    probability: float | None = None
    reason: str = ""
    passage: int | None = None
    supports: int | None = None


Span = tuple[int, int, TextPiece]


def answer_pieces(outcome: Outcome, longest: int | None = None) -> list[TextPiece]:
    """The answer split at the detector's sentences; the text between them has the `flag` None."""
    answer = outcome.response.answer or ""
    found: list[Span] = []
    for number, sentence in enumerate(sentences_of(outcome), 1):
        flag, reason = bool(sentence.get("flag")), str(sentence.get("reason") or "")
        given, passage = sentence.get("probability"), _passage_number(sentence)
        share = given if isinstance(given, int | float) and 0 <= given <= 1 else None
        about = TextPiece("", number, flag, share, reason, passage)
        found.append((*_place(sentence.get("start"), sentence.get("end"), answer), about))
    return _cut(answer, found, longest)


def passage_pieces(outcome: Outcome, number: int, longest: int | None = None) -> list[TextPiece]:
    """A passage (counted from 1) split where it supports a sentence of the answer."""
    text = outcome.response.passages[number - 1].text
    found: list[Span] = []
    for place, sentence in enumerate(sentences_of(outcome), 1):
        if _passage_number(sentence) == number and not sentence.get("flag"):
            found.append((*_span(sentence.get("span"), text), TextPiece("", supports=place)))
    return _cut(text, found, longest)


def sentences_of(outcome: Outcome) -> list[Mapping[str, Any]]:
    """The sentences that a detector looked at."""
    return _listed(outcome, "sentences")


def _passage_number(sentence: Mapping[str, Any]) -> int | None:
    place = sentence.get("passage")
    return place + 1 if isinstance(place, int) and place >= 0 else None


def _span(span: Any, text: str) -> tuple[int, int]:
    """From two positions, or from the quoted words."""
    if isinstance(span, str):
        start = text.find(span) if span else -1
        return (start, start + len(span)) if start >= 0 else (0, 0)
    if is_list(span) and len(span) == 2:
        return _place(span[0], span[1], text)
    return 0, 0


def _place(start: Any, end: Any, text: str) -> tuple[int, int]:
    if not (isinstance(start, int) and isinstance(end, int)):
        return 0, 0
    return max(start, 0), min(end, len(text))


def _cut(text: str, found: Iterable[Span], longest: int | None) -> list[TextPiece]:
    shown = text if longest is None else text[:longest]
    pieces: list[TextPiece] = []
    reached = 0
    for start, end, about in sorted(found, key=lambda span: span[:2]):
        start, end = max(start, reached), min(end, len(shown))
        if start >= end:
            continue
        if start > reached:
            pieces.append(TextPiece(shown[reached:start]))
        pieces.append(replace(about, text=shown[start:end]))
        reached = end
    return [*pieces, TextPiece(shown[reached:])] if reached < len(shown) or not pieces else pieces
