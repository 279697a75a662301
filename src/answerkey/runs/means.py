"""Means, rates and quantiles of some cases, each with its denominator and 95 % interval.

Sums are exact (`math.fsum`), so the same cases give the same figures in any order and however they
were split over shards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from answerkey.intervals import Interval, cluster_interval, mean_interval, rate_interval
from answerkey.types import LARGEST

if TYPE_CHECKING:
    from answerkey.intervals import NumberArray


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its denominator: `n` values `of` that many cases, its interval and the spread."""

    mean: float | None
    n: int
    of: int
    ci95: tuple[float, float] | None
    ci95_method: str | None
    sd: float | None
    min: float | None
    max: float | None


def mean_of(
    values: NumberArray, of: int, clusters: Sequence[str | None] | NumberArray | None = None
) -> Mean:
    """The mean of these values; `clusters` has the cluster of each value, None for one on its own."""
    import numpy as np

    # No score is that large, but a time that a target reports may be: its square must be a float.
    numbers = np.clip(values, -LARGEST, LARGEST)
    count = len(numbers)
    if count == 0:
        return Mean(None, 0, of, None, None, None, None, None)
    mean = math.fsum(numbers) / count
    interval = _mean_interval(numbers, clusters)
    ends = None
    method = None
    if interval is not None:
        ends = (interval.low, interval.high)
        method = interval.method
    lowest = float(numbers.min())
    highest = float(numbers.max())
    return Mean(mean, count, of, ends, method, _deviation(numbers, mean), lowest, highest)


def plain_mean(values: NumberArray) -> float | None:
    """The mean of the values that are not NaN, without an interval; None without values."""
    import numpy as np

    numbers = np.clip(values[~np.isnan(values)], -LARGEST, LARGEST)
    if len(numbers):
        return math.fsum(numbers) / len(numbers)
    return None


def _deviation(numbers: NumberArray, mean: float) -> float | None:
    """The sample's standard deviation; None for fewer than two values."""
    if len(numbers) < 2:
        return None
    return math.sqrt(math.fsum((numbers - mean) ** 2) / (len(numbers) - 1))


def _mean_interval(
    numbers: NumberArray, clusters: Sequence[str | None] | NumberArray | None
) -> Interval | None:
    import numpy as np

    # Sorted: the bootstrap draws by place, and the order of the cases must not matter.
    if clusters is None or all(name is None for name in clusters):
        return mean_interval(np.sort(numbers))
    members: dict[str, list[float]] = {}
    alone: list[float] = []
    for value, name in zip(numbers.tolist(), clusters, strict=True):
        if name is None:
            alone.append(value)
        else:
            members.setdefault(name, []).append(value)
    # Sorted by name: the bootstrap draws clusters by place.
    groups = [members[name] for name in sorted(members)]
    counts = [len(group) for group in groups] + [1] * len(alone)
    sums = [math.fsum(group) for group in groups] + sorted(alone)
    return cluster_interval(counts, sums)


def interval_of_rate(
    hits: NumberArray, among: NumberArray, clusters: NumberArray | None
) -> Interval | None:
    """The interval of the share of `hits` among the cases `among`; both are yes or no per case."""
    successes = int((hits & among).sum())
    total = int(among.sum())
    if clusters is None:
        return rate_interval(successes, total)
    counts: dict[str, int] = {}
    met: dict[str, int] = {}
    hits_alone = 0
    alone = 0
    for name, hit, counted in zip(clusters, hits.tolist(), among.tolist(), strict=True):
        if not counted:
            continue
        if name is None:
            alone += 1
            hits_alone += hit
        else:
            counts[name] = counts.get(name, 0) + 1
            met[name] = met.get(name, 0) + hit
    names = sorted(counts)
    sizes = [counts[name] for name in names] + [1] * alone
    sums = [met[name] for name in names] + [1] * hits_alone + [0] * (alone - hits_alone)
    return cluster_interval(sizes, sums, rate=True)


def quantile_of(values: NumberArray, share: float) -> float | None:
    """The quantile by linear interpolation; None without values."""
    import numpy as np

    if not len(values):
        return None
    return float(np.quantile(np.clip(values, -LARGEST, LARGEST), share))
