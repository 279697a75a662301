"""How much a judge differs from itself when asked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answerkey.types import Score


@dataclass(frozen=True, slots=True)
class Noise:
    """`sd` is the typical spread of one row's values over the repeats; `flips` the share of rows whose side of the
    threshold is not always the same, None without a threshold."""

    repeats: int
    rows: int
    sd: float
    flips: float | None


def judge_noise(repeats: Sequence[Sequence[Score]], sign: int, threshold: float | None) -> Noise | None:
    """None for a single pass, or where no row has a value every time."""
    import numpy as np

    if len(repeats) < 2:
        return None
    complete = [row for row in zip(*repeats, strict=True) if all(score.value is not None for score in row)]
    if not complete:
        return None
    values = sign * np.array([[score.value for score in row] for row in complete], dtype=float)
    spread = values - values[:, :1]  # so that equal values have no spread at all, not even a rounding
    sd = float(np.sqrt(spread.var(axis=1, ddof=1).mean()))
    flips = None
    if threshold is not None:
        above = values > threshold
        flips = float(np.mean(above.any(axis=1) & ~above.all(axis=1)))
    return Noise(len(repeats), len(complete), sd, flips)
