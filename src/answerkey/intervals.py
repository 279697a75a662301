"""95 % intervals: how far a figure could move with other cases of the same kind.

Means: percentile bootstrap with a fixed seed up to 2,000 values, Student's t above. Rates: Wilson. Means and rates of
dependent cases: studentised bootstrap over clusters. The same numbers in the same order always give the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from answerkey.distributions import normal_cdf, t_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    NumberArray = NDArray[Any]

LEVEL = 0.95
DRAWS = 10_000
SEED = 20_240_101
BOOTSTRAP_LIMIT = 2_000
_Z = 1.959963984540054  # the 97.5 % point of the normal distribution
_NUMBERS_AT_ONCE = 1_000_000  # keeps a bootstrap of any size within some 20 MB

Method = Literal["bootstrap", "t", "wilson", "cluster bootstrap", "cluster t"]


class Interval(NamedTuple):
    """A 95 % interval, and the method it was computed with."""

    low: float
    high: float
    method: Method


def mean_interval(values: Iterable[float]) -> Interval | None:
    """Interval of the mean; None for fewer than two values, whose spread is unknown."""
    import numpy as np

    numbers = np.asarray(values if hasattr(values, "__len__") else list(values), dtype=np.float64)
    if numbers.size < 2:
        return None
    if numbers.size > BOOTSTRAP_LIMIT:
        return interval_from_moments(
            numbers.size, float(numbers.mean()), float(numbers.std(ddof=1))
        )
    if np.ptp(numbers) == 0.0:  # the mean of equal floats can be off by a rounding
        return Interval(float(numbers[0]), float(numbers[0]), "bootstrap")
    return _bootstrap_interval(numbers.tobytes())


@lru_cache(maxsize=256)  # a summary is made before the gates are known, and again with them
def _bootstrap_interval(numbers: bytes) -> Interval:
    import numpy as np

    values = np.frombuffer(numbers)
    random, means = np.random.default_rng(SEED), np.empty(DRAWS)
    at_once = max(1, _NUMBERS_AT_ONCE // values.size)
    for start in range(0, DRAWS, at_once):  # means of samples with replacement
        rows = min(at_once, DRAWS - start)
        picked = random.integers(0, values.size, size=(rows, values.size))
        means[start : start + rows] = values.take(picked).mean(axis=1)
    low, high = np.percentile(means, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return Interval(float(low), float(high), "bootstrap")


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
    z, rate = _Z, successes / n
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return Interval(low, high, "wilson")


def cluster_interval(
    counts: Sequence[float], sums: Sequence[float], *, rate: bool = False
) -> Interval | None:
    """Interval of Σ sums / Σ counts, where each cluster has `counts` dependent values that add up to `sums`.

    A `rate` stays within 0..1. None for fewer than two clusters.

    >>> cluster_interval([2, 2, 2, 2], [2, 0, 2, 0], rate=True).low
    0.0
    """
    import numpy as np

    sizes, totals = np.asarray(counts, dtype=np.float64), np.asarray(sums, dtype=np.float64)
    groups = sizes.size
    if groups < 2:
        return None
    mean = float(totals.sum() / sizes.sum())
    if rate and mean in (0.0, 1.0):
        return rate_interval(round(mean * groups), groups)
    error = cluster_error(sizes, totals - mean * sizes)
    if error <= 1e-12 * max(1.0, abs(mean)):
        return Interval(mean, mean, "cluster bootstrap")
    critical = float(t_quantile(groups - 1, (1 + LEVEL) / 2))
    if groups > BOOTSTRAP_LIMIT:
        low, high, method = mean - critical * error, mean + critical * error, "cluster t"
    else:
        means, errors = _resampled_clusters(sizes, totals)
        method = "cluster bootstrap"
        if (
            np.mean(errors == 0.0) > 0.01
        ):  # too few clusters differ to studentise: widened percentiles
            tail = 100 * float(normal_cdf(-math.sqrt(groups / (groups - 1)) * critical))
            low, high = (float(end) for end in np.percentile(means, [tail, 100 - tail]))
        else:
            spread = (means - mean)[errors > 0] / errors[errors > 0]
            least, most = np.percentile(spread, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
            low, high = mean - float(most) * error, mean - float(least) * error
    return Interval(max(low, 0.0), min(high, 1.0), method) if rate else Interval(low, high, method)


def cluster_error(sizes: NumberArray, residuals: NumberArray) -> float:
    """The cluster-robust standard error of a mean, from the residuals summed per cluster."""
    groups = len(sizes)
    return math.sqrt(groups / (groups - 1) * float((residuals * residuals).sum())) / float(
        sizes.sum()
    )


def _resampled_clusters(sizes: NumberArray, totals: NumberArray) -> tuple[NumberArray, NumberArray]:
    """Means and standard errors of samples of clusters with replacement."""
    import numpy as np

    random, groups = np.random.default_rng(SEED), sizes.size
    means, errors = np.empty(DRAWS), np.empty(DRAWS)
    at_once = max(1, _NUMBERS_AT_ONCE // groups)
    for start in range(0, DRAWS, at_once):
        rows = slice(start, min(start + at_once, DRAWS))
        picked = random.integers(0, groups, size=(rows.stop - start, groups))
        size, total = sizes.take(picked), totals.take(picked)
        whole = size.sum(axis=1)
        means[rows] = total.sum(axis=1) / whole
        residuals = total - means[rows, None] * size
        errors[rows] = np.sqrt(groups / (groups - 1) * (residuals * residuals).sum(axis=1)) / whole
    errors[errors < 1e-12] = 0.0
    return means, errors


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """A pass rate corrected by human labels, with its 95 % interval; `labels` of the cases have one, `rest` have none.

    `more_to_halve` is how many more labels would make the interval half as wide; None if the cases are too few for that.
    """

    rate: float
    low: float
    high: float
    labels: int
    rest: int
    more_to_halve: int | None
    method: Literal["PPI++", "stratified labels", "labels"]


def ppi_rate(
    labels: Sequence[float], passed: Sequence[bool], rest: Sequence[bool]
) -> CorrectedRate | None:
    """The rate of right answers by prediction-powered inference (PPI++, Angelopoulos et al. 2023).

    `labels` are 1 (right) or 0 of a random sample of the cases, `passed` the verdicts of the same cases and `rest` those of
    the cases without a label. The better the verdicts agree with the labels, the more the rest narrows the interval.

    >>> ppi_rate([1, 0] * 20, [True, False] * 20, [True, False] * 200).rate
    0.5
    """
    import numpy as np

    n, others = len(labels), len(rest)
    if n < 2:
        return None
    truth, verdicts = np.asarray(labels, dtype=np.float64), np.asarray(passed, dtype=np.float64)
    if not others:
        interval = rate_interval(round(float(truth.sum())), n)
        assert interval is not None
        return CorrectedRate(float(truth.mean()), interval.low, interval.high, n, 0, None, "labels")
    unseen = np.asarray(rest, dtype=np.float64)
    covariance = float(((truth - truth.mean()) * (verdicts - verdicts.mean())).mean())
    spread = float(np.concatenate([verdicts, unseen]).var(ddof=1))
    power = _ppi_power(covariance, spread, n / others)
    rate = power * float(unseen.mean()) + float((truth - power * verdicts).mean())
    error = math.sqrt(
        power**2 * float(unseen.var()) / others + float((truth - power * verdicts).var()) / n
    )
    half, variance = _Z * error, float(truth.var())
    # The smallest number of further labels that halves the error, if labels and verdicts stay as they are.
    to_halve = others if variance / (n + others) <= error**2 / 4 else None
    for more in range(1, others):
        known, left = n + more, others - more
        power = _ppi_power(covariance, spread, known / left)
        residual = variance - 2 * power * covariance + power**2 * spread
        if power**2 * spread / left + residual / known <= error**2 / 4:
            to_halve = more
            break
    return CorrectedRate(rate, rate - half, rate + half, n, others, to_halve, "PPI++")


def _ppi_power(covariance: float, spread: float, ratio: float) -> float:
    """How far the verdicts are used, from 0 (not at all) to 1: the value with the smallest variance."""
    return min(max(covariance / ((1 + ratio) * spread), 0.0), 1.0) if spread else 0.0
