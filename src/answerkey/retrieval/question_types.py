"""What kind of question is it: factual, procedural, diagnostic, conceptual or comparison? By rules in a data file."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from answerkey.text import fold

Patterns = tuple[re.Pattern[str], ...]
_RULES = Path(__file__).with_suffix(".toml")
_ORDER = ("comparison", "diagnostic", "procedural", "factual", "conceptual")  # of equal scores the first wins
_STRONG, _WEAK = 3.0, 1.0
_DOUBT = 1.0  # what speaks for none of the types: one weak word alone is no certainty
_NOTHING_FOUND = 0.2


@dataclass(frozen=True, slots=True)
class QuestionType:
    """`confidence` is the share of the evidence that speaks for the type, from 0 to 1."""

    type: str
    confidence: float


@lru_cache(maxsize=10_000)
def classify(question: str) -> QuestionType:
    """The type whose patterns occur most; "factual" where none does.

    >>> classify("What is the difference between a lease and a rental?").type
    'comparison'
    """
    text = fold(question).strip(" ¿\"'")
    scores = {kind: _score(text, *rules, alone=kind == "factual") for kind, rules in _rules().items()}
    best = max(_ORDER, key=lambda kind: scores[kind])
    if scores[best] == 0.0:
        return QuestionType("factual", _NOTHING_FOUND)
    return QuestionType(best, round(scores[best] / (sum(scores.values()) + _DOUBT), 3))


def _score(text: str, strong: Patterns, weak: Patterns, alone: bool) -> float:
    """Weak patterns alone count half, except of a factual question: `or` does not make a comparison."""
    sure, perhaps = (sum(bool(one.search(text)) for one in patterns) for patterns in (strong, weak))
    return _STRONG * sure + (_WEAK if sure or alone else _WEAK / 2) * perhaps


@cache
def _rules() -> dict[str, tuple[Patterns, Patterns]]:
    read = tomllib.loads(_RULES.read_text(encoding="utf-8"))
    return {kind: (_compiled(rules["strong"]), _compiled(rules["weak"])) for kind, rules in read.items()}


def _compiled(patterns: list[str]) -> Patterns:
    return tuple(re.compile(one) for one in patterns)
