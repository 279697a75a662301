"""The type of a question: factual, procedural, comparison, diagnostic or conceptual."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from answerkey.text import fold

Patterns = tuple[re.Pattern[str], ...]
_RULES = Path(__file__).with_name("question_types.toml")
_ORDER = (
    "comparison",
    "diagnostic",
    "procedural",
    "factual",
    "conceptual",
)  # of equal scores the first wins
_STRONG, _WEAK = 3.0, 1.0
_DOUBT = 1.0  # evidence for no type: one weak word alone is not certain
_NOTHING_FOUND = 0.2


@dataclass(frozen=True, slots=True)
class QuestionType:
    """`confidence` is the share of the evidence for the type, from 0 to 1."""

    type: str
    confidence: float


@lru_cache(maxsize=10_000)
def classify(question: str) -> QuestionType:
    """The type whose patterns occur most; "factual" where none does.

    >>> classify("What is the difference between a lease and a rental?").type
    'comparison'
    """
    text = fold(question).strip(" ¿\"'")
    scores: dict[str, float] = {}
    for kind, rules in _rules().items():
        sure, perhaps = (sum(bool(one.search(text)) for one in patterns) for patterns in rules)
        # Weak patterns alone count half, except of a factual question: `or` does not make a comparison.
        scores[kind] = (
            _STRONG * sure + (_WEAK if sure or kind == "factual" else _WEAK / 2) * perhaps
        )
    best = max(_ORDER, key=lambda kind: scores[kind])
    if scores[best] == 0.0:
        return QuestionType("factual", _NOTHING_FOUND)
    return QuestionType(best, round(scores[best] / (sum(scores.values()) + _DOUBT), 3))


@cache
def _rules() -> dict[str, tuple[Patterns, ...]]:
    read = tomllib.loads(_RULES.read_text(encoding="utf-8"))
    return {
        kind: tuple(tuple(map(re.compile, rules[name])) for name in ("strong", "weak"))
        for kind, rules in read.items()
    }
