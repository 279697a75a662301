"""The ranks of the relevant ids in many rankings, as flat arrays: all that a ranking metric needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, repeat
from operator import methodcaller
from struct import Struct
from struct import error as StructError

import numpy as np
from numpy.typing import NDArray

from answerkey.coerce.labels import align_labels
from answerkey.errors import InputError
from answerkey.types import LARGEST

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Scored = Mapping[str, float]
_SCORES_AT_ONCE = 50_000  # with what is compared to them, they fit into the processor's cache
_ABSENT = float("nan")


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
    def precision(self) -> Floats:
        """The precision at the rank of each place found."""
        query = self.found.query
        return (np.arange(1, len(query) + 1) - np.searchsorted(query, query)) / self.found.rank

    @cached_property
    def gains(self) -> tuple[Floats, Floats]:
        """grade / log2(rank + 1) of the places found and of the ideal ones."""
        return self.found.grade / np.log2(self.found.rank + 1), self.ideal.grade / np.log2(
            self.ideal.rank + 1
        )

    @cached_property
    def found_by_cut(self) -> dict[int | None, Floats]:
        """Number of relevant ids up to a rank per query, filled as metrics need it."""
        return {}


def ideal_places(labels: Sequence[Mapping[str, float]]) -> Places:
    """The labelled ids of each query by grade, best first; a grade of 0 or less is not relevant."""
    return _best_first(*_flat(labels))


def _flat(labels: Sequence[Mapping[str, float]]) -> tuple[Ints, Floats]:
    """The grades of all queries in one array, each with its query number."""
    query = np.repeat(np.arange(len(labels)), np.fromiter(map(len, labels), np.int64, len(labels)))
    grade = np.fromiter(
        chain.from_iterable(map(methodcaller("values"), labels)), np.float64, len(query)
    )
    if not (np.abs(grade) <= LARGEST).all():
        raise InputError("a grade is not a finite number")
    return query, grade


def _best_first(query: Ints, grade: Floats) -> Places:
    query, grade = query[grade > 0], grade[grade > 0]
    grade = grade[np.lexsort((-grade, query))]
    return Places(query, np.arange(1, len(query) + 1) - np.searchsorted(query, query), grade)


def hits_in_rankings(
    rankings: Sequence[Sequence[str]], labels: Sequence[Mapping[str, float]], unit: str
) -> Hits:
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
        np.array(query, np.int64),
        np.array(rank, np.int64),
        np.array(grade, np.float64),
        np.array(again, bool),
    )
    return Hits(len(rankings), found, ideal_places(labels))


def _collapsed(ranking: Sequence[str]) -> Sequence[str]:
    """The first of several equal ids; a place without an id ("") stays, as it may be any page."""
    if "" not in ranking:
        return list(dict.fromkeys(ranking))
    seen: set[str] = set()
    return [name for name in ranking if not name or not (name in seen or seen.add(name))]


def hits_in_scores(
    runs: Sequence[Scored], labels: Sequence[Mapping[str, float]], *, pages: bool = True
) -> Hits:
    """Hits in runs `{id: score}`, ties by id descending; without `pages`, a label is found under its own name only.

    Ranks are counted instead of sorted, as only those of hits matter.
    """
    step = max(1, _SCORES_AT_ONCE // max(1, max(map(len, runs), default=1)))
    starts = range(0, max(1, len(runs)), step)
    parts = [_hits_in_block(runs[at : at + step], labels[at : at + step], pages) for at in starts]
    found, ideal = (
        _end_to_end([part.found for part in parts], starts),
        _end_to_end([part.ideal for part in parts], starts),
    )
    return Hits(len(runs), found, ideal)


def _end_to_end(parts: Sequence[Places], starts: Iterable[int]) -> Places:
    """The places of blocks of queries that begin at these numbers, as places of all queries."""
    return Places(
        np.concatenate([part.query + start for part, start in zip(parts, starts, strict=True)]),
        np.concatenate([part.rank for part in parts]),
        np.concatenate([part.grade for part in parts]),
    )


def _hits_in_block(
    runs: Sequence[Scored], labels: Sequence[Mapping[str, float]], pages: bool
) -> Hits:
    """Some runs at a time, with everything that is needed of each at once: both are for the processor's cache."""
    width = max(map(len, runs), default=0)
    table = np.full((len(runs), width), np.nan)
    named: list[Mapping[str, float]] = []
    own: list[float] = []
    for row, (run, grades) in enumerate(zip(runs, labels, strict=True)):
        try:
            _packer(len(run))(table, row * width * 8, *run.values())
        except StructError:
            raise InputError("a score is not a number") from None
        scores = [*map(run.get, grades, repeat(_ABSENT))]
        if pages and _ABSENT in scores:
            grades = align_labels(grades, run)
            scores = [*map(run.get, grades, repeat(_ABSENT))]
        own += scores
        named.append(grades)
    if np.count_nonzero(np.abs(table) <= LARGEST) != sum(map(len, runs)):
        raise InputError("a score is not a finite number")
    query, grade = _flat(named)
    ideal = _best_first(query, grade)
    score = np.array(own, dtype=np.float64)
    hit = np.flatnonzero((grade > 0) & ~np.isnan(score))
    query, grade, score = query[hit], grade[hit], score[hit, None]
    rows = table[query]
    above = np.count_nonzero(rows > score, axis=1)
    tied = np.flatnonzero(np.count_nonzero(rows == score, axis=1) > 1)
    if tied.size:
        names = list(chain.from_iterable(named))
        for one in tied.tolist():
            ids, name = list(runs[int(query[one])]), names[int(hit[one])]
            columns: list[int] = np.flatnonzero(rows[one] == score[one]).tolist()
            above[one] += sum(ids[column] > name for column in columns)
    order = np.argsort(query * (width + 1) + above)
    return Hits(len(runs), Places(query[order], above[order] + 1, grade[order]), ideal)


@cache
def _packer(count: int) -> Callable[..., None]:
    return Struct(f"{count}d").pack_into
