"""The distributions that intervals and tests need, for single numbers.

Written by hand because scipy would add 114 MB; the tests compare them with scipy's to 9 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SMALLEST = 1e-300
_MOST_STEPS = 100_000  # of the continued fraction; some hundreds are usual
normal_quantile = NormalDist().inv_cdf


def normal_cdf(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def t_cdf(freedom: float, t: float) -> float:
    """Student's t."""
    if not math.isfinite(t):
        return float(t > 0)
    tail = beta_cdf(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2
    if t > 0:
        return 1 - tail
    return tail


@lru_cache(maxsize=1024)
def t_quantile(freedom: float, p: float) -> float:
    """The t below which Student's t lies with probability p."""
    if p < 0.5:
        return -t_quantile(freedom, 1 - p)
    # With 1 or 2 degrees of freedom there is a formula, and Newton's steps would be slow.
    share = 2 * p - 1
    if freedom == 1:
        return math.tan(math.pi * share / 2)
    if freedom == 2:
        return share * math.sqrt(2 / (1 - share * share))
    log_peak = (
        math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    )
    t = normal_quantile(p)
    # Newton's steps; from the left they never pass the root.
    for _ in range(200):
        density = math.exp(log_peak - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = (p - t_cdf(freedom, t)) / density
        t = max(t + step, 0.0)
        if abs(step) <= 1e-14 * t:
            break
    return t


def binomial_cdf(k: int, n: int, p: float) -> float:
    """The probability of at most k successes in n."""
    if k < 0:
        return 0.0
    if k >= n:
        return 1.0
    return beta_cdf(n - k, k + 1, 1 - p)


def sign_test_p(wins: int, losses: int) -> float:
    """Two-sided p of the exact sign test: 1 if nothing was won or lost."""
    return min(1.0, 2 * binomial_cdf(min(wins, losses), wins + losses, 0.5))


def chi2_tail(freedom: int, x: float) -> float:
    """Chi-squared above x, for a whole number of degrees of freedom."""
    if x <= 0:
        return 1.0
    half = x / 2
    # A finite sum; odd and even degrees of freedom begin with different terms.
    if freedom % 2 == 0:
        total = 0.0
        term = math.exp(-half)
        first = 1.0
    else:
        total = math.erfc(math.sqrt(half))
        term = 2 * math.sqrt(half / math.pi) * math.exp(-half)
        first = 1.5
    for n in range(freedom // 2):
        total += term
        term *= half / (n + first)
    return min(total, 1.0)


def beta_cdf(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz's method)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(b, a, 1 - x)
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    c = 1.0
    d = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _MOST_STEPS):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _not_zero(1 + numerator * d)
            c = _not_zero(1 + numerator / c)
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return math.exp(log_front) * fraction / a


@lru_cache(maxsize=256)  # most metrics of two runs have the same number of cases
def noncentrality(freedom: int, p: float, t: float) -> float:
    """The noncentrality for which the noncentral t lies below t with probability p."""
    import numpy as np

    # P(T < t) is the mean of Φ(t·s − δ) over s, the root of a chi-squared over its degrees of freedom.
    # Gauss–Legendre on ten pieces: few nodes are found quickly.
    nodes, weights = np.polynomial.legendre.leggauss(20)
    lowest = max(0.0, 1 - 9 / math.sqrt(2 * freedom))
    highest = 1 + 12 / math.sqrt(2 * freedom)
    piece = (highest - lowest) / 10
    places = lowest + piece * (np.arange(10)[:, None] + (nodes + 1) / 2)
    scales: list[float] = places.ravel().tolist()
    log_front = math.log(2) + freedom / 2 * math.log(freedom / 2) - math.lgamma(freedom / 2)
    shares = [
        weight * piece / 2 * math.exp(log_front + (freedom - 1) * math.log(s) - freedom * s * s / 2)
        for weight, s in zip(weights.tolist() * 10, scales, strict=True)
    ]

    def below(delta: float) -> float:
        return sum(
            share * normal_cdf(t * s - delta) for share, s in zip(shares, scales, strict=True)
        )

    return _falling_root(below, p, t)


def _falling_root(function: Callable[[float], float], value: float, near: float) -> float:
    """The place at which a falling function takes the value, by bisection."""
    low = near - 1
    high = near + 1
    while function(low) < value:
        low -= high - low
    while function(high) > value:
        high += high - low
    for _ in range(80):
        middle = (low + high) / 2
        if middle in (low, high):  # there is no number between them
            break
        if function(middle) > value:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def average_ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs."""
    import numpy as np

    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[which]


def _not_zero(value: float) -> float:
    if abs(value) > _SMALLEST:
        return value
    return _SMALLEST
