"""How much a bot differs from itself, from several runs of the same bot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from answerkey.comparison.pair import Pairs, Side
from answerkey.errors import InputError
from answerkey.intervals import Z
from answerkey.runs.records import SCORING

if TYPE_CHECKING:
    from answerkey.intervals import NumberArray


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of run A's bot, from A and its repeats.

    Two runs differ by less than `floor` 19 times in 20. `low` and `high` are the range of scores of
    each pair; `flaky` are the cases that both passed and failed.
    """

    runs: int
    sd: float
    floor: float
    low: NumberArray
    high: NumberArray
    flaky: tuple[str, ...]

    def covers(self, row: int, score: float) -> bool:
        """Whether the score lies in the range that this case takes without any change."""
        return bool(self.low[row] <= score <= self.high[row])


def estimate_noise(pairs: Pairs, repeats: Sequence[Side]) -> Noise | None:
    """The noise between runs of the same bot; None if no case was scored at least twice."""
    import numpy as np

    a = pairs.a
    columns = [np.asarray(a.score)[pairs.rows_a]]
    passes = [np.asarray(a.passed)[pairs.rows_a]]
    for repeat in repeats:
        _check_repeat(a, repeat)
        where = {case_id: row for row, case_id in enumerate(repeat.ids)}
        # A case that the repeat lacks takes the last value, the NaN that is appended.
        rows = [where.get(a.ids[i], -1) for i, _ in pairs.rows()]
        columns.append(np.append(np.asarray(repeat.score), np.nan)[rows])
        passes.append(np.append(np.asarray(repeat.passed), np.nan)[rows])
    scores = np.stack(columns)
    passed = np.stack(passes)
    scored_twice = (~np.isnan(scores)).sum(axis=0) >= 2
    if not scored_twice.any():
        return None
    variance = float(np.nanvar(scores[:, scored_twice], axis=0, ddof=1).mean())
    flips = (passed == 1).any(axis=0) & (passed == 0).any(axis=0)
    places = zip(pairs.rows(), flips, strict=True)
    return Noise(
        runs=len(columns),
        sd=math.sqrt(variance),
        # The 2: both runs of a comparison are noisy.
        floor=Z * math.sqrt(2 * variance / int(scored_twice.sum())),
        low=np.where(np.isnan(scores), np.inf, scores).min(axis=0),
        high=np.where(np.isnan(scores), -np.inf, scores).max(axis=0),
        flaky=tuple(a.ids[i] for (i, _), is_flip in places if is_flip),
    )


def _check_repeat(a: Side, repeat: Side) -> None:
    for part in SCORING:
        if a.fingerprint.get(part, "") != repeat.fingerprint.get(part, ""):
            raise InputError(
                f"{repeat.name} is not a repeat of {a.name}: its {part} differs; "
                "score it with the same profile and judge first (`answerkey rescore`)"
            )
