"""Pairs that were written for this model: passages with statements, and right and wrong answers to questions.

`written/passages/*.jsonl`: {"premise", "s", "c", "n"} with supported, contradicted and neutral statements.
`written/answers/*.jsonl`: {"question", "expected", "right", "wrong"}; an answer is right if it supports the expected answer,
both after the question. The expected answer itself is one more right answer: else sharing its words would be a sign of
a wrong one.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.train_entailment.sources import Row, is_held_out

FOLDER = Path(__file__).parent / "written"
BEFORE = (
    "", "", "", "Hi! ", "Hello, thanks for asking. ", "Sure! ", "Great question! ", "Of course. ", "In short, ",
    "According to the policy, ", "According to the documents, ", "As far as I can see, ", "Good news: ",
    "The documents say that ", "**Answer:** ", "- ",
)  # fmt: skip
AFTER = (
    "", "", "", " [1]", " [2]", " (see section 3)", " I hope that helps!", " Let me know if you need anything else.",
    " You can find this in the handbook.", " Please get in touch if anything is unclear.", "\n\nSource: [1]",
)  # fmt: skip
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
    return is_held_out(
        Row(premise="", hypothesis="", label="", source="", group=question), "written_answers"
    )


def _statements(line: dict[str, Any]) -> Iterator[Row]:
    for kind, label in STATEMENTS.items():
        for text in line[kind]:
            yield Row(
                premise=line["premise"],
                hypothesis=text,
                label=label,
                source="",
                group=line["premise"],
            )


def _answers(line: dict[str, Any]) -> Iterator[Row]:
    """Every answer, some of them dressed up, and the expected answer twice more in other dress."""
    question, expected = line["question"], line["expected"]
    rng = random.Random(question)
    for right, answer in [*answers_of(line), (True, None), (True, None)]:
        text = (
            dressed(expected, rng)
            if answer is None
            else answer
            if rng.random() < 0.7
            else dressed(answer, rng)
        )
        label = "entail" if right else "not_entail"
        premise, hypothesis = f"{question} {text}", f"{question} {expected}"
        yield Row(premise=premise, hypothesis=hypothesis, label=label, source="", group=question)


def dressed(answer: str, rng: random.Random) -> str:
    """The answer with something around it that says nothing: authors gave such things to right answers more often."""
    before, after = rng.choice(BEFORE), rng.choice(AFTER)
    if before.endswith((", ", "that ")) and answer[1:2].islower():
        answer = answer[0].lower() + answer[1:]
    if rng.random() < 0.2:
        answer = re.sub(r"\d[\d.,]*\b", r"**\g<0>**", answer, count=1)
    return f"{before}{answer}{after}"
