"""AUROC and accuracy with intervals over groups, and folds that never split a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.model_selection import GroupKFold

Array = NDArray[np.float64]
FOLDS = 5
DRAWS = 500


def folds(groups: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    yield from GroupKFold(FOLDS).split(np.zeros(len(groups)), groups=np.array(groups))


def auroc(labels: Array, scores: Array) -> float:
    """By ranks, ties in the middle: the same as sklearn's, and fast enough for thousands of draws."""
    positive = labels == 1
    count = int(positive.sum())
    ranks = rankdata(scores)[positive].sum()
    return float((ranks - count * (count + 1) / 2) / (count * (len(labels) - count)))


def accuracy(labels: Array, scores: Array) -> float:
    return float(((scores >= 0.5) == (labels == 1)).mean())


def interval(
    labels: Array,
    scores: Array,
    groups: Sequence[str],
    figure: Callable[[Array, Array], float],
    seed: int,
) -> tuple[float, float]:
    """95 %: percentiles over draws of whole groups, since the answers of one group are not independent."""
    rng, members = np.random.default_rng(seed), _members(groups)
    values: list[float] = []
    for _ in range(DRAWS):
        drawn = _draw(members, rng)
        if 0 < labels[drawn].sum() < len(drawn):
            values.append(figure(labels[drawn], scores[drawn]))
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


Measured = tuple[Array, Array, Array, Sequence[str]]  # labels, scores with and without, groups


def gain(sets: Sequence[Measured], seed: int) -> tuple[float, float, float]:
    """The mean difference in AUROC of two scores over several sets, and its 95 % interval over draws of groups."""
    rng = np.random.default_rng(seed)
    members = [_members(groups) for *_, groups in sets]

    def difference(draws: Sequence[NDArray[np.int64]]) -> float:
        return float(
            np.mean(
                [
                    auroc(y[d], a[d]) - auroc(y[d], b[d])
                    for (y, a, b, _), d in zip(sets, draws, strict=True)
                ]
            )
        )

    values = [difference([_draw(each, rng) for each in members]) for _ in range(DRAWS)]
    low, high = np.percentile(values, [2.5, 97.5])
    return difference([np.arange(len(y)) for y, *_ in sets]), float(low), float(high)


def _members(groups: Sequence[str]) -> list[NDArray[np.int64]]:
    _, number = np.unique(np.array(groups), return_inverse=True)
    order = np.argsort(number, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(number[order])) + 1)


def _draw(members: list[NDArray[np.int64]], rng: np.random.Generator) -> NDArray[np.int64]:
    return np.concatenate([members[n] for n in rng.integers(0, len(members), len(members))])


def calibration_error(labels: Array, given: Array) -> float:
    """Mean gap between probability and share over ten equal bins, weighted by their rows."""
    bins = np.minimum((given * 10).astype(int), 9)
    return float(sum(abs((given - labels)[bins == n].sum()) for n in range(10)) / len(labels))
