"""The type of a question: factual, procedural, comparison, diagnostic or conceptual."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from answerkey.text import fold

_RULES = Path(__file__).with_name("question_types.toml")
# The first of these wins where two types have the same score.
_ORDER = ("comparison", "diagnostic", "procedural", "factual", "conceptual")
_STRONG = 3.0
_WEAK = 1.0
_DOUBT = 1.0  # evidence for no type: one weak word alone is not certain
_CONFIDENCE_BY_DEFAULT = 0.2


@dataclass(frozen=True, slots=True)
class QuestionType:
    """`confidence` is the share of the evidence for the type, from 0 to 1."""

    type: str
    confidence: float


@dataclass(frozen=True, slots=True)
class _Rules:
    strong: tuple[re.Pattern[str], ...]
    weak: tuple[re.Pattern[str], ...]


@lru_cache(maxsize=10_000)
def classify(question: str) -> QuestionType:
    """The type whose patterns occur most; "factual" where none does.

    >>> classify("What is the difference between a lease and a rental?").type
    'comparison'
    """
    text = fold(question).strip(" ¿\"'")
    scores = {kind: _score(text, kind, rules) for kind, rules in _load_rules().items()}
    best = max(_ORDER, key=lambda kind: scores[kind])
    if scores[best] == 0.0:
        return QuestionType("factual", _CONFIDENCE_BY_DEFAULT)
    return QuestionType(best, round(scores[best] / (sum(scores.values()) + _DOUBT), 3))


def _score(text: str, kind: str, rules: _Rules) -> float:
    strong = sum(bool(pattern.search(text)) for pattern in rules.strong)
    weak = sum(bool(pattern.search(text)) for pattern in rules.weak)
    if strong or kind == "factual":
        return _STRONG * strong + _WEAK * weak
    # Weak patterns alone count half: the word "or" does not make a comparison.
    return _WEAK / 2 * weak


@cache
def _load_rules() -> dict[str, _Rules]:
    tables = tomllib.loads(_RULES.read_text(encoding="utf-8"))
    return {
        kind: _Rules(
            strong=tuple(map(re.compile, rules["strong"])),
            weak=tuple(map(re.compile, rules["weak"])),
        )
        for kind, rules in tables.items()
    }
