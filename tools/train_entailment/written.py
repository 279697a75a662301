"""Pairs that were written for this model: passages with statements, and right and wrong answers to questions.

`written/passages/*.jsonl`: {"premise", "s", "c", "n"} with supported, contradicted and neutral statements.
`written/answers/*.jsonl`: {"question", "expected", "right", "wrong"}; an answer is right if it supports the expected answer,
both after the question. The expected answer itself is one more right answer: else sharing its words would be a sign of
a wrong one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.train_entailment.sources import Row, is_held_out

FOLDER = Path(__file__).parent / "written"
STATEMENTS = {"s": "entail", "c": "contradict", "n": "neutral"}


def written_rows(source: str) -> list[Row]:
    """The rows of `written_passages` or `written_answers`; statements on one passage are one group."""
    made = _statements if source == "written_passages" else _answers
    return [row for line in written_lines(source.removeprefix("written_")) for row in made(line)]


def written_lines(kind: str) -> list[dict[str, Any]]:
    """The lines of `passages` or `answers`."""
    files = sorted((FOLDER / kind).glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def answers_of(line: dict[str, Any]) -> list[tuple[bool, str]]:
    """Whether it is right, and the answer. The expected answer is a right one."""
    right, wrong = [line["expected"], *line["right"]], line["wrong"]
    return [*((True, answer) for answer in right), *((False, answer) for answer in wrong)]


def is_question_held_out(question: str) -> bool:
    """Whether the entailment model was not trained on the answers to a question."""
    return is_held_out(Row(premise="", hypothesis="", label="", source="", group=question), "written_answers")


def _statements(line: dict[str, Any]) -> Iterator[Row]:
    for kind, label in STATEMENTS.items():
        for text in line[kind]:
            yield Row(premise=line["premise"], hypothesis=text, label=label, source="", group=line["premise"])


def _answers(line: dict[str, Any]) -> Iterator[Row]:
    question = line["question"]
    for right, answer in answers_of(line):
        label = "entail" if right else "not_entail"
        premise, hypothesis = f"{question} {answer}", f"{question} {line['expected']}"
        yield Row(premise=premise, hypothesis=hypothesis, label=label, source="", group=question)
