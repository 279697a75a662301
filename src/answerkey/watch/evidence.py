"""Evidence that the mean of a series dropped below that of the baseline, valid at any time.

For every possible start of a change the evidence is the likelihood of the answers since then under
a drop, divided by their likelihood under the mean that is known so far. Under no change each of
these ratios is a martingale that starts at 1, and so is their weighted sum: it ever reaches 1/α in
at most a share α of all lives (Ville 1939), however often one looks. Values between 0 and 1 count
as fractions of a success, for which the ratio has the same mean (Waudby-Smith and Ramdas 2024).

The mean of the baseline is not known exactly. As in a Bayesian two-sample test, the answers of the
baseline and all later ones estimate it together; benchmarks/watch.py measures the false alarms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

ALPHA = 0.05  # share of lives without a change that may ever alarm
# The evidence that alarms, summed over all series with their shares of the error budget. Ville's
# bound for it is 10 %, which only a sum that never jumps past the limit would use up: of simulated
# lives 2.2 to 5.5 % reach it (benchmarks/watch.py --simulate).
LIMIT = 10.0
# Drops in points of the scale, with their weights: one that is worth an alarm, and a large one,
# which is found sooner when it is looked for.
_DROPS = ((0.10, 0.7), (0.22, 0.3))
_SPACING = 50  # answers between possible starts of a change; a finer grid was not faster
_MOST_STARTS = 40  # the best ones are kept, so that a state does not grow for ever
_LARGEST_LOG = 700.0  # of which exp is a float
_LEAST = 0.01  # a mean of exactly 0 or 1 would make one other answer impossible


class Start(msgspec.Struct, array_like=True):
    """A possible start of a change: its weight, and the counts of the series at that time.

    `logs` is the log evidence of values between 0 and 1; that of zeros and ones follows from their
    counts, so that a value costs the same however many starts there are.
    """

    after: int
    weight: float
    means: list[float]
    logs: list[float]
    ones: int
    zeros: int
    null_log: float


class ChangeEvidence(msgspec.Struct):
    """The evidence of one series; all values are between 0 and 1, and a drop is what is looked for.

    >>> series = ChangeEvidence.against(total=90.0, count=100)
    >>> series.add([0.0] * 12)
    >>> series.value > 20
    True
    """

    baseline_total: float
    baseline_count: int
    total: float = 0.0
    count: int = 0
    ones: int = 0
    zeros: int = 0
    null_log: float = 0.0  # log likelihood of the zeros and ones without a change
    starts: list[Start] = []

    @classmethod
    def against(cls, total: float, count: int) -> ChangeEvidence:
        """The evidence before the first answer, for a baseline with this sum over `count` values."""
        return cls(baseline_total=total, baseline_count=count)

    @property
    def expected_mean(self) -> float:
        """The mean of the baseline and of all answers so far, slightly towards one half."""
        total = self.baseline_total + self.total + 0.5
        return _inside(total / (self.baseline_count + self.count + 1))

    @property
    def mean(self) -> float | None:
        """The mean of the answers; None before the first one."""
        if self.count:
            return self.total / self.count
        return None

    @property
    def value(self) -> float:
        """The evidence of a change: 1 is none, `LIMIT` is an alarm."""
        return sum(self._evidence_since(start) for start in self.starts)

    @property
    def likely_start(self) -> int | None:
        """The number of answers after which the change most likely happened."""
        if not self.starts:
            return None
        return max(self.starts, key=self._evidence_since).after

    def add(self, values: Iterable[float]) -> None:
        """Count further answers, in order."""
        for value in values:
            if self.count % _SPACING == 0:
                self._open_start()
            self._count_value(min(max(value, 0.0), 1.0))

    def _open_start(self) -> None:
        number = self.count // _SPACING
        expected = self.expected_mean
        # The weights 1/2, 1/6, 1/12, … of all possible starts sum to 1.
        weight = 1 / ((number + 1) * (number + 2))
        means = [_inside(expected - drop) for drop, _ in _DROPS]
        logs = [0.0] * len(_DROPS)
        start = Start(self.count, weight, means, logs, self.ones, self.zeros, self.null_log)
        self.starts.append(start)
        if len(self.starts) > _MOST_STARTS:
            self.starts.remove(min(self.starts[:-1], key=self._evidence_since))

    def _count_value(self, value: float) -> None:
        expected = self.expected_mean
        if value == 1.0:
            self.ones += 1
            self.null_log += math.log(expected)
        elif value == 0.0:
            self.zeros += 1
            self.null_log += math.log(1 - expected)
        else:
            for start in self.starts:
                for number, mean in enumerate(start.means):
                    ratio = value * mean / expected + (1 - value) * (1 - mean) / (1 - expected)
                    start.logs[number] += math.log(ratio)
        self.total += value
        self.count += 1

    def _evidence_since(self, start: Start) -> float:
        ones = self.ones - start.ones
        zeros = self.zeros - start.zeros
        null_log = self.null_log - start.null_log
        evidence = 0.0
        for (_, share), mean, log in zip(_DROPS, start.means, start.logs, strict=True):
            total = log + ones * math.log(mean) + zeros * math.log(1 - mean) - null_log
            evidence += share * math.exp(min(total, _LARGEST_LOG))
        return start.weight * evidence


def _inside(mean: float) -> float:
    return min(max(mean, _LEAST), 1 - _LEAST)
