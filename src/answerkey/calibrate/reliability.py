"""What a value is worth: the share of label 1 among rows of like value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from answerkey.intervals import Interval, rate_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
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

    bins: tuple[Bin, ...]
    error: float | None
    brier: float | None


def reliability(values: NDArray[Any], positive: NDArray[Any], sign: int) -> Reliability:
    """Equal values stay in one bin; values that fall as label 1 grows likelier are read as 1 − value."""
    import numpy as np

    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
    place = np.searchsorted(edges, values, side="right")
    bins: list[Bin] = []
    for n in np.unique(place):
        inside = place == n
        own, hits, count = values[inside], int(positive[inside].sum()), int(inside.sum())
        bins.append(
            Bin(
                float(own.min()),
                float(own.max()),
                count,
                float(own.mean()),
                hits / count,
                rate_interval(hits, count),
            )
        )
    if values.min() < 0 or values.max() > 1:
        return Reliability(tuple(bins), None, None)
    chance = values if sign > 0 else 1 - values
    gaps = [b.n * abs((b.mean_value if sign > 0 else 1 - b.mean_value) - b.share) for b in bins]
    return Reliability(tuple(bins), float(sum(gaps) / len(values)), float(np.mean((chance - positive) ** 2)))
