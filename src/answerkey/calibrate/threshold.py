"""The cut that agrees best with the labels, and what it is worth on rows it was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from answerkey.calibrate.agreement import Agreement, agreement
from answerkey.intervals import SEED

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDS = 5
Aim = Literal["balanced", "accuracy", "kappa"]


def best_threshold(values: NDArray[Any], positive: NDArray[Any], aim: Aim = "balanced") -> float | None:
    """The cut, midway between two values, above which rows are taken for positive; None where no cut parts the rows.

    `balanced` weighs both classes alike (TPR + TNR), so that a rare class is not simply ignored.
    """
    import numpy as np

    order = np.argsort(values, kind="stable")
    ordered, labels = values[order], positive[order]
    cuts = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
    positives, n = int(labels.sum()), len(labels)
    if len(cuts) == 0 or positives in (0, n):
        return None
    below = np.cumsum(labels)[cuts - 1]
    hits, rejections = positives - below, cuts - below
    gain = _gain(aim, hits, rejections, positives, n)
    best = cuts[int(np.argmax(gain))]
    return float((ordered[best - 1] + ordered[best]) / 2)


def _gain(aim: Aim, hits: NDArray[Any], rejections: NDArray[Any], positives: int, n: int) -> NDArray[Any]:
    negatives = n - positives
    if aim == "balanced":
        return hits / positives + rejections / negatives
    accuracy = (hits + rejections) / n
    if aim == "accuracy":
        return accuracy
    said = hits + negatives - rejections
    by_chance = (said * positives + (n - said) * negatives) / n**2
    return (accuracy - by_chance) / (1 - by_chance)


def cross_validated(
    values: NDArray[Any], positive: NDArray[Any], groups: Sequence[str] | None, aim: Aim = "balanced"
) -> tuple[Agreement, list[float]] | None:
    """Agreement on rows left out of the fit, five folds, a group never split; and the thresholds fitted."""
    import numpy as np

    folds = _folds(len(values), groups)
    decided = np.zeros(len(values), dtype=bool)
    judged = np.zeros(len(values), dtype=bool)
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
    return agreement(decided[judged], positive[judged]), thresholds


def _folds(n: int, groups: Sequence[str] | None) -> NDArray[Any]:
    import numpy as np

    member = np.arange(n) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    count = int(member.max()) + 1
    fold_of_group = np.random.default_rng(SEED).permutation(count) % FOLDS
    return fold_of_group[member]
