"""Fit and measure `answer_agreement` on short answers marked right or wrong by people.

Those data expect a few words. So that long expected answers hold as well, rows are made from them and added with a small
weight: one right answer is taken as the expected one for the others. Figures of companies come from patterns
(made_figures.py).
"""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from tools.local_judge.data import CORRECTNESS_SET, read_lines
from tools.local_judge.fit import Array, calibration, exported, fit_trees, log_odds
from tools.local_judge.made_figures import made_figures
from tools.local_judge.measure import folds

from answerkey.metrics.agreement.answer_agreement import BEST_OF, compared_with, features_of
from answerkey.metrics.agreement.comparable import read
from answerkey.metrics.agreement.rules import log_odds as by_hand

UP = (
    "exact", "contains", "squashed", "inside", "recall_new", "telling", "worst_new", "last", "first", "precision_new", "opening",
    "opening_names", "partial", "token_set", "sorted", "alike", "early", "literal", "initials", "first_sentence", "figures_found",
    "first_figure", "date", "date_shared", "period", "both_decline",
    *(f"best_{name}" for name in BEST_OF),
)  # fmt: skip
DOWN = (
    "figures_wrong", "figures_none", "figure_gap", "years_apart", "date_extra", "declines", "negation_differs", "opposed",
    "denied", "replaced_name", "replaced_word", "replaced_number", "missing_weight", "opening_rivals",
)  # fmt: skip
EITHER = (
    "recall", "together", "head", "all_asked", "figures", "date_parts", "rivals", "sentence_found", "asks_who", "asks_when",
    "asks_where", "asks_count", "answer_length", "reference_length",
)  # fmt: skip
NAMES = (*UP, *DOWN, *EITHER)
SIGNS = [1] * len(UP) + [-1] * len(DOWN) + [0] * len(EITHER)
TREES: dict[str, Any] = {
    "max_iter": 300,
    "learning_rate": 0.05,
    "max_leaf_nodes": 12,
    "min_samples_leaf": 40,
    "max_features": 0.3,
}
COMMON = 6  # a word that this many questions' answers share is common enough to be listed
LONG_WEIGHT, FIGURES_WEIGHT = 0.05, 0.3
FIGURES_ASKED = 500
WORDS_IN_LONG = (6, 80)


@dataclass(frozen=True, slots=True)
class Answers:
    """`real` rows are marked by people; the others are made from them, only to fit. `rules` is what is added by hand."""

    rows: Array
    rules: Array
    labels: Array
    groups: list[str]
    models: list[str]
    lengths: Array
    weights: Array
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


def read_answers(data: Path, seed: int) -> Answers:
    """`rarity` must be in place: features ask for it."""
    lines = read_lines(data, CORRECTNESS_SET)
    made = [Made(line, line["answer"], line["reference"], line["label"]) for line in lines]
    made += [*_long(lines, random.Random(seed)), *_other_figures(lines, random.Random(seed)), *_companies(seed)]
    found = [features_of(compared_with(each.answer, each.expected, each.line["question"])) for each in made]
    return Answers(
        rows=np.array([[features[name] for name in NAMES] for features in found]),
        rules=np.array([by_hand(features) for features in found]),
        labels=np.array([each.label for each in made], dtype=float),
        groups=[each.line["group"] for each in made],
        models=[each.line["model"] for each in made],
        lengths=np.array([len(each.answer) for each in made], dtype=float),
        weights=np.array([each.weight for each in made]),
        rarity=rarity(data),
    )


def _long(lines: Sequence[dict[str, Any]], rng: random.Random) -> Iterator[Made]:
    """For each question one right answer as the expected one for the other answers."""
    questions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        questions[line["group"]].append(line)
    for answers in questions.values():
        right = [line for line in answers if line["label"] and _can_be_expected(line["answer"])]
        if not right:
            continue
        chosen = rng.choice(right)
        expected = (chosen["answer"],)
        for line in answers:
            if line is not chosen:
                yield Made(line, line["answer"], expected, line["label"], LONG_WEIGHT)


def _can_be_expected(answer: str) -> bool:
    least, most = WORDS_IN_LONG
    return least <= len(answer.split()) <= most and not read(answer).declines


def _other_figures(lines: Sequence[dict[str, Any]], rng: random.Random) -> Iterator[Made]:
    """Right answers with one digit of the expected figure changed wherever it is written."""
    for line in lines:
        figures = {n for text in line["reference"] for n in re.findall(r"\d[\d,.]*\d|\d", text)}
        answer = line["answer"]
        for figure in sorted(figures - set(re.findall(r"[\d,.]+", line["question"]))):
            at = rng.choice([n for n, ch in enumerate(figure) if ch.isdigit()])
            other = figure[:at] + str((int(figure[at]) + rng.randint(1, 9)) % 10) + figure[at + 1 :]
            answer = re.sub(rf"(?<![\d.,]){re.escape(figure)}(?!\d)", other, answer)
        if line["label"] and answer != line["answer"] and rng.random() < 0.5:
            yield Made(line, answer, line["reference"], 0, LONG_WEIGHT)


def _companies(seed: int) -> Iterator[Made]:
    for asked in made_figures(FIGURES_ASKED, random.Random(seed)):
        line = {"question": asked.question, "group": f"made/{asked.question}", "model": "made"}
        yield Made(line, asked.answer, (asked.expected,), asked.label, FIGURES_WEIGHT)


def fit(answers: Answers, chosen: Any, seed: int) -> HistGradientBoostingClassifier:
    return fit_trees(
        answers.rows[chosen], answers.labels[chosen], answers.weights[chosen], SIGNS, random_state=seed, **TREES
    )


def cross_validated(answers: Answers, seed: int) -> Array:
    scores = np.zeros(len(answers.labels))
    for train, test in folds(answers.groups):
        scores[test] = log_odds(fit(answers, train, seed), answers.rows[test])
    return scores


def other_models(answers: Answers, seed: int) -> dict[str, Array]:
    """For each answering model the scores from a fit that saw neither its answers nor, by fold, the questions.

    Long expected answers may be that model's own; all rows with one are left out here.
    """
    models = np.array(answers.models)
    scores = {str(name): np.zeros(len(models)) for name in sorted(set(models[answers.real]))}
    for train, test in folds(answers.groups):
        for name, found in scores.items():
            seen = train[(models[train] != name) & answers.real[train]]
            held = test[models[test] == name]
            found[held] = log_odds(fit(answers, seen, seed), answers.rows[held])
    return {name: found[(models == name) & answers.real] for name, found in scores.items()}


def written(answers: Answers, scores: Array, seed: int) -> dict[str, Any]:
    real = answers.real
    curve = calibration(scores[real], answers.labels[real], np.zeros(int(real.sum()), dtype=np.int64))
    about = {"fitted on": "EVOUNA, Natural Questions"}
    return exported(fit(answers, slice(None), seed), list(NAMES), curve, about) | {"rarity": answers.rarity}
