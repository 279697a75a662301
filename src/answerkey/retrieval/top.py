"""The best of many scores, for all queries at once; of equal scores the first column wins, always."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]  # a row a text, of length 1


@dataclass(frozen=True, slots=True)
class Top:
    """Row by row the best chunks: `chunk` is -1 and `score` minus infinity where there are fewer."""

    chunk: Ints
    score: Floats

    @property
    def valid(self) -> NDArray[np.bool_]:
        return self.chunk >= 0


def select_top(scores: NDArray[np.floating], pool: int) -> Top:
    """The `pool` highest of each row, best first; minus infinity means "not retrieved"."""
    rows, columns = (int(size) for size in scores.shape)
    pool = min(pool, columns)
    if pool == columns:
        best = np.tile(np.arange(columns), (rows, 1))
    else:
        best = np.argpartition(scores, columns - pool, axis=1)[:, columns - pool :]
        edge = np.take_along_axis(scores, best[:, :1], axis=1)
        crowded = (np.count_nonzero(scores >= edge, axis=1) > pool) & (edge[:, 0] > -np.inf)
        for row in np.flatnonzero(crowded):  # a tie at the edge: the first columns, not just any
            best[row] = np.argsort(-scores[row], kind="stable")[:pool]
        best.sort(axis=1)
    kept = np.take_along_axis(scores, best, axis=1).astype(np.float64)
    order = np.argsort(-kept, axis=1, kind="stable")
    score = np.take_along_axis(kept, order, axis=1)
    chunk = np.take_along_axis(best, order, axis=1).astype(np.int64)
    return Top(np.where(score > -np.inf, chunk, -1), score)


def merge_blocks(parts: list[Top], pool: int) -> Top:
    if not parts:
        return Top(np.empty((0, pool), np.int64), np.empty((0, pool)))
    return Top(np.concatenate([part.chunk for part in parts]), np.concatenate([part.score for part in parts]))
