"""The ranks of the relevant ids in many rankings, as flat arrays: all that a ranking metric needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from answerkey.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Scored = Mapping[str, float]
_COMPARED_AT_ONCE = 250_000  # fits into the processor's cache


@dataclass(frozen=True, slots=True)
class Places:
    """Parallel arrays: query number, rank (from 1), grade; and which are a further chunk of an id found before, if any."""

    query: Ints
    rank: Ints
    grade: Floats
    again: NDArray[np.bool_] | None = None

    def pick(self, mask: np.ndarray) -> Places:
        again = None if self.again is None else self.again[mask]
        return Places(self.query[mask], self.rank[mask], self.grade[mask], again)


@dataclass(frozen=True, eq=False)
class Hits:
    """`found`: the relevant ids at their ranks; `ideal`: all relevant ids in the best possible order."""

    queries: int
    found: Places
    ideal: Places

    @cached_property
    def relevant(self) -> Floats:
        """Number of relevant ids per query."""
        return np.bincount(self.ideal.query, minlength=self.queries).astype(np.float64)

    @cached_property
    def found_by_cut(self) -> dict[int | None, Floats]:
        """Number of relevant ids up to a rank per query, filled as metrics need it."""
        return {}


def ideal_places(labels: Sequence[Mapping[str, float]]) -> Places:
    """The labelled ids of each query by grade, best first; a grade of 0 or less is not relevant."""
    query, grade = _flat(labels)
    query, grade = query[grade > 0], grade[grade > 0]
    grade = grade[np.lexsort((-grade, query))]
    return Places(query, np.arange(1, len(query) + 1) - np.searchsorted(query, query), grade)


def hits_in_rankings(rankings: Sequence[Sequence[str]], labels: Sequence[Mapping[str, float]], unit: str) -> Hits:
    """Hits in rankings given in order. Unit "page" keeps the first of several equal ids, "chunk" keeps all."""
    query: list[int] = []
    rank: list[int] = []
    grade: list[float] = []
    again: list[bool] = []
    for number, (ranking, grades) in enumerate(zip(rankings, labels, strict=True)):
        ids = _collapsed(ranking) if unit == "page" else ranking
        seen: set[str] = set()
        for place, name in enumerate(ids, start=1):
            if name in grades and grades[name] > 0:
                query.append(number)
                rank.append(place)
                grade.append(grades[name])
                again.append(name in seen)
                seen.add(name)
    found = Places(
        np.array(query, np.int64), np.array(rank, np.int64), np.array(grade, np.float64), np.array(again, bool)
    )
    return Hits(len(rankings), found, ideal_places(labels))


def _collapsed(ranking: Sequence[str]) -> Sequence[str]:
    """The first of several equal ids; a place without an id ("") stays, as it may be any page."""
    if "" not in ranking:
        return list(dict.fromkeys(ranking))
    seen: set[str] = set()
    return [name for name in ranking if not name or not (name in seen or seen.add(name))]


def hits_in_scores(runs: Sequence[Scored], labels: Sequence[Mapping[str, float]]) -> Hits:
    """Hits in runs `{id: score}`, ties by id descending. Ranks are counted instead of sorted, as only those of hits matter."""
    query, grade = _flat(labels)
    scores: list[float] = []
    for run, grades in zip(runs, labels, strict=True):
        scores.extend(map(run.get, grades, repeat(np.nan)))
    score = np.array(scores, dtype=np.float64)
    found = np.flatnonzero((grade > 0) & ~np.isnan(score))
    query, score, grade = query[found], score[found], grade[found]
    table = _table(runs)
    above, equal = _count_above(table, query, score)
    tied = np.flatnonzero(equal > 1)
    if tied.size:
        names = list(chain.from_iterable(labels))
        for hit in tied.tolist():
            ids = list(runs[int(query[hit])])
            columns: list[int] = np.flatnonzero(table[query[hit]] == score[hit]).tolist()
            own = names[int(found[hit])]
            above[hit] += sum(ids[column] > own for column in columns)
    order = np.lexsort((above, query))
    return Hits(len(runs), Places(query[order], above[order] + 1, grade[order]), ideal_places(labels))


def _flat(rows: Sequence[Mapping[str, float]]) -> tuple[Ints, Floats]:
    """The values of all rows in one array, each with its row number."""
    lengths = _lengths(rows)
    return np.repeat(np.arange(len(rows)), lengths), _values(rows, lengths)


def _table(runs: Sequence[Scored]) -> Floats:
    """The scores as rows of equal length, padded with NaN."""
    lengths = _lengths(runs)
    values = _values(runs, lengths)
    width = int(lengths.max(initial=0))
    if len(values) == len(runs) * width:
        return values.reshape(len(runs), width)
    table = np.full((len(runs), width), np.nan)
    table[np.arange(width) < lengths[:, None]] = values
    return table


def _lengths(rows: Sequence[Mapping[str, float]]) -> Ints:
    return np.fromiter(map(len, rows), np.int64, len(rows))


def _values(rows: Sequence[Mapping[str, float]], lengths: Ints) -> Floats:
    values = np.fromiter(chain.from_iterable(row.values() for row in rows), np.float64, int(lengths.sum()))
    if np.isnan(values).any():
        raise InputError("a score or grade is not a number (NaN)")
    return values


def _count_above(table: Floats, query: Ints, score: Floats) -> tuple[Ints, Ints]:
    """For each hit the number of higher scores in its run, and of equal ones (itself included)."""
    above, equal = np.empty(len(query), np.int64), np.empty(len(query), np.int64)
    step = max(1, _COMPARED_AT_ONCE // max(table.shape[1], 1))
    for start in range(0, len(query), step):
        part = slice(start, start + step)
        rows, own = table[query[part]], score[part, None]
        above[part] = np.count_nonzero(rows > own, axis=1)
        equal[part] = np.count_nonzero(rows == own, axis=1)
    return above, equal
