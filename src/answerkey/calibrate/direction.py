"""Which way a metric should point. Label 1 may mark the good answers (correct) or the bad ones (unsupported).

The rule: what `--positive good|bad` says holds, and a metric that then points the wrong way is reported below 0.5.
Without it the labels are taken to mean whichever fits the metric's own direction better; the report says that this
was a guess, since a guess can never come out below chance. A metric with no direction (answer length) is always
turned to fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from answerkey.types import Better

Meaning = Literal["good", "bad"]


@dataclass(frozen=True, slots=True)
class Direction:
    """`sign` is 1 where higher values should go with label 1, else -1."""

    sign: int
    label_means: Meaning | None
    guessed: bool

    @property
    def told(self) -> str:
        return f"{'higher' if self.sign > 0 else 'lower'} values go with label 1"

    def turned(self, raw_auroc: float) -> float:
        return raw_auroc if self.sign > 0 else 1 - raw_auroc


def direction_of(better: Better, raw_auroc: float | None, positive: Meaning | None) -> Direction:
    """From the metric's direction and what label 1 means, if that is given; else by what fits."""
    fits = 1 if raw_auroc is None or raw_auroc >= 0.5 else -1
    if better == "neither":
        return Direction(fits, positive, guessed=True)
    high_is_good = better == "higher"
    if positive is None:
        meaning: Meaning = "good" if high_is_good == (fits > 0) else "bad"
        return Direction(fits, meaning, guessed=True)
    return Direction(1 if high_is_good == (positive == "good") else -1, positive, guessed=False)
