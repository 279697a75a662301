"""Lists of the cases of a run: filtered, sorted, searched and counted by its database."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from answerkey.errors import InputError, did_you_mean
from answerkey.files import json_line
from answerkey.runs.database import storable
from answerkey.runs.run_reader import RunReader
from answerkey.runs.run_writer import fold_text
from answerkey.types import Status

FACETS = ("status", "route", "type", "reason")
# The names of columns that a list can be sorted by, besides the metrics.
SORTS = ("worst", "order", "id", "question", "status", "score", "seconds", "route", "type")
# The index cases_worst has the same expressions, so that a page is read without sorting.
_WORST_FIRST = (
    f"status IN ('{Status.SCORED}', '{Status.UNSCORED}')",
    f"status <> '{Status.ERROR}'",
    "passed",
    "coalesce(score, 0.0)",
    "cases.n",
)
# A search for "100%" or "a_b" must not be a pattern.
_ESCAPE = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """Which cases of a run to list, and in which order. None or an empty text is no condition.

    `values` are those that a column may have; None among them stands for no value. `under` keeps
    the cases whose `column`, a metric or a column with numbers, is less.
    """

    search: str = ""
    values: tuple[tuple[str, tuple[str | None, ...]], ...] = ()
    ids: tuple[str, ...] | None = None
    not_ids: tuple[str, ...] | None = None
    column: str = "score"
    under: float | None = None
    sort: str = "worst"
    descending: bool = False


@dataclass(slots=True)
class _Statement:
    """The parts of a SELECT with the values of its parameters."""

    conditions: list[str]
    values: list[object]

    def add(self, condition: str, *values: object) -> None:
        self.conditions.append(condition)
        self.values += values

    @property
    def where(self) -> str:
        if self.conditions:
            return f" WHERE {' AND '.join(self.conditions)}"
        return ""


def metric_names(reader: RunReader) -> list[str]:
    """The metrics that have values, in the order of the suite."""
    rows = reader.query("SELECT metric FROM metrics ORDER BY number")
    return [name for (name,) in rows]


def count_values(reader: RunReader, column: str) -> list[tuple[str | None, int]]:
    """The values of a column with their numbers of cases, most first."""
    if column not in FACETS:
        raise ValueError(f"no counts of {column}")
    # The first position breaks ties, so that equal counts keep the order of the cases.
    rows = reader.query(
        f"SELECT {column}, count(*), min(n) FROM cases GROUP BY {column} ORDER BY 2 DESC, 3"
    )
    return [(value, count) for value, count, _ in rows]


def count_cases(reader: RunReader, chosen: CaseFilter = CaseFilter()) -> int:  # noqa: B008  (frozen)
    """How many cases match."""
    statement = _conditions(reader, chosen)
    rows = reader.query(f"SELECT count(*) FROM cases{statement.where}", statement.values)
    return int(rows[0][0])


def list_positions(
    reader: RunReader, chosen: CaseFilter, limit: int = -1, offset: int = 0
) -> list[int]:
    """The positions of the cases that match, in order."""
    rows = _select(reader, chosen, "cases.n", limit, offset)
    return [n for (n,) in rows]


def list_and_count(
    reader: RunReader, chosen: CaseFilter, limit: int, offset: int
) -> tuple[list[int], int]:
    """The positions of one page, and how many cases match in all."""
    if not chosen.search:
        return list_positions(reader, chosen, limit, offset), count_cases(reader, chosen)
    # A search reads all texts: once for both the page and the number.
    rows = _select(reader, chosen, "cases.n, count(*) OVER ()", limit, offset)
    if rows:
        return [n for n, _ in rows], rows[0][1]
    # Past the last page there is no row to hold the number.
    return [], count_cases(reader, chosen) if offset else 0


def _select(
    reader: RunReader, chosen: CaseFilter, columns: str, limit: int, offset: int
) -> list[tuple[int, ...]]:
    statement = _conditions(reader, chosen)
    source, order, values = _sorted_source(reader, chosen)
    return reader.query(
        f"SELECT {columns} FROM {source}{statement.where} ORDER BY {order} LIMIT ? OFFSET ?",
        [*values, *statement.values, limit, offset],
    )


def position_of_place(reader: RunReader, place: int) -> int | None:
    """The position in the suite of a case, by its place among those that are stored."""
    if _is_gapless(reader):
        rows = reader.query("SELECT n FROM cases WHERE n = ?", [place])
    else:
        rows = reader.query("SELECT n FROM cases ORDER BY n LIMIT 1 OFFSET ?", [place])
    return rows[0][0] if rows else None


def places_of(reader: RunReader, positions: list[int]) -> list[int]:
    """The places of these cases among all that are stored."""
    if _is_gapless(reader):
        return positions
    stored = [n for (n,) in reader.query("SELECT n FROM cases ORDER BY n")]
    return [bisect_left(stored, n) for n in positions]


def _is_gapless(reader: RunReader) -> bool:
    """Whether all cases up to the last one are stored: a run may have stopped in the middle."""
    # Two subqueries: SQLite answers each from an index, but reads all rows for both at once.
    count, last = reader.query("SELECT (SELECT count(*) FROM cases), (SELECT max(n) FROM cases)")[0]
    return last is None or last == count - 1


def _conditions(reader: RunReader, chosen: CaseFilter) -> _Statement:
    statement = _Statement([], [])
    if chosen.search:
        # Not FTS5: its words do not find a part of a word, and its index of trigrams took 14 s for
        # 20,000 cases where this search takes 0.3 s for 100,000.
        pattern = f"%{fold_text(chosen.search).translate(_ESCAPE)}%"
        statement.add("cases.n IN (SELECT n FROM texts WHERE text LIKE ? ESCAPE '\\')", pattern)
    for column, values in chosen.values:
        if column not in FACETS:
            raise ValueError(f"no filter by {column}")
        _add_values(statement, column, values)
    if chosen.ids is not None:
        statement.add("id IN (SELECT value FROM json_each(?))", _json_list(chosen.ids))
    if chosen.not_ids is not None:
        statement.add("id NOT IN (SELECT value FROM json_each(?))", _json_list(chosen.not_ids))
    if chosen.under is None:
        return statement
    if chosen.column in metric_names(reader):
        statement.add(
            "cases.n IN (SELECT n FROM scores WHERE metric = ? AND value < ?)",
            chosen.column,
            chosen.under,
        )
    else:
        statement.add(f"{_checked_column(reader, chosen.column)} < ?", chosen.under)
    return statement


def _add_values(statement: _Statement, column: str, values: Sequence[str | None]) -> None:
    texts = [value for value in values if value is not None]
    # One parameter for the whole list: SQLite limits how many a statement may have.
    condition = f"{column} IN (SELECT value FROM json_each(?))"
    if None in values:
        condition = f"({condition} OR {column} IS NULL)"
    statement.add(condition, _json_list(texts))


def _json_list(texts: Sequence[str]) -> str:
    return json_line([storable(text) for text in texts]).decode()


def _sorted_source(reader: RunReader, chosen: CaseFilter) -> tuple[str, str, list[object]]:
    """The tables to select from, the order, and the values of the parameters of the tables."""
    direction = " DESC" if chosen.descending else ""
    if chosen.sort == "order":
        return "cases", f"cases.n{direction}", []
    if chosen.sort == "worst":
        return "cases", ", ".join(f"{key}{direction}" for key in _WORST_FIRST), []
    # Cases without a value are last in either direction.
    if chosen.sort in metric_names(reader):
        # In the order of `n`, as the scores are stored: over an index of another order the
        # lookups took eight times as long for 100,000 cases.
        source = (
            "cases NOT INDEXED LEFT JOIN scores AS sorted"
            " ON sorted.n = cases.n AND sorted.metric = ?"
        )
        return source, f"sorted.value{direction} NULLS LAST, cases.n", [chosen.sort]
    column = _checked_column(reader, chosen.sort)
    return "cases", f"{column}{direction} NULLS LAST, cases.n", []


def _checked_column(reader: RunReader, name: str) -> str:
    """A name that may stand in a statement: one of our columns."""
    if name in SORTS[2:]:
        return name
    names = (*SORTS, *metric_names(reader))
    raise InputError(f'no column "{name}"{did_you_mean(name, names)}; there are {", ".join(names)}')
