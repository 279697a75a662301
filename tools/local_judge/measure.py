"""AUROC and accuracy with intervals over groups, and folds that never split a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

Array = NDArray[np.float64]
FOLDS = 5
DRAWS = 1000


def folds(groups: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    yield from GroupKFold(FOLDS).split(np.zeros(len(groups)), groups=np.array(groups))


def auroc(labels: Array, scores: Array) -> float:
    return float(roc_auc_score(labels, scores))


def accuracy(labels: Array, scores: Array) -> float:
    return float(((scores >= 0.5) == (labels == 1)).mean())


def interval(
    labels: Array, scores: Array, groups: Sequence[str], figure: Callable[[Array, Array], float], seed: int
) -> tuple[float, float]:
    """95 %: percentiles over draws of whole groups, since the answers of one group are not independent."""
    rng = np.random.default_rng(seed)
    _, number = np.unique(np.array(groups), return_inverse=True)
    order = np.argsort(number, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(number[order])) + 1)
    values: list[float] = []
    for _ in range(DRAWS):
        drawn = np.concatenate([members[n] for n in rng.integers(0, len(members), len(members))])
        if 0 < labels[drawn].sum() < len(drawn):
            values.append(figure(labels[drawn], scores[drawn]))
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
