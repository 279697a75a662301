"""Measures a pair model on labelled answers, calibrates it, and makes its card.

Every probability that a figure is computed from comes from a fit without the row's own group.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from answerkey.calibrate.agreement import auroc
from answerkey.entailment.calibrated import CalibratedPairModel
from answerkey.entailment.model_cards import CardFigure, Combination, ModelCard
from answerkey.entailment.pair_model import RawPairModel
from answerkey.errors import InputError
from answerkey.metrics.entailment.own_model import FEATURES, answer_features
from answerkey.metrics.grounding.groundedness import groundedness
from answerkey.types import Case, Pair, Passage, Response

Floats = NDArray[np.float64]
LEAST_ROWS = 50  # a choice, not a measurement: fewer labels say little about a threshold
LEAST_OF_EACH = 10
_FOLDS = 10
_DRAWS = 1000
_PENALTY = 1e-2  # keeps the weights finite where one feature splits the labels
_BINS = 10
_GAIN = 0.005  # AUROC that a combination must gain over the model alone
_WORDS = {"supported": 1, "unsupported": 0, "true": 1, "false": 0, "yes": 1, "no": 0}


@dataclass(frozen=True, slots=True)
class LabelledAnswers:
    """Answers with their passages; 1 is supported. `groups` are rows of one source."""

    pairs: list[Pair]
    labels: NDArray[np.int64]
    groups: list[str]

    @property
    def too_few(self) -> str:
        """Why a card cannot be made of these labels; empty where it can."""
        yes = int(self.labels.sum())
        no = len(self.labels) - yes
        if len(self.labels) >= LEAST_ROWS and min(yes, no) >= LEAST_OF_EACH:
            return ""
        return (
            f"too few labels: {yes} supported and {no} unsupported; "
            f"{LEAST_ROWS} are needed, with {LEAST_OF_EACH} of each"
        )


def read_labelled_answers(path: Path, *, one_means_unsupported: bool = False) -> LabelledAnswers:
    """Rows of JSON lines with `contexts` (or `premise`), `answer` (or `statement`), `label`, and maybe `group`."""
    pairs: list[Pair] = []
    labels: list[int] = []
    groups: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = cast("dict[str, Any]", msgspec.json.decode(line, type=dict))
            label = _read_label(row["label"])
            contexts = row.get("contexts") or row["premise"]
            answer = str(row.get("answer") or row["statement"])
        except (msgspec.DecodeError, KeyError, ValueError) as error:
            raise InputError(
                f"{path}:{number}: {error}; expected contexts, answer and label (1 or 0)"
            ) from None
        if isinstance(contexts, str):
            texts = [contexts]
        else:
            texts = contexts
        case = Case(str(number), str(row.get("question") or ""))
        pairs.append((case, Response(answer, tuple(Passage(str(text)) for text in texts))))
        labels.append(1 - label if one_means_unsupported else label)
        groups.append(str(row.get("group", number)))
    return LabelledAnswers(pairs, np.array(labels, np.int64), groups)


def _read_label(value: object) -> int:
    if isinstance(value, str) and value.casefold() in _WORDS:
        return _WORDS[value.casefold()]
    if value in (0, 1):
        return int(cast("int", value))
    raise ValueError(f"label is {value!r}")


def make_card(model: RawPairModel, data: LabelledAnswers) -> ModelCard:
    """Measure the model, calibrate it, and fit a combination where that is better on left-out groups."""
    started = time.perf_counter()
    plain = answer_features(data.pairs, CalibratedPairModel(model, None))
    seconds = time.perf_counter() - started
    kept = [n for n, row in enumerate(plain) if row is not None]
    labels = data.labels[kept]
    groups = [data.groups[n] for n in kept]
    worst = _column([plain[n] or {} for n in kept], ("worst",))
    slope, shift = _fit(worst, labels)
    slope = max(slope, 1e-2)  # a model that is worse than chance must not be turned round
    shares = _left_out(worst, labels, groups)
    card = ModelCard(
        name=model.name,
        revision=model.revision,
        digest=model.digest,
        rows=len(kept),
        groups=len(set(groups)),
        auroc=_interval(worst[:, 0], labels, groups),
        packaged_auroc=_packaged_auroc([data.pairs[n] for n in kept], labels),
        calibration_error=round(calibration_error(shares, labels), 4),
        pairs_per_second=round(len(kept) / max(seconds, 1e-9), 1),
        temperature=round(1 / slope, 6),
        shift=round(shift, 6),
        threshold=_best_threshold(shares, labels),
    )
    return msgspec.structs.replace(card, combination=_combine(model, card, data, kept))


def _combine(
    model: RawPairModel, card: ModelCard, data: LabelledAnswers, kept: Sequence[int]
) -> Combination | None:
    """A logistic model over the features, None where it does not beat the model alone."""
    labels = data.labels[list(kept)]
    groups = [data.groups[n] for n in kept]
    rows = answer_features([data.pairs[n] for n in kept], CalibratedPairModel(model, card))
    table = _column([row or {} for row in rows], FEATURES)
    gain = _area(_left_out(table, labels, groups), labels) - _area(table[:, 0], labels)
    if gain < _GAIN:
        return None
    *weights, intercept = _fit(table, labels)
    return Combination(FEATURES, tuple(round(w, 6) for w in weights), round(intercept, 6))


def _column(rows: Sequence[dict[str, float]], names: Sequence[str]) -> Floats:
    return np.array([[row[name] for name in names] for row in rows], np.float64)


def _fit(table: Floats, labels: NDArray[np.int64]) -> list[float]:
    """Weights of a logistic model, the intercept last, by Newton's method with a small penalty."""
    inputs = np.hstack([table, np.ones((len(table), 1))])
    weights = np.zeros(inputs.shape[1])
    penalty = _PENALTY * np.eye(len(weights))
    for _ in range(30):
        # Beyond ±30 the probability is 0 or 1 in print, and exp would overflow at some point.
        shares = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        slope = inputs.T @ (shares - labels) + penalty @ weights
        bend = inputs.T @ (inputs * (shares * (1 - shares))[:, None]) + penalty
        weights = weights - np.linalg.solve(bend, slope)
    return [float(weight) for weight in weights]


def _left_out(table: Floats, labels: NDArray[np.int64], groups: Sequence[str]) -> Floats:
    """The probability of each row, fitted without its group; many groups share a fold."""
    numbers = {group: n % _FOLDS for n, group in enumerate(dict.fromkeys(groups))}
    folds = np.array([numbers[group] for group in groups])
    # The share of all labels stays where the other folds have one class only.
    shares = np.full(len(labels), labels.mean())
    for fold in set(folds.tolist()):
        own = folds == fold
        if len(set(labels[~own].tolist())) == 2:
            *weights, intercept = _fit(table[~own], labels[~own])
            odds = table[own] @ np.array(weights) + intercept
            shares[own] = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    return shares


def _area(scores: Floats, labels: NDArray[np.int64]) -> float:
    """The AUROC; 0.5 for a drawn sample with one class only, which says nothing either way."""
    area = auroc(scores, labels == 1)
    if area is None:
        return 0.5
    return area


def _interval(scores: Floats, labels: NDArray[np.int64], groups: Sequence[str]) -> CardFigure:
    """AUROC with a 95 % interval from drawing whole groups."""
    members: dict[str, list[int]] = {}
    for n, group in enumerate(groups):
        members.setdefault(group, []).append(n)
    parts = [np.array(part, np.int64) for part in members.values()]
    draw = np.random.default_rng(0)
    values: list[float] = []
    for _ in range(_DRAWS):
        drawn: list[int] = draw.integers(0, len(parts), len(parts)).tolist()
        rows = np.concatenate([parts[n] for n in drawn])
        values.append(_area(scores[rows], labels[rows]))
    low, high = np.quantile(values, [0.025, 0.975])
    return CardFigure(*(round(float(x), 4) for x in (_area(scores, labels), low, high)))


def _packaged_auroc(pairs: Sequence[Pair], labels: NDArray[np.int64]) -> float:
    """The AUROC of `groundedness` with the packaged model on the same rows."""
    values = [score.value for score in groundedness(pairs)]
    # A row without a value counts as undecided.
    return round(_area(np.array([0.5 if v is None else v for v in values]), labels), 4)


def calibration_error(shares: Floats, labels: NDArray[np.int64]) -> float:
    """The mean distance between probability and rate, over ten bins of equal width."""
    bins = np.minimum((shares * _BINS).astype(int), _BINS - 1)
    error = 0.0
    for number in set(bins.tolist()):
        own = bins == number
        error += own.mean() * abs(shares[own].mean() - labels[own].mean())
    return float(error)


def _best_threshold(shares: Floats, labels: NDArray[np.int64]) -> float:
    """The probability that divides both classes best: the largest mean of both hit rates."""
    candidates = np.unique(np.round(shares, 2))
    rates = [
        (shares[labels == 1] >= c).mean() + (shares[labels == 0] < c).mean() for c in candidates
    ]
    # At 0 or 1 a model that is sure of everything would pass or fail every answer.
    return float(np.clip(candidates[int(np.argmax(rates))], 0.05, 0.95))
