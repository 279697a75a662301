"""Measure `answer_agreement` on answers written for the purpose: long ones about companies, and quiz answers with aliases.

Nothing is fitted on them. The author of a row gave its label. `trivia` has hard rows oftener than life: a wrong answer
that names the right one in passing, a right one by another name; `quiz` has them as they come. `rule` says how a plain
search for an expected answer does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tools.local_judge.measure import Array, accuracy, auroc, interval
from tools.local_judge.report import Line

from answerkey.metrics.agreement.answer_agreement import answer_agreement
from answerkey.types import Case, Pair, Response

SETS = (
    "annual_reports",
    "annual_reports_2",
    "annual_reports_3",
    "annual_reports_4",
    "finance",
    "trivia",
    "quiz",
)
WRITTEN = Path(__file__).with_name("written")


def written_rows(name: str) -> list[dict[str, Any]]:
    with (WRITTEN / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def pairs_of(rows: Sequence[dict[str, Any]]) -> list[Pair]:
    return [
        (Case("", row["question"], expected=tuple(row["reference"])), Response(row["answer"]))
        for row in rows
    ]


def agreement(rows: Sequence[dict[str, Any]]) -> tuple[Array, Array]:
    """The values, and whether an expected answer is found word for word."""
    scores = answer_agreement(pairs_of(rows))
    found = [
        max(score.details["features"][name] for name in ("best_contains", "squashed"))
        for score in scores
    ]
    return np.array([score.value for score in scores]), np.array(found)


def written_lines(seed: int) -> list[Line]:
    lines: list[Line] = []
    for name in SETS:
        rows = written_rows(name)
        labels = np.array([row["label"] for row in rows], dtype=float)
        groups = [row["question"] for row in rows]
        values, rule = agreement(rows)
        figures = {
            "accuracy": (
                accuracy(labels, values),
                *interval(labels, values, groups, accuracy, seed),
            ),
            "AUROC": (auroc(labels, values), *interval(labels, values, groups, auroc, seed)),
            "rule: contains": (accuracy(labels, rule),),
            "always right": (float(labels.mean()),),
        }
        lines.append(Line(name, len(rows), figures))
    return lines
