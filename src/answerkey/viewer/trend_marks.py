"""Which runs of a suite are best in a metric, and which are not significantly different from it.

Only runs with the scoring setup of the newest one are compared: a score by other rules is no
better or worse, it is another measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

from answerkey.comparison.comparison import better_direction
from answerkey.comparison.significance import holm, t_test_p
from answerkey.errors import AnswerkeyError
from answerkey.reports.rows import read_rows
from answerkey.runs.records import SCORING
from answerkey.runs.store import file_state
from answerkey.viewer.library import RunEntry, RunLibrary

_SIGNIFICANT = 0.05
_SIGNS = {"higher": 1, "lower": -1}

_Values = dict[str, float]  # of one metric in one run, by case


def mark_best_runs(library: RunLibrary, runs: Sequence[RunEntry]) -> None:
    """Fill in `marks` of runs, newest first: per metric `best`, or `tie` if it may be as good."""
    comparable = [entry for entry in runs if scored_alike(entry, runs[0])]
    if len(comparable) < 2:
        return
    folders = tuple(library.run(entry.run) for entry in comparable)
    states = tuple(map(file_state, folders))
    for entry, marks in zip(comparable, _mark_folders(folders, states), strict=True):
        entry.marks = marks


def scored_alike(a: RunEntry, b: RunEntry) -> bool:
    """Whether profile, metrics, their settings, judge and embedding model are the same."""
    if a.metric_settings != b.metric_settings:
        return False
    return all(a.fingerprint.get(part) == b.fingerprint.get(part) for part in SCORING)


@lru_cache(maxsize=16)
def _mark_folders(folders: tuple[Path, ...], states: tuple[str, ...]) -> list[dict[str, str]]:
    """`states` is part of the cache's key: a run that changed is read again."""
    columns = [_read_values(folder) for folder in folders]
    marks: list[dict[str, str]] = [{} for _ in folders]
    for metric in dict.fromkeys(metric for values in columns for metric in values):
        measured = {n: values[metric] for n, values in enumerate(columns) if values.get(metric)}
        for n, mark in _mark_metric(metric, measured).items():
            marks[n][metric] = mark
    return marks


def _read_values(folder: Path) -> dict[str, _Values]:
    """The numbers of each metric by case; a damaged run has none."""
    with suppress(AnswerkeyError, LookupError, ValueError, TypeError, OSError):
        rows = read_rows(folder)
        values: dict[str, _Values] = {}
        for metric, column in {"score": rows.score, **rows.metrics}.items():
            values[metric] = {
                case: value
                for case, value in zip(rows.id, column, strict=True)
                if isinstance(value, int | float)
            }
        return values
    return {}


def _mark_metric(metric: str, measured: dict[int, _Values]) -> dict[int, str]:
    """Paired t-tests against the best run; p is corrected by Holm's method."""
    sign = _SIGNS.get(better_direction(metric), 0)
    if len(measured) < 2 or not sign:
        return {}
    means = {n: fmean(values.values()) for n, values in measured.items()}
    best = max(measured, key=lambda n: sign * means[n])
    others = [n for n in measured if n != best]
    # With 11 comparisons at 5 % one would be significant by chance in 4 of 10 tables.
    corrected = holm([_paired_p(measured[best], measured[n]) for n in others])
    marks = {best: "best"}
    for n, p in zip(others, corrected, strict=True):
        if p >= _SIGNIFICANT:
            marks[n] = "best" if means[n] == means[best] else "tie"
    return marks


def _paired_p(a: _Values, b: _Values) -> float:
    """The p of the paired t-test over the cases that both have; 1 for fewer than two."""
    differences = [a[case] - b[case] for case in a if case in b]
    if len(differences) < 2:
        return 1.0
    mean = fmean(differences)
    error = stdev(differences) / sqrt(len(differences))
    if not error:
        return 0.0 if mean else 1.0
    return t_test_p(mean / error, len(differences))
