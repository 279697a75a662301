"""Fit and measure the detector of unsupported sentences: grouped cross-validation and leave-one-data-set-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from tools.local_judge.data import FITTED_SETS, WRITTEN_SET, Row
from tools.local_judge.fit import Array, calibration, exported, fit_trees, log_odds
from tools.local_judge.measure import FOLDS, folds

from answerkey.entailment.packaged import EntailmentModel
from answerkey.metrics.grounding.groundedness import (
    EDIT_WEIGHT,
    MODEL_FEATURE,
    MODEL_WEIGHT,
    any_unsupported,
)
from answerkey.metrics.grounding.sentence_features import read_answers

# More of a feature on the left may only raise the log-odds of "unsupported", more of one on the right only lower it.
WORDS_UP = (
    "missing_count", "missing_weight", "missing_in_best", "broken_pairs", "numbers_missing", "numbers_missing_share",
    "numbers_away", "names_missing", "names_missing_share", "names_away", "negation_added", "first_person", "chatting",
    "turned_near", "turned_anywhere", "opposite_near", "opposite_prefix",
)  # fmt: skip
WORDS_DOWN = (
    "recall_sentence", "recall_window", "recall_all", "recall_plain", "recall_or_asked", "pairs_all", "pairs_window",
    "copied_run", "copied_words",
)  # fmt: skip
MODEL_UP = ("contradicted_first", "contradicted_most", "contradicted_joined")
MODEL_DOWN = ("model_best", "model_worst", "model_first", "model_joined", "model_top", "model_mean")
EDITS_UP = (
    "numbers_missing", "numbers_missing_share", "numbers_away", "names_missing", "names_missing_share", "names_away",
    "negation_added", "turned_near", "turned_anywhere", "opposite_near", "opposite_prefix",
)  # fmt: skip
BALANCE = 0.5  # share of unsupported sentences that the fit sees in each set
# The one with sentences marked by people; the one of small edits; the one whose wrong statements keep the words of the passage.
SHARE_OF_SET = {"ragtruth_qa": 2.0, "summedits": 0.05, WRITTEN_SET: 0.15}
CALIBRATION_SHARE = {
    "ragtruth_qa": 4.0
}  # answers as bots write them count as much as the four sets of claims together


@dataclass(frozen=True, slots=True)
class Features:
    names: tuple[str, ...]
    signs: tuple[int, ...]


def features(up: Sequence[str], down: Sequence[str]) -> Features:
    return Features((*up, *down), (*(1 for _ in up), *(-1 for _ in down)))


COVERAGE_BY_WORDS = features(WORDS_UP, WORDS_DOWN)
COVERAGE = features((*WORDS_UP, *MODEL_UP), (*WORDS_DOWN, *MODEL_DOWN))
EDITS = features(EDITS_UP, ())


@dataclass(slots=True)
class Table:
    """One set. Sentence arrays run in step; `owner` is the row of a sentence. A label -1 is not known."""

    rows: list[Row]
    values: dict[str, Array]
    labels: NDArray[np.int64]
    owner: NDArray[np.int64]
    edited: NDArray[np.bool_]

    def matrix(self, names: Sequence[str], where: NDArray[np.bool_] | slice = slice(None)) -> Array:
        return np.stack([self.values[name][where] for name in names], axis=1)

    @property
    def answers(self) -> Array:
        return np.array([row.label for row in self.rows], dtype=float)

    @property
    def real(self) -> NDArray[np.bool_]:
        return np.array([not row.edited for row in self.rows])


Sentences = list[dict[str, Any]]


def table(rows: list[Row], model: EntailmentModel | None) -> Table:
    """The rows with the features of their sentences, by the functions that the metric uses.

    Edited copies have features by words only: the detector with the model is not fitted on them.
    """
    sentences: list[Sentences] = [[] for _ in rows]
    for edited in (False, True):
        part = [n for n, row in enumerate(rows) if row.edited == edited]
        read = read_answers([rows[n].pair for n in part], None if edited else model)
        for n, answer in zip(part, read, strict=True):
            sentences[n] = [
                {"start": s.piece.start, "end": s.piece.end, "features": dict(s.features)}
                for s in answer.sentences
            ]
    flat = [(n, row, found) for n, row in enumerate(rows) for found in sentences[n]]
    names = list(max((found["features"] for _, _, found in flat), key=len))
    return Table(
        rows=rows,
        values={
            name: _filled([found["features"].get(name) for _, _, found in flat]) for name in names
        },
        labels=np.array([_label(row, found, len(sentences[n])) for n, row, found in flat]),
        owner=np.array([n for n, _, _ in flat]),
        edited=np.array([row.edited for _, row, _ in flat]),
    )


def _filled(values: Sequence[float | None]) -> Array:
    """Sentences that the model was not asked about (edited, or not English) get the mean."""
    mean = np.mean([value for value in values if value is not None])
    return np.array([mean if value is None else value for value in values], dtype=float)


def _label(row: Row, found: Mapping[str, Any], count: int) -> int:
    """By the marked sentences; else every sentence of a supported answer is 0, the only one of another is 1."""
    if row.sentences:
        return max(
            (
                label
                for start, end, label in row.sentences
                if start < found["end"] and end > found["start"]
            ),
            default=-1,
        )
    if row.label == 0:
        return 0
    return 1 if count == 1 else -1


@dataclass(frozen=True, slots=True)
class Detector:
    """`coverage` are trees with the features that they use: by words, and with the model by its log-odds too."""

    coverage: tuple[tuple[HistGradientBoostingClassifier, Features], ...]
    edits: HistGradientBoostingClassifier

    def sentence_scores(self, data: Table) -> Array:
        covered = np.mean(
            [log_odds(trees, data.matrix(uses.names)) for trees, uses in self.coverage], axis=0
        )
        if len(self.coverage) > 1:
            covered -= MODEL_WEIGHT * data.values[MODEL_FEATURE]
        return covered + EDIT_WEIGHT * log_odds(self.edits, data.matrix(EDITS.names))


def answer_scores(scores: Array, data: Table) -> Array:
    ends = np.searchsorted(data.owner, np.arange(len(data.rows) + 1))
    return np.array([any_unsupported(scores[a:b]) for a, b in pairwise(ends)])


Parts = Mapping[str, NDArray[np.bool_]]  # by set, the rows to fit on


def fit_detector(tables: Mapping[str, Table], parts: Parts, by_model: bool, seed: int) -> Detector:
    shares = {"made": 0.0, "other": 1.0, **SHARE_OF_SET}
    used = (COVERAGE, COVERAGE_BY_WORDS) if by_model else (COVERAGE_BY_WORDS,)
    return Detector(
        tuple((_fit(tables, parts, uses, shares, seed), uses) for uses in used),
        _fit(
            tables, parts, EDITS, {"made": 1.0, "other": 0.25, "summedits": 1.0}, seed, max_iter=60
        ),
    )


def _fit(
    tables: Mapping[str, Table],
    parts: Parts,
    uses: Features,
    shares: Mapping[str, float],
    seed: int,
    **settings: Any,
) -> HistGradientBoostingClassifier:
    """`shares` is how much each set counts in all; `made` is for the edited copies of each set."""
    rows: list[Array] = []
    labels: list[Array] = []
    weights: list[Array] = []
    for name, chosen in parts.items():
        data = tables[name]
        usable = (data.labels >= 0) & chosen[data.owner]
        for made in (False, True):
            mine = usable & (data.edited == made)
            share = shares["made"] if made else shares.get(name, shares["other"])
            if share and mine.any():
                rows.append(data.matrix(uses.names, mine))
                labels.append(data.labels[mine].astype(float))
                weights.append(
                    share
                    * (np.ones(mine.sum()) / mine.sum() if made else _balanced(labels[-1]))
                    * 1000
                )
    return fit_trees(
        np.concatenate(rows),
        np.concatenate(labels),
        np.concatenate(weights),
        list(uses.signs),
        random_state=seed,
        **settings,
    )


def _balanced(labels: Array) -> Array:
    share = min(max(labels.mean(), 1e-3), 1 - 1e-3)
    return np.where(labels == 1, BALANCE / share, (1 - BALANCE) / (1 - share)) / len(labels)


def cross_validated(tables: Mapping[str, Table], by_model: bool, seed: int) -> dict[str, Array]:
    """Sentence scores of every set, each from a detector that saw no row of its group."""
    names = list(FITTED_SETS)
    scores = {name: np.zeros(len(tables[name].labels)) for name in names}
    split = {name: list(folds([row.group for row in tables[name].rows])) for name in names}
    for fold in range(FOLDS):
        parts = {name: _mask(len(tables[name].rows), split[name][fold][0]) for name in names}
        detector = fit_detector(tables, parts, by_model, seed)
        for name in names:
            held = ~parts[name][tables[name].owner]
            scores[name][held] = detector.sentence_scores(tables[name])[held]
    return scores


def left_out(tables: Mapping[str, Table], by_model: bool, seed: int) -> dict[str, Array]:
    """Sentence scores of every set from a detector fitted on the other sets only."""
    scores: dict[str, Array] = {}
    for name in tables:
        others = {other: _all(tables[other]) for other in FITTED_SETS if other != name}
        scores[name] = fit_detector(tables, others, by_model, seed).sentence_scores(tables[name])
    return scores


def _mask(length: int, chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
    mask = np.zeros(length, dtype=bool)
    mask[chosen] = True
    return mask


def _all(data: Table) -> NDArray[np.bool_]:
    return np.ones(len(data.rows), dtype=bool)


def curves(
    tables: Mapping[str, Table], scores: Mapping[str, Array]
) -> dict[str, tuple[float, float]]:
    """Slope and shift for sentences and for answers, from cross-validated scores."""
    found: dict[str, list[tuple[Array, Array, NDArray[np.int64]]]] = {"sentence": [], "answer": []}
    for number, (name, sentence) in enumerate(scores.items()):
        data = tables[name]
        known = (data.labels >= 0) & ~data.edited
        found["sentence"].append(
            (sentence[known], data.labels[known], np.full(known.sum(), number))
        )
        answers, real = answer_scores(sentence, data), data.real
        found["answer"].append((answers[real], data.answers[real], np.full(real.sum(), number)))
    shares = [CALIBRATION_SHARE.get(name, 1.0) for name in scores]
    columns = {
        level: [np.concatenate(column) for column in zip(*parts, strict=True)]
        for level, parts in found.items()
    }
    return {level: calibration(*column, shares) for level, column in columns.items()}


def written(
    tables: Mapping[str, Table], scores: Mapping[str, Array], by_model: bool, seed: int
) -> dict[str, Any]:
    """The detector fitted on all sets, as the JSON that the metric reads; the trees by words are in a file of their own."""
    detector = fit_detector(
        tables, {name: _all(tables[name]) for name in FITTED_SETS}, by_model, seed
    )
    plain = (1.0, 0.0)
    trees, uses = detector.coverage[0]
    return {
        "curves": {
            level: [round(number, 5) for number in curve]
            for level, curve in curves(tables, scores).items()
        },
        "coverage": exported(trees, list(uses.names), plain, {}),
        "edits": exported(detector.edits, list(EDITS.names), plain, {}),
    }
