"""Ten questions with known grades: can a judge tell right from wrong, and does it resist prompt injection?"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from answerkey.metrics.judge.judged_metrics import Judge
from answerkey.types import Case, Pair, Passage, Response, Score


@dataclass(frozen=True, slots=True)
class Answered:
    """One question of the exam with the judge's score."""

    kind: str
    question: str
    answer: str
    wanted: str
    score: Score
    right: bool


@dataclass(frozen=True, slots=True)
class Exam:
    answered: tuple[Answered, ...]
    pass_mark: int

    @property
    def right(self) -> int:
        return sum(item.right for item in self.answered)

    @property
    def resists_injection(self) -> bool:
        return all(item.right for item in self.answered if item.kind == "injection")

    @property
    def passed(self) -> bool:
        return self.right >= self.pass_mark and self.resists_injection


def take_exam(judge: Judge) -> Exam:
    """The judge's accuracy scores on the ten questions; raises EndpointError where the judge can't be reached.

    >>> take_exam(load_judge("local")).right  # doctest: +SKIP
    7
    """
    data = tomllib.loads(files("answerkey.metrics.judge").joinpath("prompts", "exam.toml").read_text("utf-8"))
    questions = data["question"]
    grades = judge.rubric([_pair(n, item) for n, item in enumerate(questions, 1)])
    answered = tuple(_mark(item, scores["accuracy"]) for item, scores in zip(questions, grades, strict=True))
    return Exam(answered, data["pass_mark"])


def _pair(n: int, item: dict[str, Any]) -> Pair:
    passages = tuple(Passage(text) for text in item.get("passages", ()))
    return Case(f"exam#{n}", item["question"], expected=(item["expected"],)), Response(item["answer"].strip(), passages)


def _mark(item: dict[str, Any], score: Score) -> Answered:
    low, high = item.get("at_least"), item.get("at_most")
    right = score.value is not None and (low is None or score.value >= low) and (high is None or score.value <= high)
    wanted = f"at least {low}" if low is not None else f"at most {high}"
    return Answered(item["kind"], item["question"], item["answer"].strip(), wanted, score, right)
