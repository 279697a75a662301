"""Lists of the cases of a run: filtered, sorted, searched and counted by its database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from answerkey.errors import InputError, did_you_mean
from answerkey.files import json_line
from answerkey.runs.database import storable
from answerkey.runs.run_reader import RunReader
from answerkey.runs.run_writer import fold_text
from answerkey.types import Status

FACETS = ("status", "route", "type", "reason")
# The names of columns that a list can be sorted by, besides the metrics.
SORTS = ("worst", "order", "id", "question", "status", "score", "seconds", "route", "type")
_WORST_FIRST = (
    f"status IN ('{Status.SCORED}', '{Status.UNSCORED}')",
    f"status <> '{Status.ERROR}'",
    "passed",
    "coalesce(score, 0.0)",
    "n",
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
    statement = _conditions(reader, chosen)
    order = _order(reader, chosen, statement)
    rows = reader.query(
        f"SELECT cases.n FROM cases{statement.where} ORDER BY {order} LIMIT ? OFFSET ?",
        [*statement.values, limit, offset],
    )
    return [n for (n,) in rows]


def _conditions(reader: RunReader, chosen: CaseFilter) -> _Statement:
    statement = _Statement([], [])
    if chosen.search:
        # Not FTS5: its words do not find a part of a word, and its index of trigrams took 14 s for
        # 20,000 cases where this search takes 0.3 s for 100,000.
        pattern = f"%{fold_text(chosen.search).translate(_ESCAPE)}%"
        statement.add("n IN (SELECT n FROM texts WHERE text LIKE ? ESCAPE '\\')", pattern)
    for column, values in chosen.values:
        if column not in FACETS:
            raise ValueError(f"no filter by {column}")
        _add_values(statement, column, values)
    if chosen.ids is not None:
        statement.add("id IN (SELECT value FROM json_each(?))", _json_list(chosen.ids))
    if chosen.not_ids is not None:
        statement.add("id NOT IN (SELECT value FROM json_each(?))", _json_list(chosen.not_ids))
    if chosen.under is not None:
        expression, *values = _column(reader, chosen.column)
        statement.add(f"{expression} < ?", *values, chosen.under)
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


def _order(reader: RunReader, chosen: CaseFilter, statement: _Statement) -> str:
    direction = " DESC" if chosen.descending else ""
    if chosen.sort == "order":
        return f"n{direction}"
    if chosen.sort == "worst":
        return ", ".join(f"{key}{direction}" for key in _WORST_FIRST)
    # Cases without a value are last in either direction.
    expression, *values = _column(reader, chosen.sort)
    # The expression comes twice in the order, and so do the values of its parameters.
    statement.values += [*values, *values]
    return f"{expression} IS NULL, {expression}{direction}, n"


def _column(reader: RunReader, name: str) -> list[Any]:
    """The SQL of a metric or column, and the values of its parameters."""
    metrics = metric_names(reader)
    if name in metrics:
        return ["(SELECT value FROM scores WHERE scores.n = cases.n AND metric = ?)", name]
    if name in SORTS[2:]:
        return [name]
    names = (*SORTS, *metrics)
    raise InputError(f'no column "{name}"{did_you_mean(name, names)}; there are {", ".join(names)}')
