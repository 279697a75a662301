"""Statistics of a sweep: mean, spread, quartiles and intervals of many columns, and which setting is best by F1."""

from __future__ import annotations

import numpy as np

from answerkey.intervals import BOOTSTRAP_LIMIT, DRAWS, LEVEL, SEED
from answerkey.metrics.ranking.hits import Floats

NAMES = ("n", "mean", "std", "min", "25%", "50%", "75%", "max", "ci95_low", "ci95_high")
_COLUMNS_AT_ONCE = 200


def describe(table: Floats) -> Floats:
    """(column, statistic) of a (query, column) table; NaN where one query alone says nothing of the spread."""
    queries = len(table)
    result = np.full((table.shape[1], len(NAMES)), np.nan)
    result[:, 0] = queries
    result[:, 1] = table.mean(axis=0)
    result[:, 3:8] = np.percentile(table, [0, 25, 50, 75, 100], axis=0).T
    if queries > 1:
        result[:, 2] = table.std(axis=0, ddof=1)
        result[:, 8:10] = intervals(table)
    return result


def intervals(table: Floats) -> Floats:
    """(column, 2): percentile bootstrap of the mean, one set of draws for all columns; Student's t for many queries."""
    queries = len(table)
    if queries > BOOTSTRAP_LIMIT:
        from scipy.special import stdtrit

        half = stdtrit(queries - 1, (1 + LEVEL) / 2) * table.std(axis=0, ddof=1) / np.sqrt(queries)
        return np.stack([table.mean(axis=0) - half, table.mean(axis=0) + half], axis=1)
    shares = np.random.default_rng(SEED).multinomial(queries, np.full(queries, 1 / queries), size=DRAWS) / queries
    ends = [50 * (1 - LEVEL), 50 * (1 + LEVEL)]
    parts = [
        np.percentile(shares @ table[:, start : start + _COLUMNS_AT_ONCE], ends, axis=0).T
        for start in range(0, table.shape[1], _COLUMNS_AT_ONCE)
    ]
    found = np.concatenate(parts)
    return np.clip(found, table.min(axis=0)[:, None], table.max(axis=0)[:, None])
