"""The ranks of the relevant ids in many rankings, as flat arrays for the formulas."""

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
_SCORES_AT_ONCE = 50_000  # with the arrays compared to them, they fit into the processor's cache
_ABSENT = float("nan")


@dataclass(frozen=True, slots=True)
class Places:
    """Parallel arrays: query number, rank (from 1), grade.

    `again` marks further chunks of an id that stands earlier in the ranking; None if there are
    none.
    """

    query: Ints
    rank: Ints
    grade: Floats
    again: NDArray[np.bool_] | None = None

    def pick(self, mask: np.ndarray) -> Places:
        if self.again is None:
            again = None
        else:
            again = self.again[mask]
        return Places(self.query[mask], self.rank[mask], self.grade[mask], again)


@dataclass(frozen=True, eq=False)
class Hits:
    """`found`: the relevant ids at their ranks; `ideal`: all relevant ids in the best order."""

    queries: int
    found: Places
    ideal: Places

    @cached_property
    def relevant(self) -> Floats:
        """Number of relevant ids per query."""
        return np.bincount(self.ideal.query, minlength=self.queries).astype(np.float64)

    @cached_property
    def precision(self) -> Floats:
        """The precision at the rank of each hit."""
        query = self.found.query
        return (np.arange(1, len(query) + 1) - np.searchsorted(query, query)) / self.found.rank

    @cached_property
    def gains(self) -> tuple[Floats, Floats]:
        """grade / log2(rank + 1) of the hits and of the ideal places."""
        return _gains(self.found), _gains(self.ideal)

    @cached_property
    def found_by_cut(self) -> dict[int | None, Floats]:
        """Number of hits up to a rank per query, filled as metrics need it."""
        return {}


def _gains(places: Places) -> Floats:
    return places.grade / np.log2(places.rank + 1)


def ideal_places(labels: Sequence[Mapping[str, float]]) -> Places:
    """The labelled ids of each query by grade, best first; a grade of 0 is not relevant."""
    return _best_first(*_flatten_grades(labels))


def _flatten_grades(labels: Sequence[Mapping[str, float]]) -> tuple[Ints, Floats]:
    """The grades of all queries in one array, each with its query number."""
    query = np.repeat(np.arange(len(labels)), np.fromiter(map(len, labels), np.int64, len(labels)))
    grades = chain.from_iterable(map(methodcaller("values"), labels))
    try:
        grade = np.fromiter(grades, np.float64, len(query))
    except OverflowError:  # Python's whole numbers have no limit, floats do
        raise InputError("a grade is not a finite number") from None
    # `<=` inside `not`: NaN fails every comparison and is refused as well.
    if not (np.abs(grade) <= LARGEST).all():
        raise InputError("a grade is not a finite number")
    return query, grade


def _best_first(query: Ints, grade: Floats) -> Places:
    query = query[grade > 0]
    grade = grade[grade > 0]
    grade = grade[np.lexsort((-grade, query))]
    return Places(query, np.arange(1, len(query) + 1) - np.searchsorted(query, query), grade)


def hits_in_rankings(
    rankings: Sequence[Sequence[str]], labels: Sequence[Mapping[str, float]], unit: str
) -> Hits:
    """Hits in ordered rankings. Unit "page" keeps the first of several equal ids, "chunk" all."""
    collector = _HitCollector()
    for number, (ranking, grades) in enumerate(zip(rankings, labels, strict=True)):
        if unit == "page":
            ids = _drop_repeats(ranking)
        else:
            ids = ranking
        collector.add(number, ids, grades)
    return Hits(len(rankings), collector.places(), ideal_places(labels))


class _HitCollector:
    """Collects the hits of one ranking after the other."""

    def __init__(self) -> None:
        self._query: list[int] = []
        self._rank: list[int] = []
        self._grade: list[float] = []
        self._again: list[bool] = []

    def add(self, query: int, ranking: Sequence[str], grades: Mapping[str, float]) -> None:
        seen: set[str] = set()
        for rank, name in enumerate(ranking, start=1):
            # A grade of 0 says that the page was looked at and is not relevant.
            if name in grades and grades[name] > 0:
                self._query.append(query)
                self._rank.append(rank)
                self._grade.append(grades[name])
                self._again.append(name in seen)
                seen.add(name)

    def places(self) -> Places:
        return Places(
            np.array(self._query, np.int64),
            np.array(self._rank, np.int64),
            np.array(self._grade, np.float64),
            np.array(self._again, bool),
        )


def _drop_repeats(ranking: Sequence[str]) -> Sequence[str]:
    """The first of several equal ids; a place without an id ("") stays: it may be any page."""
    if "" not in ranking:
        return list(dict.fromkeys(ranking))
    kept: list[str] = []
    seen: set[str] = set()
    for name in ranking:
        if not name or name not in seen:
            kept.append(name)
            seen.add(name)
    return kept


def hits_in_scores(
    runs: Sequence[Scored], labels: Sequence[Mapping[str, float]], *, pages: bool = True
) -> Hits:
    """Hits in runs `{id: score}`, ties by id descending.

    Without `pages`, a label is found under its own name only. Ranks are counted instead of sorted,
    as only those of hits matter.
    """
    longest = max(map(len, runs), default=1)
    step = max(1, _SCORES_AT_ONCE // max(1, longest))
    starts = range(0, max(1, len(runs)), step)
    parts = [_hits_in_block(runs[at : at + step], labels[at : at + step], pages) for at in starts]
    return Hits(
        len(runs),
        _join_blocks([part.found for part in parts], starts),
        _join_blocks([part.ideal for part in parts], starts),
    )


def _join_blocks(parts: Sequence[Places], starts: Iterable[int]) -> Places:
    """The places of blocks of queries that begin at these numbers, as places of all queries."""
    return Places(
        np.concatenate([part.query + start for part, start in zip(parts, starts, strict=True)]),
        np.concatenate([part.rank for part in parts]),
        np.concatenate([part.grade for part in parts]),
    )


def _hits_in_block(
    runs: Sequence[Scored], labels: Sequence[Mapping[str, float]], pages: bool
) -> Hits:
    """The hits of as many runs as fit into the processor's cache."""
    table = _score_table(runs)
    named: list[Mapping[str, float]] = []
    label_scores: list[float] = []
    for run, grades in zip(runs, labels, strict=True):
        scores = [*map(run.get, grades, repeat(_ABSENT))]
        if pages and _ABSENT in scores:
            grades = align_labels(grades, run)
            scores = [*map(run.get, grades, repeat(_ABSENT))]
        label_scores += scores
        named.append(grades)
    query, grade = _flatten_grades(named)
    ideal = _best_first(query, grade)
    score = np.array(label_scores, dtype=np.float64)
    hit = np.flatnonzero((grade > 0) & ~np.isnan(score))
    query = query[hit]
    grade = grade[hit]
    score = score[hit, None]
    rows = table[query]
    above = np.count_nonzero(rows > score, axis=1)
    tied = np.flatnonzero(np.count_nonzero(rows == score, axis=1) > 1)
    if tied.size:
        names = list(chain.from_iterable(named))
        for one in tied.tolist():
            ids = list(runs[int(query[one])])
            name = names[int(hit[one])]
            columns: list[int] = np.flatnonzero(rows[one] == score[one]).tolist()
            # Ties: ids descending, as trec_eval orders them.
            above[one] += sum(ids[column] > name for column in columns)
    # Formulas need the hits of a query next to each other, in the order of their ranks.
    order = np.argsort(query * (table.shape[1] + 1) + above)
    return Hits(len(runs), Places(query[order], above[order] + 1, grade[order]), ideal)


def _score_table(runs: Sequence[Scored]) -> Floats:
    """(run, place): every score, NaN where a run is shorter."""
    width = max(map(len, runs), default=0)
    table = np.full((len(runs), width), np.nan)
    for row, run in enumerate(runs):
        try:
            # Packing into the array is faster than assigning a list.
            _packer(len(run))(table, row * width * 8, *run.values())
        except (StructError, OverflowError):
            raise InputError("a score is not a number") from None
    # NaN pads short rows, so only real scores may be finite.
    if np.count_nonzero(np.abs(table) <= LARGEST) != sum(map(len, runs)):
        raise InputError("a score is not a finite number")
    return table


@cache
def _packer(count: int) -> Callable[..., None]:
    return Struct(f"{count}d").pack_into
