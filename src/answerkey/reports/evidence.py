"""What the metrics of facts and of criteria found in an answer, read from the details that they store.

Anyone's metric may store such details, so everything is read with care: what has another shape is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    facts, claims = ([_fact(item) for item in _listed(outcome, key)] for key in ("facts", "claims"))
    return sorted(facts, key=_urgency), sorted(claims, key=_urgency)


def criteria_of(outcome: Outcome) -> list[CheckedCriterion]:
    """The requirements of the case, those that are not met first."""
    return sorted(map(_criterion, _listed(outcome, "criteria")), key=lambda each: each.state == "met")


def fact_lines(outcome: Outcome) -> list[str]:
    """For the terminal: a line per fact, and per claim that contradicts the expected answer."""
    facts, claims = facts_of(outcome)
    lines = [_line(fact) for fact in facts]
    return lines + [f"the answer claims, {_line(claim)}" for claim in claims if claim.state == "contradicted"]


def criterion_lines(outcome: Outcome) -> list[str]:
    return [
        f"{each.state}: {each.ask}{f' ({each.reason})' if each.reason else ''}{quoted(each.quote)}"
        for each in criteria_of(outcome)
    ]


def quote_of(score: Score) -> str:
    """The words of the answer that a judge gave for its score; empty without any."""
    return _text(score.details.get("quote"))


def texts_of(score: Score, key: str) -> list[str]:
    """The text or texts under a key in the details of a score; of a damaged one whatever is there, as text."""
    given = score.details.get(key)
    return [str(text) for text in (given if is_list(given) else [given]) if text]


def _listed(outcome: Outcome, key: str) -> list[Any]:
    """The entries under a key in the details of the first metric that has any."""
    for score in outcome.scores.values():
        given = score.details.get(key)
        if is_list(given) and given:
            return [item for item in given[:MOST_LISTED] if is_mapping(item)]
    return []


def _fact(item: Any) -> CheckedFact:
    return CheckedFact(_text(item.get("text")), _text(item.get("state")), _text(item.get("quote")))


def _criterion(item: Any) -> CheckedCriterion:
    error, met = item.get("error"), item.get("met")
    state = "error" if error else "not applicable" if met is None else "met" if met else "not met"
    ask = _text(item.get("ask")) or _text(item.get("name"))
    return CheckedCriterion(ask, state, _text(error or item.get("reason")), _text(item.get("quote")))


def _urgency(fact: CheckedFact) -> int:
    return 0 if fact.state == "contradicted" else 2 if fact.state in GOOD else 1


def _line(fact: CheckedFact) -> str:
    return f"{fact.state}: {fact.text}{quoted(fact.quote)}"


def quoted(quote: str) -> str:
    return f' (quote: "{quote}")' if quote else ""


def _text(value: Any) -> str:
    return "" if value is None else str(value)[:2000]
