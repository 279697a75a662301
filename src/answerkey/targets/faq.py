"""A bot that answers with the row of a FAQ whose question shares most words with the one asked."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerkey.errors import InputError, SettingsError
from answerkey.targets.bot_settings import check_settings, path_of
from answerkey.types import Passage, Question, Response

_LIGHT_PUNCTUATION = " \t.,;:!?¡¿…\"'`´“”‘’«»()[]{}*_-–—。，？！（）"
_COLUMNS = {"question": ("question", "query", "q"), "answer": ("answer", "response", "a")}
SETTINGS = ("faq", "minimum")
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
class Row:
    number: int
    question: str
    answer: str
    tokens: frozenset[str]


@dataclass(frozen=True, slots=True)
class FaqBot:
    """Under `minimum`, or with no word in common, the answer is a stated "no match"."""

    rows: tuple[Row, ...]
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


def make(settings: Mapping[str, Any], folder: Path) -> FaqBot:
    """`faq` is a CSV, JSON or JSONL file with the columns question and answer; `minimum` a cosine, 0 to 1."""
    check_settings("faq", settings, SETTINGS)
    minimum = settings.get("minimum", 0.0)
    if not isinstance(minimum, int | float) or not 0 <= minimum <= 1:
        raise SettingsError(f"[target] minimum = {minimum!r}: expected a cosine from 0 to 1")
    return FaqBot(read_faq(path_of("faq", settings, "faq", folder)), float(minimum))


def read_faq(path: Path) -> tuple[Row, ...]:
    """The rows of the file in order; a row without question or answer is an error that names it."""
    records = _records(path)
    rows: list[Row] = []
    for number, record in enumerate(records, 1):
        question, answer = (_field(record, names) for names in _COLUMNS.values())
        if not question or not answer:
            missing = "question" if not question else "answer"
            raise InputError(
                f"{path.name}, row {number}: no {missing}; each row needs a question and an answer"
            )
        rows.append(Row(number, question, answer, tokens(question)))
    if not rows:
        raise InputError(f"{path.name}: no rows; expected columns question and answer")
    return tuple(rows)


def _records(path: Path) -> list[dict[str, Any]]:
    text = path.read_bytes().decode("utf-8-sig", errors="replace")
    try:
        match path.suffix.lower():
            case ".csv":
                return list(csv.DictReader(io.StringIO(text, newline="")))
            case ".jsonl":
                records = [json.loads(line) for line in text.splitlines() if line.strip()]
            case ".json":
                records = json.loads(text)
            case other:
                raise InputError(f'{path.name}: a FAQ is .csv, .json or .jsonl, not "{other}"')
    except ValueError as error:
        raise InputError(f"{path.name}: not readable as {path.suffix}: {error}") from error
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise InputError(f"{path.name}: expected a list of objects with question and answer")
    return records


def _field(record: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for key, value in record.items():
        if key and key.strip().lower() in names:
            return str(value or "").strip()
    return ""
