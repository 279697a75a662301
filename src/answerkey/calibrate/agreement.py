"""How far numbers and yes/no labels agree. None where a figure is not defined, never NaN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of decisions with labels; the positive class is label 1."""

    n: int
    accuracy: float
    tpr: float | None
    tnr: float | None
    kappa: float | None


def auroc(values: NDArray[Any], positive: NDArray[Any]) -> float | None:
    """Chance that a random positive has a higher value than a random negative, ties counting half."""
    from scipy.stats import rankdata

    count = int(positive.sum())
    others = len(positive) - count
    if count == 0 or others == 0:
        return None
    ranks = rankdata(values)
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * others))


def agreement(decided: NDArray[Any], positive: NDArray[Any]) -> Agreement:
    """Of two arrays of truth values."""
    n = len(positive)
    hits, rejections = int((decided & positive).sum()), int((~decided & ~positive).sum())
    positives = int(positive.sum())
    accuracy = (hits + rejections) / n
    said = int(decided.sum())
    by_chance = (said * positives + (n - said) * (n - positives)) / n**2
    return Agreement(
        n,
        accuracy,
        hits / positives if positives else None,
        rejections / (n - positives) if n > positives else None,
        (accuracy - by_chance) / (1 - by_chance) if by_chance < 1 else None,
    )


def spearman(values: NDArray[Any], labels: NDArray[Any]) -> float | None:
    """Rank correlation; None where one side is constant or there are fewer than three rows."""
    import numpy as np
    from scipy.stats import rankdata

    if len(values) < 3 or np.ptp(values) == 0 or np.ptp(labels) == 0:
        return None
    return float(np.corrcoef(rankdata(values), rankdata(labels))[0, 1])
