"""Facts and criteria that the metrics checked, read from the details that they store.

Anyone's metric may store such details, so everything is read with care: an entry of another shape
is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from answerkey.coerce.values import is_list, is_mapping
from answerkey.types import Outcome, Score

_MOST_LISTED = 60
_LONGEST = 2000  # characters of one stored text
_GOOD_STATES = ("found", "supported", "met")
_CRITERION_TONES = {"met": "good", "not met": "bad", "error": "failed"}


@dataclass(frozen=True, slots=True)
class CheckedFact:
    """A fact of the expected answer, or a claim of the answer.

    `quote` is the nearest evidence in the other text.
    """

    text: str
    state: str
    quote: str = ""

    @property
    def tone(self) -> str:
        if self.state in _GOOD_STATES:
            return "good"
        if self.state == "contradicted":
            return "bad"
        return "warn"

    @property
    def urgency(self) -> int:
        """Sorts contradictions first and confirmed facts last."""
        if self.state == "contradicted":
            return 0
        return 2 if self.state in _GOOD_STATES else 1

    @property
    def line(self) -> str:
        return f"{self.state}: {self.text}{add_quote(self.quote)}"


@dataclass(frozen=True, slots=True)
class CheckedCriterion:
    """One requirement of a case: `met`, `not met`, `not applicable` or `error`, with a quote."""

    ask: str
    state: str
    reason: str
    quote: str = ""

    @property
    def tone(self) -> str:
        return _CRITERION_TONES.get(self.state, "plain")

    @property
    def line(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.state}: {self.ask}{reason}{add_quote(self.quote)}"


def facts_of(outcome: Outcome) -> tuple[list[CheckedFact], list[CheckedFact]]:
    """The expected facts, and the claims of the answer; contradictions come first."""
    return _read_facts(outcome, "facts"), _read_facts(outcome, "claims")


def _read_facts(outcome: Outcome, key: str) -> list[CheckedFact]:
    facts = [
        CheckedFact(_text(item.get("text")), _text(item.get("state")), _text(item.get("quote")))
        for item in read_details(outcome, key)[:_MOST_LISTED]
    ]
    return sorted(facts, key=lambda fact: fact.urgency)


def criteria_of(outcome: Outcome) -> list[CheckedCriterion]:
    """The requirements of the case; those that are not met come first."""
    criteria: list[CheckedCriterion] = []
    for item in read_details(outcome, "criteria")[:_MOST_LISTED]:
        ask = _text(item.get("ask")) or _text(item.get("name"))
        reason = _text(item.get("error") or item.get("reason"))
        quote = _text(item.get("quote"))
        criteria.append(CheckedCriterion(ask, _criterion_state(item), reason, quote))
    return sorted(criteria, key=lambda each: each.state == "met")


def _criterion_state(item: Mapping[str, Any]) -> str:
    if item.get("error"):
        return "error"
    if item.get("met") is None:
        return "not applicable"
    return "met" if item["met"] else "not met"


def fact_lines(outcome: Outcome) -> list[str]:
    """For the terminal: a line per fact, and per claim that contradicts the expected answer."""
    facts, claims = facts_of(outcome)
    contradictions = [claim for claim in claims if claim.state == "contradicted"]
    return [
        *(fact.line for fact in facts),
        *(f"the answer claims, {claim.line}" for claim in contradictions),
    ]


def criterion_lines(outcome: Outcome) -> list[str]:
    return [criterion.line for criterion in criteria_of(outcome)]


def quote_of(score: Score) -> str:
    """The words of the answer that a judge quoted for its score; empty without any."""
    return _text(score.details.get("quote"))


def texts_of(score: Score, key: str) -> list[str]:
    """The text or texts under a key in the details of a score; a damaged entry is shown as text."""
    stored = score.details.get(key)
    texts = stored if is_list(stored) else [stored]
    return [str(text) for text in texts if text]


def read_details(outcome: Outcome, key: str) -> list[Mapping[str, Any]]:
    """The entries under a key in the details of `groundedness`, or of the first metric with any."""
    by_priority = sorted(outcome.scores.items(), key=lambda entry: entry[0] != "groundedness")
    for _, score in by_priority:
        stored = score.details.get(key)
        if is_list(stored) and stored:
            return [item for item in stored if is_mapping(item)]
    return []


def add_quote(quote: str) -> str:
    return f' (quote: "{quote}")' if quote else ""


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value)[:_LONGEST]
