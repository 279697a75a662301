"""The pass rate of a run corrected by human labels of some of its cases.

The estimate is that of prediction-powered inference (PPI++, Angelopoulos et al. 2023). Its usual
interval takes the observed spread for the true one, which is zero when the few labels all agree with
the verdicts. So the interval is the wider of PPI++'s and a score-type one: Wilson's interval of the
share of right answers among the passed and among the failed cases, combined by MOVER (Donner and Zou
2012). It stays within 0..1. `benchmarks/coverage.py` prints its coverage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from answerkey.intervals import Z, rate_interval, wilson_ends

if TYPE_CHECKING:
    from answerkey.intervals import NumberArray

# With fewer labels even an honest interval says little, and a report says so.
ENOUGH_LABELS = 20


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """A pass rate corrected by human labels, with its 95 % interval.

    `labels` cases have a label and `rest` have none. `more_to_halve` is the number of further labels
    that would make the interval half as wide; None if the cases are too few for that.
    """

    rate: float
    low: float
    high: float
    labels: int
    rest: int
    more_to_halve: int | None
    method: Literal["PPI++", "stratified labels", "labels"]

    @property
    def has_too_few_labels(self) -> bool:
        return self.rest > 0 and self.labels < ENOUGH_LABELS


def ppi_rate(
    labels: Sequence[float], passed: Sequence[bool], rest: Sequence[bool]
) -> CorrectedRate | None:
    """The rate of right answers by prediction-powered inference.

    `labels` are 1 (right) or 0 for a random sample of the cases, `passed` are the verdicts on the
    same cases and `rest` those on the cases without a label. The better the verdicts agree with the
    labels, the more the rest narrows the interval.

    >>> ppi_rate([1, 0] * 20, [True, False] * 20, [True, False] * 200).rate
    0.5
    """
    import numpy as np

    if len(labels) < 2:
        return None
    truth = np.asarray(labels, dtype=np.float64)
    if not len(rest):
        interval = rate_interval(round(float(truth.sum())), len(labels))
        assert interval is not None
        rate = float(truth.mean())
        return CorrectedRate(rate, interval.low, interval.high, len(labels), 0, None, "labels")
    sample = _Sample(
        truth, np.asarray(passed, dtype=np.float64), np.asarray(rest, dtype=np.float64)
    )
    plain = sample.estimate()
    low, high = _combine_sides(labels, passed, rest)
    rate = min(max(plain.rate, 0.0), 1.0)
    return replace(
        plain,
        rate=rate,
        low=max(min(plain.low, low, rate), 0.0),
        high=min(max(plain.high, high, rate), 1.0),
    )


class _Sample:
    """Labels, the verdicts on the same cases, and the verdicts on the rest."""

    def __init__(self, truth: NumberArray, verdicts: NumberArray, rest: NumberArray) -> None:
        import numpy as np

        self.truth = truth
        self.verdicts = verdicts
        self.rest = rest
        self.covariance = float(((truth - truth.mean()) * (verdicts - verdicts.mean())).mean())
        self.spread = float(np.concatenate([verdicts, rest]).var(ddof=1))

    def power(self, labels: int, others: int) -> float:
        """How far the verdicts are used, from 0 to 1: the value with the smallest variance."""
        if not self.spread:
            return 0.0
        best = self.covariance / ((1 + labels / others) * self.spread)
        return min(max(best, 0.0), 1.0)

    def estimate(self) -> CorrectedRate:
        """The estimate of PPI++ with its normal interval."""
        n = len(self.truth)
        others = len(self.rest)
        power = self.power(n, others)
        residuals = self.truth - power * self.verdicts
        rate = power * float(self.rest.mean()) + float(residuals.mean())
        variance = power**2 * float(self.rest.var()) / others + float(residuals.var()) / n
        half = Z * math.sqrt(variance)
        more = self.labels_to_halve(variance)
        return CorrectedRate(rate, rate - half, rate + half, n, others, more, "PPI++")

    def labels_to_halve(self, variance: float) -> int | None:
        """The smallest number of further labels that halves the error, if these stay typical."""
        n = len(self.truth)
        others = len(self.rest)
        own = float(self.truth.var())
        for more in range(1, others):
            labels = n + more
            left = others - more
            power = self.power(labels, left)
            residual = own - 2 * power * self.covariance + power**2 * self.spread
            if power**2 * self.spread / left + residual / labels <= variance / 4:
                return more
        if own / (n + others) <= variance / 4:
            return others
        return None


def _combine_sides(
    labels: Sequence[float], passed: Sequence[bool], rest: Sequence[bool]
) -> tuple[float, float]:
    """Wilson's intervals of passed and failed cases, weighted by their shares and combined."""
    cases = len(passed) + len(rest)
    share = (sum(passed) + sum(rest)) / cases
    rates: list[float] = []
    below = 0.0
    above = 0.0
    for side, weight in ((True, share), (False, 1 - share)):
        own = [label for label, verdict in zip(labels, passed, strict=True) if verdict is side]
        if own:
            rate = sum(own) / len(own)
            low, high = wilson_ends(rate, len(own))
        else:
            rate = float(side)  # nobody has looked: the verdict is all there is
            low = 0.0
            high = 1.0
        rates.append(rate)
        below += (weight * (rate - low)) ** 2
        above += (weight * (high - rate)) ** 2
    # The share of passed cases is itself that of a sample.
    sampling = Z * Z * (rates[0] - rates[1]) ** 2 * share * (1 - share) / cases
    middle = share * rates[0] + (1 - share) * rates[1]
    return middle - math.sqrt(below + sampling), middle + math.sqrt(above + sampling)
