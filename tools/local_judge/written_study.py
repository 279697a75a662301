"""Measure `answer_agreement` on answers written for the purpose: long ones about companies, and quiz answers with aliases.

Only the five numbers for long answers are fitted on them, and measured with each set left out. The author of a row gave its
label. `trivia` has hard rows oftener than life: a wrong answer that names the
right one in passing, a right one by another name; `quiz` has them as they come. `rule` says how a plain search for an expected
answer does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from tools.local_judge.measure import Array, accuracy, auroc, interval
from tools.local_judge.report import Line

from answerkey.metrics.agreement.answer_agreement import answer_agreement, long_features, long_supports, odds_by_words
from answerkey.types import Case, Pair, Response

LONG_SETS = ("annual_reports", "annual_reports_2", "finance")
WRITTEN = Path(__file__).with_name("written")


def written_rows(name: str) -> list[dict[str, Any]]:
    with (WRITTEN / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def pairs_of(rows: Sequence[dict[str, Any]]) -> list[Pair]:
    return [(Case("", row["question"], expected=tuple(row["reference"])), Response(row["answer"])) for row in rows]


def agreement(rows: Sequence[dict[str, Any]]) -> tuple[Array, Array]:
    """The values, and whether an expected answer is found word for word."""
    scores = answer_agreement(pairs_of(rows))
    found = [max(score.details["features"][name] for name in ("best_contains", "squashed")) for score in scores]
    return np.array([score.value for score in scores]), np.array(found)


def written_lines(seed: int) -> list[Line]:
    lines: list[Line] = []
    for name in (*LONG_SETS, "trivia", "quiz"):
        rows = written_rows(name)
        labels = np.array([row["label"] for row in rows], dtype=float)
        groups = [row["question"] for row in rows]
        values, rule = agreement(rows)
        figures = {
            "accuracy": (accuracy(labels, values), *interval(labels, values, groups, accuracy, seed)),
            "AUROC": (auroc(labels, values), *interval(labels, values, groups, auroc, seed)),
            "rule: contains": (accuracy(labels, rule),),
            "always right": (float(labels.mean()),),
        }
        lines.append(Line(name, len(rows), figures))
    return lines


def long_weights(seed: int) -> tuple[list[float], list[Line]]:
    """The weights of `long_features` with their constant, fitted on all the sets, and AUROC with each set left out."""
    sets = {name: _long_rows(name) for name in LONG_SETS}
    lines: list[Line] = []
    for name, (values, labels, groups) in sets.items():
        others = [rows for other, rows in sets.items() if other != name]
        model = _logistic(others)
        given = model.predict_proba(values)[:, 1]
        figures = {
            "set left out": (auroc(labels, given), *interval(labels, given, groups, auroc, seed)),
            "without facts": (auroc(labels, values[:, 0]),),
            "facts alone": (auroc(labels, values[:, 1]),),
            "always right": (float(labels.mean()),),
        }
        lines.append(Line(name, len(labels), figures))
    fitted = _logistic(list(sets.values()))
    return [round(float(weight), 3) for weight in (*fitted.coef_[0], fitted.intercept_[0])], lines


def _long_rows(name: str) -> tuple[Array, Array, list[str]]:
    rows = written_rows(name)
    pairs = pairs_of(rows)
    found = [
        (long_features(given[1], support), row["label"], row["question"])
        for row, given, support in zip(rows, odds_by_words(pairs), long_supports(pairs), strict=True)
        if given and support
    ]
    values, labels, groups = zip(*found, strict=True)
    return np.array(values), np.array(labels, dtype=float), list(groups)


def _logistic(sets: Sequence[tuple[Array, Array, list[str]]]) -> LogisticRegression:
    values, labels = (np.concatenate([rows[n] for rows in sets]) for n in (0, 1))
    return LogisticRegression().fit(values, labels)
