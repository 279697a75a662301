"""95 % intervals: how far a figure could move if the cases had been others of the same kind.

Means: percentile bootstrap with a fixed seed up to 2,000 values, Student's t above. Rates: Wilson.
The same numbers in the same order always give the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVEL = 0.95
DRAWS = 10_000
SEED = 20_240_101
BOOTSTRAP_LIMIT = 2_000
_NUMBERS_AT_ONCE = 1_000_000  # keeps a bootstrap of any size within some 20 MB

Method = Literal["bootstrap", "t", "wilson"]


class Interval(NamedTuple):
    """A 95 % interval, and how it was made."""

    low: float
    high: float
    method: Method


def mean_interval(values: Iterable[float]) -> Interval | None:
    """Interval of the mean; None for fewer than two values, which say nothing of their spread."""
    import numpy as np

    numbers = np.asarray(values if hasattr(values, "__len__") else list(values), dtype=np.float64)
    if numbers.size < 2:
        return None
    if numbers.size > BOOTSTRAP_LIMIT:
        return interval_from_moments(numbers.size, float(numbers.mean()), float(numbers.std(ddof=1)))
    if np.ptp(numbers) == 0.0:  # the mean of equal floats can be off by a rounding
        return Interval(float(numbers[0]), float(numbers[0]), "bootstrap")
    low, high = np.percentile(bootstrap_means(numbers), [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return Interval(float(low), float(high), "bootstrap")


def bootstrap_means(numbers: NDArray[Any], draws: int = DRAWS, seed: int = SEED) -> NDArray[Any]:
    """Means of `draws` samples with replacement, each as large as `numbers`."""
    import numpy as np

    random = np.random.default_rng(seed)
    means = np.empty(draws)
    at_once = max(1, _NUMBERS_AT_ONCE // numbers.size)
    for start in range(0, draws, at_once):
        rows = min(at_once, draws - start)
        picked = random.integers(0, numbers.size, size=(rows, numbers.size))
        means[start : start + rows] = numbers.take(picked).mean(axis=1)
    return means


def interval_from_moments(n: int, mean: float, sd: float) -> Interval | None:
    """Student's t interval from the size, mean and sample standard deviation (ddof = 1) alone."""
    if n < 2:
        return None
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * sd / math.sqrt(n)
    return Interval(mean - half, mean + half, "t")


def rate_interval(successes: int, n: int) -> Interval | None:
    """Wilson's interval of a rate, always within 0..1; None where nothing was counted."""
    if n < 1:
        return None
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    z = 1.959963984540054  # the 97.5 % point of the normal distribution
    rate = successes / n
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return Interval(low, high, "wilson")
