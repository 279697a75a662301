"""Fit and measure `answer_agreement`: by words on short answers marked by people (EVOUNA) and on answers written for it.

The first model goes by words. It is fitted on EVOUNA and on four fifths of the written answers. The second model adds the
entailment model. It is fitted on the other fifth, which the entailment model has not seen, on the small cases that the rules were
made with, and on EVOUNA with the first model's cross-validated scores.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from tools.local_judge.data import CORRECTNESS_SET, read_lines
from tools.local_judge.fit import Array, calibration, exported, fit_trees, log_odds
from tools.local_judge.measure import folds
from tools.local_judge.near_copies import near_copies
from tools.train_entailment.sources import fraction
from tools.train_entailment.written import answers_of, is_question_held_out, written_lines

from answerkey.metrics.agreement.answer_agreement import BESIDE, BEST_OF, second_rows, word_features
from answerkey.metrics.agreement.comparable import read
from answerkey.metrics.agreement.model_verdict import VERDICT_FEATURES
from answerkey.types import Case, Pair, Response

UP = (
    "exact", "contains", "squashed", "inside", "recall_new", "telling", "precision_new", "opening", "opening_names",
    "partial", "token_set", "sorted", "alike", "early", "literal", "initials", "first_sentence", "figures_found", "date",
    "date_shared", "by_rules", "same_side", *(f"best_{name}" for name in BEST_OF),
)  # fmt: skip
DOWN = (
    "denied", "replaced_name", "replaced_word", "replaced_number", "missing_weight", "opening_rivals", "opposed_side",
    "other_sign", "other_bound", "reversed", "exchanged", "other_quantity", "other_names",
)  # fmt: skip
EITHER = (
    "recall", "together", "head", "figures", "date_parts", "rivals", "sentence_found", "asks_who", "asks_when", "asks_where",
    "asks_count", "answer_length", "reference_length", "declines",
)  # fmt: skip
NAMES = (*UP, *DOWN, *EITHER)
SIGNS = [1] * len(UP) + [-1] * len(DOWN) + [0] * len(EITHER)
TREES: dict[str, Any] = {
    "max_iter": 300,
    "learning_rate": 0.05,
    "max_leaf_nodes": 16,
    "min_samples_leaf": 20,
    "max_features": 0.3,
}
SECOND = ("words", *VERDICT_FEATURES, *BESIDE)
SECOND_SIGNS = [1, 1, 1, 1, -1] + [0] * len(BESIDE)
SECOND_TREES: dict[str, Any] = {
    "max_iter": 120,
    "learning_rate": 0.05,
    "max_leaf_nodes": 6,
    "min_samples_leaf": 25,
    "max_features": 0.5,
}
TESTS = Path(__file__).resolve().parents[2] / "tests" / "profiles"
CASES = ("rag_cases", "rag_unseen_cases", "rag_third_cases", "rag_later_cases")
COMMON = 6  # a word that this many questions' answers share is common enough to be listed
WRITTEN_WEIGHT = 0.5
SHORT_WEIGHT = 1.2  # of a row of EVOUNA in the second model


@dataclass(frozen=True, slots=True)
class Answers:
    """`real` rows are marked by people. `held` ones are written answers that the entailment model has not seen."""

    found: list[dict[str, float]]
    pairs: list[Pair]
    rows: Array
    labels: Array
    groups: list[str]
    models: list[str]
    lengths: Array
    weights: Array
    held: NDArray[np.bool_]
    rarity: dict[str, float]

    @property
    def real(self) -> Any:
        return self.weights == 1.0

    def column(self, name: str) -> Array:
        return self.rows[:, NAMES.index(name)]


@dataclass(frozen=True, slots=True)
class Made:
    """An answer with what it is compared with."""

    line: dict[str, Any]
    answer: str
    expected: Sequence[str]
    label: int
    weight: float = 1.0
    held: bool = False


def rarity(data: Path) -> dict[str, float]:
    """For each common stem of the answers: log(questions / questions with it) over the most that can be."""
    lines = read_lines(data, CORRECTNESS_SET)
    seen: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        for word in read(line["answer"]).tokens:
            seen[word].add(line["group"])
    most = math.log(len({line["group"] for line in lines}))
    return {
        word: round(1 - math.log(len(groups)) / most, 2)
        for word, groups in sorted(seen.items())
        if len(groups) >= COMMON
    }


def read_answers(data: Path, share: float = 1.0) -> Answers:
    """The answers to that share of the questions. `rarity` must be in place: features ask for it."""
    lines = read_lines(data, CORRECTNESS_SET)
    made = [Made(line, line["answer"], line["reference"], line["label"]) for line in lines]
    made += [*_written(), *_cases()]
    made = [each for each in made if fraction(f"share {each.line['group']}") < share]
    pairs = [
        (Case("", each.line["question"], expected=tuple(each.expected)), Response(each.answer))
        for each in made
    ]
    features = [word_features(*pair) for pair in pairs]
    kept = [n for n, found in enumerate(features) if found]
    made, found = [made[n] for n in kept], [features[n] or {} for n in kept]
    return Answers(
        found=found,
        pairs=[pairs[n] for n in kept],
        rows=np.array([[each[name] for name in NAMES] for each in found]),
        labels=np.array([each.label for each in made], dtype=float),
        groups=[each.line["group"] for each in made],
        models=[each.line["model"] for each in made],
        lengths=np.array([len(each.answer) for each in made], dtype=float),
        weights=np.array([each.weight for each in made]),
        held=np.array([each.held for each in made]),
        rarity=rarity(data),
    )


def _written() -> Iterator[Made]:
    for line in written_lines("answers"):
        question, expected = line["question"], (line["expected"],)
        about = {"question": question, "group": question, "model": "written"}
        held = is_question_held_out(question)
        for right, answer in answers_of(line):
            yield Made(about, answer, expected, int(right), WRITTEN_WEIGHT, held)
        for answer in near_copies(line["expected"]):
            yield Made(about, answer, expected, 1, WRITTEN_WEIGHT, held)


def _cases() -> Iterator[Made]:
    """The small cases that the rules were made with; only the second model is fitted on them."""
    for name in CASES:
        for row in map(
            json.loads, (TESTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        ):
            if row.get("expected"):
                about = {"question": row["question"], "group": row["question"], "model": "cases"}
                yield Made(
                    about,
                    row["answer"],
                    (row["expected"],),
                    int(row["verdict"] == "pass"),
                    1.5,
                    held=True,
                )


def fit(answers: Answers, chosen: Any, seed: int) -> HistGradientBoostingClassifier:
    return fit_trees(
        answers.rows[chosen],
        answers.labels[chosen],
        answers.weights[chosen],
        SIGNS,
        random_state=seed,
        **TREES,
    )


def cross_validated(answers: Answers, seed: int) -> Array:
    """Log-odds by words; those of the held rows from a fit on all others."""
    scores = np.zeros(len(answers.labels))
    for train, test in folds(answers.groups):
        scores[test] = log_odds(fit(answers, train[~answers.held[train]], seed), answers.rows[test])
    if answers.held.any():
        scores[answers.held] = log_odds(
            fit(answers, ~answers.held, seed), answers.rows[answers.held]
        )
    return scores


@dataclass(frozen=True, slots=True)
class Second:
    """The rows of the second model: `places` are those of the answers it is fitted on; `scores` are cross-validated."""

    places: NDArray[np.int64]
    rows: Array
    scores: Array


def second(answers: Answers, by_words: Array, seed: int) -> Second:
    chosen = np.flatnonzero(answers.held | answers.real)
    made = second_rows(
        [answers.found[n] for n in chosen],
        by_words[chosen].tolist(),
        [answers.pairs[n] for n in chosen],
    )
    known = [n for n, row in enumerate(made) if row]
    places, rows = (
        chosen[known],
        np.array([[(made[n] or {})[name] for name in SECOND] for n in known]),
    )
    scores = np.zeros(len(places))
    for train, test in folds([answers.groups[n] for n in places]):
        scores[test] = log_odds(_fit_second(answers, places[train], rows[train], seed), rows[test])
    return Second(places, rows, scores)


def _fit_second(
    answers: Answers, places: NDArray[np.int64], rows: Array, seed: int
) -> HistGradientBoostingClassifier:
    weights = np.where(answers.held[places], 1.0, SHORT_WEIGHT)
    return fit_trees(
        rows, answers.labels[places], weights, SECOND_SIGNS, random_state=seed, **SECOND_TREES
    )


def written(answers: Answers, scores: Array, with_model: Second, seed: int) -> dict[str, Any]:
    real = answers.real
    curve = calibration(
        scores[real], answers.labels[real], np.zeros(int(real.sum()), dtype=np.int64)
    )
    about = {"fitted on": "EVOUNA (Natural Questions) and answers written for it"}
    last = _fit_second(answers, with_model.places, with_model.rows, seed)
    return exported(fit(answers, ~answers.held, seed), list(NAMES), curve, about) | {
        "rarity": answers.rarity,
        "with_model": exported(last, list(SECOND), (1.0, 0.0), {}),
    }
