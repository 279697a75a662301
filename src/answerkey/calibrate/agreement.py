"""Agreement of a metric with human labels: AUROC, kappa, the best threshold, reliability.

A figure is None if it is undefined.

Bootstrap samples draw rows of one source together, so that they do not pass for many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from answerkey.distributions import average_ranks
from answerkey.intervals import DRAWS, SEED, Interval, rate_interval

NumberArray = NDArray[Any]
Groups = Sequence[str] | None  # the source of each row, where rows of one source belong together


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well decisions agree with labels; the positive class is label 1."""

    n: int
    accuracy: float
    tpr: float | None
    tnr: float | None
    kappa: float | None


def auroc(values: NumberArray, positive: NumberArray) -> float | None:
    """Chance that a random positive has a higher value than a random negative, ties counting half."""
    count = int(positive.sum())
    others = len(positive) - count
    if count == 0 or others == 0:
        return None
    ranks = average_ranks(values)
    # The rank sum of the positives without its minimum is Mann and Whitney's U.
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * others))


def agreement(decided: NumberArray, positive: NumberArray) -> Agreement:
    """Compare decisions with labels, both as arrays of truth values."""
    n = len(positive)
    hits = int((decided & positive).sum())
    rejections = int((~decided & ~positive).sum())
    positives = int(positive.sum())
    accuracy = (hits + rejections) / n
    above = int(decided.sum())
    by_chance = (above * positives + (n - above) * (n - positives)) / n**2
    # One side that is constant agrees by chance alone: κ is not defined.
    kappa = None
    if by_chance < 1:
        kappa = (accuracy - by_chance) / (1 - by_chance)
    return Agreement(n, accuracy, _rate(hits, positives), _rate(rejections, n - positives), kappa)


def _rate(count: int, total: int) -> float | None:
    """The share; None where there is nothing to count."""
    if not total:
        return None
    return count / total


def spearman(values: NumberArray, labels: NumberArray) -> float | None:
    """Rank correlation; None where one side is constant or there are fewer than three rows."""
    if len(values) < 3 or np.ptp(values) == 0 or np.ptp(labels) == 0:
        return None
    return float(np.corrcoef(average_ranks(values), average_ranks(labels))[0, 1])


FOLDS = 5
Aim = Literal["balanced", "accuracy", "kappa"]


def best_threshold(
    values: NumberArray, positive: NumberArray, aim: Aim = "balanced"
) -> float | None:
    """The cut, midway between two values, above which rows count as positive.

    None if no cut parts the rows. `balanced` weighs both classes alike (TPR + TNR), so that a rare
    class is not ignored.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    labels = positive[order]
    cuts = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
    positives = int(labels.sum())
    n = len(labels)
    if len(cuts) == 0 or positives in (0, n):
        return None
    below = np.cumsum(labels)[cuts - 1]
    hits = positives - below
    rejections = cuts - below
    negatives = n - positives
    gain = (hits + rejections) / n
    if aim == "balanced":
        gain = hits / positives + rejections / negatives
    elif aim == "kappa":
        above = hits + negatives - rejections
        by_chance = (above * positives + (n - above) * negatives) / n**2
        gain = (gain - by_chance) / (1 - by_chance)
    best = cuts[int(np.argmax(gain))]
    return float((ordered[best - 1] + ordered[best]) / 2)


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """Agreement on rows left out of the fit, and the threshold that each fold fitted."""

    agreement: Agreement
    thresholds: list[float]


def cross_validate_threshold(
    values: NumberArray, positive: NumberArray, groups: Groups, aim: Aim = "balanced"
) -> CrossValidation | None:
    """Fit the threshold five times, each time without a fifth of the rows; a group is never split.

    None if no fold has a threshold.
    """
    folds = assign_folds(len(values), groups)
    decided, judged = np.zeros((2, len(values)), dtype=bool)
    thresholds: list[float] = []
    for fold in range(FOLDS):
        left_out = folds == fold
        cut = best_threshold(values[~left_out], positive[~left_out], aim)
        if cut is None or not left_out.any():
            continue
        thresholds.append(cut)
        decided[left_out] = values[left_out] > cut
        judged |= left_out
    if not judged.any():
        return None
    return CrossValidation(agreement(decided[judged], positive[judged]), thresholds)


def assign_folds(n: int, groups: Groups = None) -> NDArray[np.int64]:
    """The fold of each row, at random but always the same; a group is never split."""
    member, count = _members(n, groups)
    return (np.random.default_rng(SEED).permutation(count) % FOLDS)[member]


def _members(n: int, groups: Groups) -> tuple[NumberArray, int]:
    """The number of the group that each row belongs to, and how many groups there are."""
    if groups is None:
        return np.arange(n), n
    member = np.unique(np.asarray(groups), return_inverse=True)[1]
    return member, int(member.max()) + 1


BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    low: float
    high: float
    n: int
    mean_value: float
    share: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Reliability:
    """Bins of about equal size.

    `error` (calibration error) and `brier` take the values as probabilities of label 1; both are
    None for values outside 0..1.
    """

    bins: tuple[ReliabilityBin, ...]
    error: float | None
    brier: float | None


def reliability(values: NumberArray, positive: NumberArray, sign: int) -> Reliability:
    """Bins of values with their share of label 1. Equal values stay in one bin.

    With `sign` −1, values fall as label 1 grows likelier; they are read as 1 − value.
    """
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
    place = np.searchsorted(edges, values, side="right")
    bins = [_make_bin(values[place == n], positive[place == n]) for n in np.unique(place)]
    if values.min() < 0 or values.max() > 1:
        return Reliability(tuple(bins), None, None)
    chance = values
    means = [one.mean_value for one in bins]
    if sign < 0:
        chance = 1 - values
        means = [1 - mean for mean in means]
    gaps = [one.n * abs(mean - one.share) for one, mean in zip(bins, means, strict=True)]
    error = float(sum(gaps) / len(values))
    return Reliability(tuple(bins), error, float(np.mean((chance - positive) ** 2)))


def _make_bin(values: NumberArray, positive: NumberArray) -> ReliabilityBin:
    hits = int(positive.sum())
    count = len(values)
    return ReliabilityBin(
        low=float(values.min()),
        high=float(values.max()),
        n=count,
        mean_value=float(values.mean()),
        share=hits / count,
        interval=rate_interval(hits, count),
    )


_NUMBERS_AT_ONCE = 2_000_000  # 16 MB of draws in memory at a time


def draws_for(n: int) -> int:
    """Fewer where there are many rows and the interval is narrow anyway."""
    if n <= 3_000:
        return DRAWS
    return 2_000


def auroc_draws(
    columns: Sequence[NumberArray], positive: NumberArray, groups: Groups
) -> list[NumberArray]:
    """AUROC of every column over the same draws; a draw with only one class is NaN."""
    # Sorted once, so that a draw costs one pass.
    orders = [np.argsort(values, kind="stable") for values in columns]
    parts: list[list[NumberArray]] = [[] for _ in columns]
    for weights in _weights(len(positive), groups):
        for values, order, part in zip(columns, orders, parts, strict=True):
            part.append(_weighted_aurocs(values[order], positive[order], weights[:, order]))
    return [np.concatenate(part) for part in parts]


def _weighted_aurocs(
    sorted_values: NumberArray, positive: NumberArray, weights: NumberArray
) -> NumberArray:
    """The AUROC of each row of `weights`, which says how often each value was drawn."""
    # Equal values form a block, and a pair inside a block counts half.
    starts = np.flatnonzero(np.concatenate([[True], np.diff(sorted_values) != 0]))
    positives = np.add.reduceat(weights * positive, starts, axis=1)
    negatives = np.add.reduceat(weights * ~positive, starts, axis=1)
    negatives_below = np.cumsum(negatives, axis=1) - negatives / 2
    won = (positives * negatives_below).sum(axis=1)
    pairs = positives.sum(axis=1) * negatives.sum(axis=1)
    return np.divide(won, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)


def interval95(draws: NumberArray) -> list[float] | None:
    """The middle 95 %; None where hardly any draw had both classes."""
    # A draw of one class has no AUROC. If most draws are like that, the rest is no fair sample.
    usable = draws[~np.isnan(draws)]
    if len(usable) < 0.5 * len(draws):
        return None
    return [float(end) for end in np.percentile(usable, [2.5, 97.5])]


def _weights(n: int, groups: Groups) -> Iterator[NumberArray]:
    """How often each row was drawn, some draws at a time."""
    member, count = _members(n, groups)
    random = np.random.default_rng(SEED)
    draws = draws_for(n)
    at_once = max(1, _NUMBERS_AT_ONCE // n)
    for start in range(0, draws, at_once):
        rows = min(at_once, draws - start)
        # Each draw has its own range of numbers, so that one bincount counts all draws.
        picked = random.integers(0, count, size=(rows, count)) + np.arange(rows)[:, None] * count
        drawn = np.bincount(picked.ravel(), minlength=rows * count).reshape(rows, count)
        yield drawn[:, member].astype(np.float64)
