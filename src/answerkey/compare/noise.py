"""How much a bot differs from itself: the noise floor, from repeated runs of the same version."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from answerkey.compare.changed import RULER
from answerkey.compare.pair import Pairs
from answerkey.compare.side import Side
from answerkey.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Noise:
    """From A and its repeats. `floor`: two runs of the same bot differ by less than this 19 times in 20.

    `low` and `high` are, for each pair, the range its score took; `flaky` are the cases that both passed and failed.
    """

    runs: int
    sd: float
    floor: float
    low: NDArray[Any]
    high: NDArray[Any]
    flaky: tuple[str, ...]

    def covers(self, row: int, score: float) -> bool:
        """Whether the score lies in the range that case takes anyway."""
        return bool(self.low[row] <= score <= self.high[row])


def estimate_noise(pairs: Pairs, repeats: Sequence[Side]) -> Noise | None:
    """None where no case was scored at least twice."""
    import numpy as np

    a = pairs.a
    columns = [np.asarray(a.score)[pairs.rows_a]]
    passes = [np.asarray(a.passed)[pairs.rows_a]]
    for repeat in repeats:
        _check_ruler(a, repeat)
        score, passed = _aligned(pairs, repeat)
        columns.append(score)
        passes.append(passed)
    scores, passed = np.stack(columns), np.stack(passes)
    counts = (~np.isnan(scores)).sum(axis=0)
    seen = counts >= 2
    if not seen.any():
        return None
    variance = float(np.nanvar(scores[:, seen], axis=0, ddof=1).mean())
    floor = 1.959963984540054 * math.sqrt(2 * variance / int(seen.sum()))
    low = np.where(np.isnan(scores), np.inf, scores).min(axis=0)
    high = np.where(np.isnan(scores), -np.inf, scores).max(axis=0)
    flips = (passed == 1).any(axis=0) & (passed == 0).any(axis=0)
    flaky = tuple(a.ids[i] for i in pairs.rows_a[flips].tolist())
    return Noise(len(columns), math.sqrt(variance), floor, low, high, flaky)


def _aligned(pairs: Pairs, repeat: Side) -> tuple[NDArray[Any], NDArray[Any]]:
    """The repeat's scores and passes in the order of the pairs; a case it lacks is missing."""
    import numpy as np

    where = {case_id: row for row, case_id in enumerate(repeat.ids)}
    rows = np.array([where.get(pairs.a.ids[i], -1) for i in pairs.rows_a.tolist()], dtype=np.intp)
    score = np.append(np.asarray(repeat.score), np.nan)[rows]
    passed = np.append(np.asarray(repeat.passed), -1)[rows]
    return score, passed


def _check_ruler(a: Side, repeat: Side) -> None:
    for part in RULER:
        if a.fingerprint.get(part, "") != repeat.fingerprint.get(part, ""):
            raise InputError(
                f"{repeat.name} is no repeat of {a.name}: its {part} differs; "
                "score it with the same ruler first (`answerkey rescore`)"
            )
