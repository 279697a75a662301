"""A bot that answers with the row of a FAQ whose question shares most words with the one asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from answerkey.coerce.tables import read_rows
from answerkey.coerce.values import as_text, as_texts
from answerkey.config.declare import existing, read_table
from answerkey.config.target_tables import FaqTable
from answerkey.errors import InputError
from answerkey.types import Passage, Question, Response

_LIGHT_PUNCTUATION = " \t.,;:!?¡¿…\"'`´“”‘’«»()[]{}*_-–—。，？！（）"
_SHORT = {"q": "question", "a": "answer"}
NO_MATCH = "No match: no question of the FAQ shares a word with this one."


def tokens(text: str) -> frozenset[str]:
    """The set of lower-cased words, light punctuation stripped from their ends: `PSoC?` is `psoc`."""
    stripped = (word.strip(_LIGHT_PUNCTUATION) for word in text.lower().split())
    return frozenset(word for word in stripped if word)


def token_cosine(a: str, b: str) -> float:
    """|A ∩ B| / sqrt(|A|·|B|) over token sets: the cosine of their binary vectors; 0 when one is empty."""
    return _cosine(tokens(a), tokens(b))


def _cosine(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / math.sqrt(len(a) * len(b)) if a and b else 0.0


@dataclass(frozen=True, slots=True)
class FaqRow:
    number: int
    question: str
    answer: str
    tokens: frozenset[str]


@dataclass(frozen=True, slots=True)
class FaqBot:
    """Under `minimum`, or with no word in common, the answer is a stated "no match"."""

    rows: tuple[FaqRow, ...]
    minimum: float = 0.0

    def ask(self, question: Question) -> Response:
        asked = tokens(question.text)
        # `max` keeps the first of equals, so ties go to the first row.
        best = max(self.rows, key=lambda row: _cosine(asked, row.tokens))
        cosine = _cosine(asked, best.tokens)
        if cosine == 0.0 or cosine < self.minimum:
            return Response(answer=NO_MATCH, extra={"match": None, "cosine": cosine})
        passage = Passage(text=f"{best.question}\n{best.answer}", id=f"faq-{best.number}", score=cosine)
        return Response(
            answer=best.answer,
            passages=(passage,),
            sources=(best.question,),
            extra={"match": best.question, "cosine": cosine},
        )

    def close(self) -> None:
        """Nothing is held open."""


def make(settings: Mapping[str, object], folder: Path) -> FaqBot:
    """`faq` is a CSV, JSON or JSONL file with the columns question and answer; `minimum` a cosine, 0 to 1."""
    read = read_table(FaqTable, settings, "[target]", folder, others=["kind"])
    return FaqBot(read_faq(existing(read.faq, "faq")), read.minimum)


def read_faq(path: Path) -> tuple[FaqRow, ...]:
    """The rows of the file in order; the answer is the column `answer`, or else `expected`, under any usual name."""
    rows: list[FaqRow] = []
    for number, (row, place) in enumerate(read_rows(path, path.name), 1):
        row = {_SHORT.get(name, name): value for name, value in row.items()}
        question = as_text(row.get("question"), "question", place)
        answer = as_texts(row.get("answer") or row.get("expected"), "answer", place)
        if not question or not answer or not answer[0]:
            missing = "question" if not question else "answer"
            raise place.error(missing, row.get(missing), "text", "each row needs a question and an answer")
        rows.append(FaqRow(number, question, answer[0], tokens(question)))
    if not rows:
        raise InputError(f"{path.name}: no rows; expected columns question and answer")
    return tuple(rows)
