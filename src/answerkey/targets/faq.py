"""The FAQ bot: the answer of the nearest known question, by the words that they share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from answerkey.coerce.tables import read_table_rows
from answerkey.coerce.values import as_text, as_texts
from answerkey.config.declare import read_table, require_path
from answerkey.config.target_tables import FaqTable
from answerkey.errors import InputError
from answerkey.text import faq_tokens
from answerkey.types import Passage, Question, Response

NO_MATCH = "No match found: no question of the FAQ shares a word with this one."


def token_cosine(a: frozenset[str], b: frozenset[str]) -> float:
    """|A ∩ B| / sqrt(|A|·|B|) over token sets: the cosine of their binary vectors."""
    if not a or not b:
        return 0.0
    return len(a & b) / math.sqrt(len(a) * len(b))


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
        tokens = faq_tokens(question.text)
        # `max` keeps the first of equals, so ties go to the first row.
        best = max(self.rows, key=lambda row: token_cosine(tokens, row.tokens))
        cosine = token_cosine(tokens, best.tokens)
        if cosine == 0.0 or cosine < self.minimum:
            return Response(answer=NO_MATCH, extra={"match": None, "cosine": cosine})
        text = f"{best.question}\n{best.answer}"
        return Response(
            answer=best.answer,
            passages=(Passage(text=text, id=f"faq-{best.number}", score=cosine),),
            sources=(best.question,),
            extra={"match": best.question, "cosine": cosine},
        )


def make_faq(settings: Mapping[str, object], folder: Path) -> FaqBot:
    """`faq` is a file with the columns question and answer; `minimum` a cosine."""
    table = read_table(FaqTable, settings, "[target]", folder, others=["kind"])
    return FaqBot(read_faq(require_path(table.faq, "faq")), table.minimum)


def read_faq(path: Path) -> tuple[FaqRow, ...]:
    """The rows of the file in order; the answer is the column `answer`, `expected` or `a`."""
    rows: list[FaqRow] = []
    for number, (row, place) in enumerate(read_table_rows(path, path.name), 1):
        question = as_text(row.get("question"), "question", place)
        answer_cell = row.get("answer") or row.get("expected") or row.get("a")
        answers = as_texts(answer_cell, "answer", place)
        if not question or not answers or not answers[0]:
            missing = "answer" if question else "question"
            fix = "each row needs a question and an answer"
            raise place.error(missing, row.get(missing), "text", fix)
        rows.append(FaqRow(number, question, answers[0], faq_tokens(question)))
    if not rows:
        raise InputError(f"{path.name}: no rows; expected columns question and answer")
    return tuple(rows)
