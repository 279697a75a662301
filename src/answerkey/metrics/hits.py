"""Where the relevant ids stand in many rankings: all that any ranking metric needs, as a few flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Scored = Mapping[str, float]
_COMPARED_AT_ONCE = 4_000_000  # keeps the work within the processor's caches


@dataclass(frozen=True, slots=True)
class Places:
    """One entry a place: in the ranking of query number `query`, at `rank` (from 1), stands something of `grade`."""

    query: Ints
    rank: Ints
    grade: Floats


@dataclass(frozen=True, slots=True)
class Hits:
    """`found`: the relevant ids where they were ranked; `ideal`: the same ids in the best possible order."""

    queries: int
    found: Places
    ideal: Places


def ideal_places(labels: Iterable[Mapping[str, float]]) -> Places:
    """The labelled ids of each query by grade, best first; a grade of 0 or less is not relevant."""
    query: list[int] = []
    rank: list[int] = []
    grade: list[float] = []
    for number, grades in enumerate(labels):
        best_first = sorted((g for g in grades.values() if g > 0), reverse=True)
        query += [number] * len(best_first)
        rank += range(1, len(best_first) + 1)
        grade += best_first
    return _places(query, rank, grade)


def hits_in_rankings(
    rankings: Sequence[Sequence[str]], labels: Sequence[Mapping[str, float]], unit: str
) -> Hits:
    """Hits in rankings given in order. Unit "page" keeps the first of several equal ids, "chunk" keeps all."""
    query: list[int] = []
    rank: list[int] = []
    grade: list[float] = []
    for number, (ranking, grades) in enumerate(zip(rankings, labels, strict=True)):
        ids = dict.fromkeys(ranking) if unit == "page" else ranking
        for place, name in enumerate(ids, start=1):
            if name in grades and grades[name] > 0:
                query.append(number)
                rank.append(place)
                grade.append(grades[name])
    return Hits(len(rankings), _places(query, rank, grade), ideal_places(labels))


def hits_in_scores(runs: Sequence[Scored], labels: Sequence[Mapping[str, float]]) -> Hits:
    """Hits in runs `{id: score}`, ties by id descending: counted, not sorted, as only the hits' ranks matter."""
    hits = [
        (number, name, run[name], grade)
        for number, (run, grades) in enumerate(zip(runs, labels, strict=True))
        for name, grade in grades.items()
        if grade > 0 and name in run
    ]
    if not hits:
        return Hits(len(runs), _places([], [], []), ideal_places(labels))
    numbers, names, scores, grades = zip(*hits, strict=True)
    query, score = np.array(numbers), np.array(scores, dtype=np.float64)
    above, equal = _count_above(runs, query, score)
    for hit in np.flatnonzero(equal > 1):
        run, own, name = runs[numbers[hit]], scores[hit], names[hit]
        above[hit] += sum(1 for other, value in run.items() if value == own and other > name)
    order = np.lexsort((above, query))
    found = Places(query[order], above[order] + 1, np.array(grades, dtype=np.float64)[order])
    return Hits(len(runs), found, ideal_places(labels))


def _count_above(runs: Sequence[Scored], query: Ints, score: Floats) -> tuple[Ints, Ints]:
    """For each hit, how many scores of its run are higher, and how many are equal (itself included)."""
    lengths = np.fromiter(map(len, runs), np.int64, len(runs))
    flat = np.fromiter(chain.from_iterable(run.values() for run in runs), np.float64, int(lengths.sum()))
    if np.isnan(flat).any():
        raise ValueError("a score of the run is not a number")
    table = np.full((len(runs), int(lengths.max())), np.nan)
    table[np.arange(table.shape[1]) < lengths[:, None]] = flat
    above, equal = np.empty(len(query), np.int64), np.empty(len(query), np.int64)
    step = max(1, _COMPARED_AT_ONCE // table.shape[1])
    for start in range(0, len(query), step):
        part = slice(start, start + step)
        rows, own = table[query[part]], score[part, None]
        above[part] = (rows > own).sum(axis=1)
        equal[part] = (rows == own).sum(axis=1)
    return above, equal


def _places(query: Any, rank: Any, grade: Any) -> Places:
    return Places(np.array(query, np.int64), np.array(rank, np.int64), np.array(grade, np.float64))
