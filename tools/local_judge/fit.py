"""Boosted trees whose directions are fixed by what the features mean, and their numbers as plain JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

Array = NDArray[np.float64]
DIGITS = 5


def fit_trees(
    rows: Array, labels: Array, weights: Array, signs: list[int], **settings: Any
) -> HistGradientBoostingClassifier:
    """`signs` holds +1, -1 or 0 a feature: more of it may only raise, only lower, or do either to the log-odds.

    Fixed directions are what lets a model fitted on some sets hold on another.
    """
    usual: dict[str, Any] = {
        "max_iter": 100, "learning_rate": 0.06, "max_leaf_nodes": 8, "min_samples_leaf": 20, "l2_regularization": 5.0,
        "max_features": 0.3, "early_stopping": False, "random_state": 0,
    }  # fmt: skip
    model = HistGradientBoostingClassifier(monotonic_cst=signs, **(usual | settings))
    return model.fit(rows.astype(np.float32), labels, sample_weight=weights)


def log_odds(model: HistGradientBoostingClassifier, rows: Array) -> Array:
    return model.decision_function(rows.astype(np.float32))


def calibration(
    scores: Array, labels: Array, sets: NDArray[np.int64], shares: Sequence[float] = (1.0,)
) -> tuple[float, float]:
    """Slope and shift that turn scores into log-odds that mean what they say (Platt); `shares` is how much each set counts.

    The slope is found within sets, each with a shift of its own, since sets differ in how many are unsupported; the one shift
    then makes the mean probability that of the labels.
    """
    weights = (np.array(shares) / np.bincount(sets))[sets]
    own = np.eye(sets.max() + 1)[sets]
    model = LogisticRegression(C=100.0, fit_intercept=False, max_iter=1000)
    slope = float(
        model.fit(np.column_stack([scores, own]), labels, sample_weight=weights).coef_[0, 0]
    )

    def gap(shift: float) -> float:
        return float(
            np.average(1 / (1 + np.exp(-slope * scores - shift)) - labels, weights=weights)
        )

    return slope, float(brentq(gap, -20, 20))


def exported(
    model: HistGradientBoostingClassifier,
    features: list[str],
    curve: tuple[float, float],
    about: dict[str, Any],
) -> dict[str, Any]:
    """What `answerkey.metrics.boosted_trees` reads; the calibration is worked into the leaves."""
    slope, shift = curve
    base = float(np.ravel(model._baseline_prediction)[0])
    return {
        "about": about,
        "features": features,
        "base": round(base * slope + shift, DIGITS),
        "trees": [_tree(stage[0].nodes, slope) for stage in model._predictors],
    }


def _tree(nodes: Any, slope: float) -> dict[str, list[Any]]:
    leaf = nodes["is_leaf"].astype(bool)
    return {
        "feature": np.where(leaf, -1, nodes["feature_idx"]).astype(int).tolist(),
        "threshold": [
            0.0 if end else _float32_up(value)
            for end, value in zip(leaf, nodes["num_threshold"], strict=True)
        ],
        "left": np.where(leaf, 0, nodes["left"]).astype(int).tolist(),
        "right": np.where(leaf, 0, nodes["right"]).astype(int).tolist(),
        "value": [
            round(float(value) * slope, DIGITS) if end else 0.0
            for end, value in zip(leaf, nodes["value"], strict=True)
        ],
    }


def _float32_up(value: float) -> float:
    """Six digits are enough: thresholds lie between two values that were seen."""
    return float(f"{min(max(value, -1e9), 1e9):.6g}")
