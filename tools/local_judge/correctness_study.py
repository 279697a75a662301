"""Fit and measure `answer_agreement` on short answers marked right or wrong by people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from tools.local_judge.data import CORRECTNESS_SET, read_lines
from tools.local_judge.fit import Array, calibration, exported, fit_trees, log_odds
from tools.local_judge.measure import folds

from answerkey.metrics.agreement import compare
from answerkey.metrics.correctness import BEST_OF, features_of

UP = (
    "exact", "contains", "squashed", "inside", "recall", "recall_new", "worst_new", "last", "first", "precision_new", "partial",
    "token_set", "sorted", "early", "figures_found", "first_figure", "date", "both_decline",
    *(f"best_{name}" for name in BEST_OF),
)  # fmt: skip
DOWN = ("figures_wrong", "figures_none", "declines", "negation_differs")
EITHER = ("all_asked", "figures", "date_parts", "rivals", "answer_length", "reference_length")
NAMES = (*UP, *DOWN, *EITHER)
SIGNS = [1] * len(UP) + [-1] * len(DOWN) + [0] * len(EITHER)
TREES: dict[str, Any] = {
    "max_iter": 200,
    "learning_rate": 0.08,
    "max_leaf_nodes": 12,
    "min_samples_leaf": 40,
    "max_features": 1.0,
}


@dataclass(frozen=True, slots=True)
class Answers:
    rows: Array
    labels: Array
    groups: list[str]
    models: list[str]
    lengths: Array

    def column(self, name: str) -> Array:
        return self.rows[:, NAMES.index(name)]


def read_answers(data: Path) -> Answers:
    lines = read_lines(data, CORRECTNESS_SET)
    rows: list[list[float]] = []
    for line in lines:
        found = features_of(
            [compare(line["answer"], reference, line["question"]) for reference in line["reference"]]
        )
        rows.append([found[name] for name in NAMES])
    return Answers(
        rows=np.array(rows),
        labels=np.array([line["label"] for line in lines], dtype=float),
        groups=[line["group"] for line in lines],
        models=[line["model"] for line in lines],
        lengths=np.array([len(line["answer"]) for line in lines], dtype=float),
    )


def fit(answers: Answers, chosen: Any, seed: int) -> HistGradientBoostingClassifier:
    labels = answers.labels[chosen]
    return fit_trees(answers.rows[chosen], labels, np.ones(len(labels)), SIGNS, random_state=seed, **TREES)


def cross_validated(answers: Answers, seed: int) -> Array:
    scores = np.zeros(len(answers.labels))
    for train, test in folds(answers.groups):
        scores[test] = log_odds(fit(answers, train, seed), answers.rows[test])
    return scores


def other_models(answers: Answers, seed: int) -> dict[str, Array]:
    """For each answering model the scores from a fit that saw neither its answers nor, by fold, the questions."""
    models = np.array(answers.models)
    scores = {name: np.zeros((models == name).sum()) for name in sorted(set(answers.models))}
    for train, test in folds(answers.groups):
        for name in scores:
            seen = train[models[train] != name]
            held = test[models[test] == name]
            places = np.searchsorted(np.flatnonzero(models == name), held)
            scores[name][places] = log_odds(fit(answers, seen, seed), answers.rows[held])
    return scores


def written(answers: Answers, scores: Array, seed: int) -> dict[str, Any]:
    curve = calibration(scores, answers.labels, np.zeros(len(scores), dtype=np.int64))
    return exported(
        fit(answers, slice(None), seed), list(NAMES), curve, {"fitted on": "EVOUNA, Natural Questions"}
    )
