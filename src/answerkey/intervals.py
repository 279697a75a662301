"""95 % intervals: how far a figure could move with other cases of the same kind.

Rates and metrics whose values are all 0 or 1: Wilson. Other means: studentised bootstrap with a
fixed seed up to 200 values, Student's t above. If half of the values are nearly equal, Student's t
of the values with both ends of the scale added, because the values that are rare have hardly been
seen. Dependent cases: studentised bootstrap over clusters. The same numbers in the same order always
give the same interval. `benchmarks/coverage.py` prints how often each interval covers the truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from answerkey.distributions import normal_cdf, t_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    NumberArray = NDArray[Any]

LEVEL = 0.95
DRAWS = 10_000
SEED = 20_240_101
BOOTSTRAP_LIMIT = 2_000  # clusters; a run also keeps up to this many values of a metric
Z = 1.959963984540054  # the 97.5 % point of the normal distribution

# Student's t holds from here on even for skewed values: 0.947 for Beta(5, 0.5) with 200 values.
_STUDENTISED_UP_TO = 200
# With fewer clusters the studentised bootstrap alone covers too little (0.88 with 4 clusters).
_FEW_CLUSTERS = 10
_NUMBERS_AT_ONCE = 1_000_000  # keeps a bootstrap of any size within some 20 MB
_ENDS = [50 * (1 - LEVEL), 50 * (1 + LEVEL)]  # percentiles

Method = Literal[
    "studentised bootstrap",
    "t",
    "t with both ends of the scale",
    "wilson",
    "cluster bootstrap",
    "cluster t",
]


class Interval(NamedTuple):
    """A 95 % interval, and the method it was computed with."""

    low: float
    high: float
    method: Method


def mean_interval(
    values: Iterable[float], low: float | None = None, high: float | None = None
) -> Interval | None:
    """Interval of the mean; None for fewer than two values, whose spread is unknown.

    `low` and `high` are the ends of the scale. By default the scale is 0 to 1, or as far as the
    values reach beyond that.

    >>> mean_interval([1.0] * 20).low  # 20 of 20 right: Wilson
    0.8388747419779664
    """
    import numpy as np

    numbers = np.asarray(values if hasattr(values, "__len__") else list(values), dtype=np.float64)
    if numbers.size < 2:
        return None
    is_unit_scale = low in (None, 0) and high in (None, 1)
    if is_unit_scale and bool(np.all((numbers == 0.0) | (numbers == 1.0))):
        return rate_interval(int(numbers.sum()), numbers.size)
    if low is None:
        low = min(float(numbers.min()), 0.0)
    if high is None:
        high = max(float(numbers.max()), 1.0)
    if _is_mostly_equal(numbers, high - low):
        return _widened_t(numbers, low, high)
    if numbers.size <= _STUDENTISED_UP_TO:
        # One outlier can throw the bootstrap far out; the widened t is wide enough for any sample.
        widest = _widened_t(numbers, low, high)
        return _cut_to_scale(_studentised_interval(numbers.tobytes()), widest.low, widest.high)
    interval = interval_from_moments(
        numbers.size, float(numbers.mean()), float(numbers.std(ddof=1))
    )
    assert interval is not None  # there are more than two values
    return _cut_to_scale(interval, low, high)


def _is_mostly_equal(numbers: NumberArray, scale: float) -> bool:
    """Whether half of the values are the same, or lie within a twentieth of the scale."""
    import numpy as np

    ordered = np.sort(numbers)
    # A value that makes up half of a sample is its median.
    middle = ordered[[(ordered.size - 1) // 2, ordered.size // 2]]
    most = max(int(np.sum(numbers == value)) for value in middle)
    if 2 * most >= numbers.size:
        return True
    quarters = np.percentile(ordered, [25, 75])
    return bool(quarters[1] - quarters[0] <= scale / 20)


def _widened_t(numbers: NumberArray, low: float, high: float) -> Interval:
    """Student's t with one more value at each end of the scale, as Agresti and Coull do for rates."""
    import numpy as np

    widened = np.append(numbers, [low, high])
    moments = interval_from_moments(widened.size, float(widened.mean()), float(widened.std(ddof=1)))
    assert moments is not None
    # The added values pull the mean to the middle of the scale; the figure itself stays inside.
    mean = float(numbers.mean())
    ends = (min(moments.low, mean), max(moments.high, mean))
    return _cut_to_scale(Interval(*ends, "t with both ends of the scale"), low, high)


def _cut_to_scale(interval: Interval, low: float, high: float) -> Interval:
    return interval._replace(low=max(interval.low, low), high=min(interval.high, high))


@lru_cache(maxsize=256)  # a summary is made before the gates are known, and again with them
def _studentised_interval(numbers: bytes) -> Interval:
    import numpy as np

    values = np.frombuffer(numbers)
    random = np.random.default_rng(SEED)
    picked = random.integers(0, values.size, size=(DRAWS, values.size))
    samples = values.take(picked)
    means = samples.mean(axis=1)
    deviations = samples.std(axis=1, ddof=1)
    # A sample that drew one value only has no spread; such samples are rare without equal values.
    usable = deviations > 1e-12 * float(np.abs(values).max())
    mean = float(values.mean())
    spread = (means[usable] - mean) / deviations[usable]
    least, most = np.percentile(spread, _ENDS)
    deviation = float(values.std(ddof=1))
    return Interval(
        mean - float(most) * deviation, mean - float(least) * deviation, "studentised bootstrap"
    )


def interval_from_moments(n: int, mean: float, sd: float) -> Interval | None:
    """Student's t interval from the size, mean and sample standard deviation (ddof = 1) alone."""
    if n < 2:
        return None
    half = float(t_quantile(n - 1, (1 + LEVEL) / 2)) * sd / math.sqrt(n)
    return Interval(mean - half, mean + half, "t")


def rate_interval(successes: int, n: int) -> Interval | None:
    """Wilson's interval of a rate, always within 0..1; None for no cases."""
    if n < 1:
        return None
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    low, high = wilson_ends(successes / n, n)
    return Interval(low, high, "wilson")


def wilson_ends(rate: float, n: float) -> tuple[float, float]:
    """The ends of Wilson's interval; `n` need not be a whole number."""
    middle = (rate + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(rate * (1 - rate) / n + Z * Z / (4 * n * n))
    # Without these two a rounding error would leave 0 and 1 just outside their own interval.
    if rate == 0.0:
        low = 0.0
    else:
        low = max(0.0, middle - half)
    if rate == 1.0:
        high = 1.0
    else:
        high = min(1.0, middle + half)
    return low, high


def cluster_interval(
    counts: Sequence[float], sums: Sequence[float], *, rate: bool = False
) -> Interval | None:
    """Interval of Σ sums / Σ counts; a cluster has `counts` dependent values that add up to `sums`.

    A `rate` stays within 0..1. None for fewer than two clusters.

    >>> cluster_interval([2, 2, 2, 2], [2, 0, 2, 0], rate=True).low
    0.0
    """
    import numpy as np

    sizes = np.asarray(counts, dtype=np.float64)
    totals = np.asarray(sums, dtype=np.float64)
    groups = sizes.size
    if groups < 2:
        return None
    mean = float(totals.sum() / sizes.sum())
    if rate and mean in (0.0, 1.0):
        return rate_interval(round(mean * groups), groups)
    error = cluster_error(sizes, totals - mean * sizes)
    if error <= 1e-12 * max(1.0, abs(mean)):
        # All clusters have the same mean: nothing is known about rare clusters that differ.
        return mean_interval([mean] * groups)
    critical = float(t_quantile(groups - 1, (1 + LEVEL) / 2))
    interval = Interval(mean - critical * error, mean + critical * error, "cluster t")
    if groups <= BOOTSTRAP_LIMIT:
        low, high = _bootstrap_clusters(sizes, totals, error)
        if groups < _FEW_CLUSTERS:
            low = min(low, interval.low)
            high = max(high, interval.high)
        interval = Interval(low, high, "cluster bootstrap")
    if rate:
        return _cut_to_scale(interval, 0.0, 1.0)
    return interval


def _bootstrap_clusters(
    sizes: NumberArray, totals: NumberArray, error: float
) -> tuple[float, float]:
    import numpy as np

    groups = sizes.size
    mean = float(totals.sum() / sizes.sum())
    means, errors = _resample_clusters(sizes, totals)
    if np.mean(errors == 0.0) > 0.01:
        # Too few clusters differ to studentise: percentiles, widened for the number of clusters.
        critical = float(t_quantile(groups - 1, (1 + LEVEL) / 2))
        tail = 100 * float(normal_cdf(-math.sqrt(groups / (groups - 1)) * critical))
        low, high = np.percentile(means, [tail, 100 - tail])
        return float(low), float(high)
    spread = (means - mean)[errors > 0] / errors[errors > 0]
    least, most = np.percentile(spread, _ENDS)
    return mean - float(most) * error, mean - float(least) * error


def cluster_error(sizes: NumberArray, residuals: NumberArray) -> float:
    """The cluster-robust standard error of a mean, from the residuals summed per cluster."""
    groups = len(sizes)
    squares = float((residuals * residuals).sum())
    return math.sqrt(groups / (groups - 1) * squares) / float(sizes.sum())


def _resample_clusters(sizes: NumberArray, totals: NumberArray) -> tuple[NumberArray, NumberArray]:
    """Means and standard errors of samples of clusters with replacement."""
    import numpy as np

    random = np.random.default_rng(SEED)
    groups = sizes.size
    means = np.empty(DRAWS)
    errors = np.empty(DRAWS)
    at_once = max(1, _NUMBERS_AT_ONCE // groups)
    for start in range(0, DRAWS, at_once):
        rows = slice(start, min(start + at_once, DRAWS))
        picked = random.integers(0, groups, size=(rows.stop - start, groups))
        size = sizes.take(picked)
        total = totals.take(picked)
        whole = size.sum(axis=1)
        means[rows] = total.sum(axis=1) / whole
        residuals = total - means[rows, None] * size
        errors[rows] = np.sqrt(groups / (groups - 1) * (residuals * residuals).sum(axis=1)) / whole
    errors[errors < 1e-12] = 0.0
    return means, errors
