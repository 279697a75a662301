"""Evidence that the mean of a series dropped below that of the baseline, valid at any time.

The evidence is the fortune of a gambler who starts with 1 and bets that the bot got worse. A part
of the fortune waits for each possible start of a change. From then on each answer multiplies it by
the answer's likelihood under a drop, divided by its likelihood under the mean known so far. Such a
game is fair while nothing changes, so the fortune ever reaches 1/α in at most a share α of all
lives (Ville 1939), however often one looks. Values between 0 and 1 count as fractions of a success,
for which the game is fair as well (Waudby-Smith and Ramdas 2024).

The mean of the baseline is not known exactly. As in a Bayesian two-sample test, the answers of the
baseline and all later ones estimate it together, so the game is fair on average over the possible
means; `benchmarks/watch.py --simulate` counts the false alarms for single means.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

ALPHA = 0.05  # share of lives without a change that may ever alarm
LIMIT = 1 / ALPHA  # the evidence that alarms, summed over all series with their shares
# Drops in points of the scale, with their shares of the bets. Most is on the drop that is worth an
# alarm. Bets on 11 points lose money at a drop of 5, which only the first line ever finds.
_DROPS = ((0.05, 0.05), (0.11, 0.85), (0.25, 0.10))
_SPACING = 50  # answers between possible starts of a change; 25 was not faster
# A change at the nth possible start has the prior probability of a geometric distribution with a
# mean of 8 starts (400 answers): a bot that is watched is usually replaced by its next release.
# A tenth decays more slowly, as n⁻², so that a change after years is found as well.
_CHANGE_RATE = 1 / 8
_SLOW_SHARE = 0.1
_SLOW_SCALE = 10
_MOST_STARTS = 40  # the best ones are kept, so that a state does not grow for ever
# Fortunes are cut here at every new start. Until the next one they grow at most a hundredfold per
# answer, which stays below the largest float.
_LARGEST = 1e200
_LEAST = 0.01  # a mean of exactly 0 or 1 would make one other answer impossible


class Start(msgspec.Struct, array_like=True):
    """A possible start of a change: for each drop, the mean it bets on and the fortune of the bet."""

    after: int
    means: list[float]
    fortunes: list[float]

    @property
    def evidence(self) -> float:
        return sum(self.fortunes)


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
        """The evidence of a change: below 1 is none, `LIMIT` is an alarm.

        The starts to come hold the rest of the prior probability. It is left out, which can only
        delay an alarm.
        """
        return sum(start.evidence for start in self.starts)

    @property
    def likely_start(self) -> int | None:
        """The number of answers after which the change most likely happened."""
        if not self.starts:
            return None
        return max(self.starts, key=lambda start: start.evidence).after

    def add(self, values: Iterable[float]) -> None:
        """Count further answers, in order."""
        for value in values:
            self.add_one(value)

    def add_one(self, value: float) -> None:
        """Count one further answer."""
        if self.count % _SPACING == 0:
            self._open_start()
        expected = self.expected_mean
        success = min(max(value, 0.0), 1.0)
        # The likelihood ratio of a mean m is success * m / expected + (1 - success) * (1 - m) /
        # (1 - expected): a straight line in m.
        level = (1 - success) / (1 - expected)
        slope = success / expected - level
        for start in self.starts:
            start.fortunes = [
                fortune * (level + slope * mean)
                for fortune, mean in zip(start.fortunes, start.means, strict=True)
            ]
        self.total += success
        self.count += 1

    def _open_start(self) -> None:
        for start in self.starts:
            start.fortunes = [min(fortune, _LARGEST) for fortune in start.fortunes]
        expected = self.expected_mean
        stake = start_probability(self.count // _SPACING)
        means = [_inside(expected - drop) for drop, _ in _DROPS]
        fortunes = [stake * share for _, share in _DROPS]
        self.starts.append(Start(self.count, means, fortunes))
        if len(self.starts) > _MOST_STARTS:
            # The newest is exempt: its fortune is small because it has just begun.
            self.starts.remove(min(self.starts[:-1], key=lambda start: start.evidence))


def start_probability(number: int) -> float:
    """The prior probability of the possible start with this number, from 0; all sum to 1.

    >>> 0.99 < sum(start_probability(number) for number in range(10_000)) < 1
    True
    """
    fast = _CHANGE_RATE * (1 - _CHANGE_RATE) ** number
    slow = _SLOW_SCALE / ((number + _SLOW_SCALE) * (number + _SLOW_SCALE + 1))
    return (1 - _SLOW_SHARE) * fast + _SLOW_SHARE * slow


def _inside(mean: float) -> float:
    return min(max(mean, _LEAST), 1 - _LEAST)
