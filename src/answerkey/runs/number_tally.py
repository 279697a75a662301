"""A running tally of numbers that stays small and can be merged, with the same result however the numbers were split."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from answerkey.intervals import (
    BOOTSTRAP_LIMIT,
    Interval,
    cluster_interval,
    interval_from_moments,
    mean_interval,
)
from answerkey.types import LARGEST

_UNIT = 2.0**60  # sums are whole numbers of 2⁻⁶⁰, and of their squares: exact in any order
_GROWTH = math.log(1.01)  # quantiles of many values come from bins 1 % wide


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its denominator: `n` values `of` that many cases, a 95 % interval and the spread."""

    mean: float | None
    n: int
    of: int
    ci95: tuple[float, float] | None
    ci95_method: str | None
    sd: float | None
    min: float | None
    max: float | None


class NumberTally(msgspec.Struct, omit_defaults=True):
    """Count, exact sum, extremes and quantiles of a stream of numbers. Up to 2,000 values are kept, for the bootstrap
    and exact quantiles; above that, moments and logarithmic bins replace them."""

    count: int = 0
    sum: int = 0
    squares: int = msgspec.field(default=0, name="squared")
    low: float = math.inf
    high: float = -math.inf
    values: list[float] | None = msgspec.field(default_factory=list[float])
    bins: Counter[int] = msgspec.field(default_factory=Counter[int])
    clusters: dict[
        str, tuple[int, int, int]
    ] = {}  # cluster → count, sum and sum of squares of its values
    alone: list[float] | None = None  # once there are clusters: the values of cases without one
    rounded_squares: int = msgspec.field(
        default=0, name="squares"
    )  # only in old files: truncated to units of 2⁻⁶⁰

    def __post_init__(self) -> None:
        if self.bins:
            self.values = None
        self.squares += self.rounded_squares << 60
        self.rounded_squares = 0

    def add(self, value: float, cluster: str | None = None) -> None:
        """Add a value; those of one `cluster` depend on each other."""
        if not -LARGEST <= value <= LARGEST:  # no score is that large; a reported time may be
            value = math.copysign(LARGEST, value)
        whole = int(value * _UNIT)
        if cluster is not None:
            self._separate()
            count, total, squares = self.clusters.get(cluster, (0, 0, 0))
            self.clusters[cluster] = count + 1, total + whole, squares + whole * whole
        elif self.clusters and self.alone is not None:
            self.alone.append(value)
        self.count += 1
        self.sum += whole
        self.squares += whole * whole
        if value < self.low:
            self.low = value
        if value > self.high:
            self.high = value
        if self.values is None:
            self.bins[_bin(value)] += 1
        else:
            self.values.append(value)
            if self.count > BOOTSTRAP_LIMIT:
                self._drop_values()

    def extend(self, values: Sequence[float]) -> None:
        """Add values that do not depend on each other."""
        if self.clusters or not values or not -LARGEST <= min(values) <= max(values) <= LARGEST:
            for value in values:
                self.add(value)
            return
        wholes = [int(value * _UNIT) for value in values]
        self.count += len(wholes)
        self.sum += sum(wholes)
        self.squares += sum([whole * whole for whole in wholes])
        self.low, self.high = min(self.low, *values), max(self.high, *values)
        if self.values is not None and self.count <= BOOTSTRAP_LIMIT:
            self.values.extend(values)
        else:
            self._drop_values()
            self.bins.update(map(_bin, values))

    def _separate(self) -> None:
        """Before the first clustered value: all others are of cases that stand alone."""
        if not self.clusters:
            self.alone = None if self.values is None else list(self.values)

    def merge(self, other: NumberTally) -> None:
        if self.clusters or other.clusters:
            self._separate()
            alone = other.alone if other.clusters else other.values
            self.alone = None if self.alone is None or alone is None else self.alone + alone
            for cluster, (count, total, squares) in other.clusters.items():
                mine = self.clusters.get(cluster, (0, 0, 0))
                self.clusters[cluster] = mine[0] + count, mine[1] + total, mine[2] + squares
        self.count += other.count
        self.sum += other.sum
        self.squares += other.squares
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        if self.values is not None and other.values is not None and self.count <= BOOTSTRAP_LIMIT:
            self.values.extend(other.values)
        else:
            self._drop_values()
            self.bins.update(other.bins if other.values is None else map(_bin, other.values))

    def _drop_values(self) -> None:
        if self.values is not None:
            self.bins.update(map(_bin, self.values))
            self.values = None

    @property
    def mean(self) -> float | None:
        return self.sum / self.count / _UNIT if self.count else None

    @property
    def deviation(self) -> float | None:
        """The sample's standard deviation; None for fewer than two values."""
        if self.count < 2:
            return None
        # Whole numbers: the difference is exact, however large the mean.
        spread = self.count * self.squares - self.sum * self.sum
        return math.sqrt(max(spread, 0) / (self.count * (self.count - 1))) / _UNIT

    def quantile(self, share: float) -> float | None:
        """Exact up to 2,000 values, within 1 % above."""
        if not self.count:
            return None
        rank, seen = share * (self.count - 1), 0
        if self.values is not None:
            ordered, below = sorted(self.values), math.floor(rank)
            above = min(below + 1, len(ordered) - 1)
            return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)
        for key in sorted(self.bins):
            seen += self.bins[key]
            if seen > rank:
                size = 1e-9 * math.exp((abs(key) - 0.5) * _GROWTH) if key else 0.0
                return min(max(math.copysign(size, key), self.low), self.high)
        return self.high

    def _interval(self) -> Interval | None:
        mean = self.mean or 0.0
        if not self.clusters:
            if self.values is not None:
                return mean_interval(sorted(self.values))
            return interval_from_moments(self.count, mean, self.deviation or 0.0)
        counts, sums, squares = zip(
            *(self.clusters[name] for name in sorted(self.clusters)), strict=True
        )
        totals = [total / _UNIT for total in sums]
        if self.alone is not None:
            return cluster_interval(
                [*counts, *[1] * len(self.alone)], [*totals, *sorted(self.alone)]
            )
        # More than 2,000 cases stand alone: the same error from their moments.
        alone, total = self.count - sum(counts), (self.sum - sum(sums)) / _UNIT
        spread = (self.squares - sum(squares)) / _UNIT**2 - 2 * mean * total + alone * mean * mean
        spread += sum((each - mean * n) ** 2 for n, each in zip(counts, totals, strict=True))
        groups = alone + len(counts)
        return interval_from_moments(
            groups, mean, math.sqrt(groups * groups / (groups - 1) * spread) / self.count
        )

    def figure(self, out_of: int | None = None) -> Mean:
        """The mean with its 95 % interval; `out_of` is the number of cases, by default the number of values."""
        interval, of = self._interval(), self.count if out_of is None else out_of
        ends, method = (
            ((interval.low, interval.high), interval.method) if interval else (None, None)
        )
        low, high = (self.low, self.high) if self.count else (None, None)
        return Mean(self.mean, self.count, of, ends, method, self.deviation, low, high)


@lru_cache(maxsize=4096)
def _bin(value: float) -> int:
    """Bins of equal ratio on both sides of zero; negative keys for negative values."""
    if abs(value) < 1e-9:
        return 0
    key = math.floor(math.log(abs(value) / 1e-9) / _GROWTH) + 1
    return key if value > 0 else -key
