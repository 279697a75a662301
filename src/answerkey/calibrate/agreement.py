"""How far a metric and human labels agree: AUROC, kappa, the best threshold, reliability. None where undefined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from answerkey.distributions import average_ranks
from answerkey.intervals import SEED, Interval, rate_interval

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
    count = int(positive.sum())
    others = len(positive) - count
    if count == 0 or others == 0:
        return None
    ranks = average_ranks(values)
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


def cohen_kappa(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Agreement of two people beyond chance, over the cases that both labelled; None where it is undefined.

    >>> cohen_kappa([(1, 1), (0, 0), (1, 0), (0, 0)])
    0.5
    """
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    by_chance = sum(first[label] * second[label] for label in first) / n**2 if n else 1.0
    if by_chance == 1:
        return None
    return (sum(a == b for a, b in pairs) / n - by_chance) / (1 - by_chance)


def krippendorff_alpha(units: Iterable[Sequence[float]]) -> float | None:
    """Agreement of any number of people on nominal labels; each unit holds the labels one case got. None if undefined.

    >>> krippendorff_alpha([[1, 1], [0, 0], [1, 0], [0, 0, 0]])
    0.5555555555555556
    """
    totals: Counter[float] = Counter()
    observed = 0.0
    for labels in units:
        count = len(labels)
        if count < 2:
            continue
        here = Counter(labels)
        totals.update(here)
        observed += sum(times * (count - times) for times in here.values()) / (count - 1)
    n = sum(totals.values())
    expected = sum(times * (n - times) for times in totals.values())
    return None if not expected else 1 - (n - 1) * observed / expected


def spearman(values: NDArray[Any], labels: NDArray[Any]) -> float | None:
    """Rank correlation; None where one side is constant or there are fewer than three rows."""
    import numpy as np

    if len(values) < 3 or np.ptp(values) == 0 or np.ptp(labels) == 0:
        return None
    return float(np.corrcoef(average_ranks(values), average_ranks(labels))[0, 1])


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
    """Bins of about equal size. Read as probabilities of label 1, the values have this calibration error and Brier score;
    both are None for values that are not in 0..1."""

    bins: tuple[ReliabilityBin, ...]
    error: float | None
    brier: float | None


def reliability(values: NDArray[Any], positive: NDArray[Any], sign: int) -> Reliability:
    """Equal values stay in one bin; values that fall as label 1 grows likelier are read as 1 − value."""
    import numpy as np

    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
    place = np.searchsorted(edges, values, side="right")
    bins: list[ReliabilityBin] = []
    for n in np.unique(place):
        inside = place == n
        own, hits, count = values[inside], int(positive[inside].sum()), int(inside.sum())
        bins.append(
            ReliabilityBin(
                float(own.min()), float(own.max()), count, float(own.mean()), hits / count, rate_interval(hits, count)
            )
        )
    if values.min() < 0 or values.max() > 1:
        return Reliability(tuple(bins), None, None)
    chance = values if sign > 0 else 1 - values
    gaps = [b.n * abs((b.mean_value if sign > 0 else 1 - b.mean_value) - b.share) for b in bins]
    return Reliability(tuple(bins), float(sum(gaps) / len(values)), float(np.mean((chance - positive) ** 2)))
