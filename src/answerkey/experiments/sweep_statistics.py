"""Statistics of a sweep: mean, spread, quartiles and intervals of many columns, and which setting is best by F1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from answerkey.comparison.significance import Difference, difference
from answerkey.experiments.grid import MAIN
from answerkey.experiments.sweep import Sweep
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


@dataclass(frozen=True, slots=True)
class Best:
    """`winner` and `runner_up` are (variant, K) numbers; the difference is winner − runner-up, query by query."""

    winner: tuple[int, int]
    runner_up: tuple[int, int] | None
    f1: float
    test: Difference | None
    sentence: str


def best_setting(sweep: Sweep, rows: list[int] | None = None, columns: list[int] | None = None) -> Best:
    """The highest mean F1 among the given variants and K (default: all); with a tie, the first one."""
    rows = list(range(len(sweep.variants))) if rows is None else rows
    columns = list(range(len(sweep.ks))) if columns is None else columns
    means = sweep.mean()
    order = sorted(((row, column) for row in rows for column in columns), key=lambda place: -means[place])
    winner = order[0]
    f1 = float(means[winner])
    if len(order) == 1:
        return Best(winner, None, f1, None, f"{_name(sweep, winner)} is the only setting: F1 {f1:.4f}")
    test = difference(_f1(sweep, order[1]), _f1(sweep, winner))
    return Best(winner, order[1], f1, test, _sentence(sweep, winner, order[1], test))


def best_method(sweep: Sweep) -> Best:
    """The best of the methods at the standard K."""
    from answerkey.experiments.grid import NAMED

    rows = [n for n, v in enumerate(sweep.variants) if v.name in NAMED or v.alpha is None or v.stage]
    return best_setting(sweep, rows, [sweep.standard])


def _f1(sweep: Sweep, place: tuple[int, int]) -> np.ndarray:
    return sweep.values[place[0], place[1], sweep.labelled, MAIN]


def _name(sweep: Sweep, place: tuple[int, int]) -> str:
    variant = sweep.variants[place[0]]
    alpha = "" if variant.alpha is None else f" (α = {variant.alpha:g})"
    return f"{variant.name}{alpha} at K = {sweep.ks[place[1]]}"


def _sentence(sweep: Sweep, winner: tuple[int, int], runner_up: tuple[int, int], test: Difference) -> str:
    first, second = _name(sweep, winner), _name(sweep, runner_up)
    p = "" if test.p is None else f", p = {test.p:.2g}"
    margin = f"F1 {test.mean_b:.4f} against {test.mean_a:.4f}{p}, {test.n} queries"
    if test.sure:
        return f"{first} is best: it beats {second} ({margin})"
    return f"a tie: no significant difference between {first} and {second} ({margin})"
