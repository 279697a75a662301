"""The short columns of a run: everything a table of cases shows, without the long texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from answerkey.runs.case_list import metric_names
from answerkey.runs.run_reader import RunReader
from answerkey.runs.store import file_state, open_reader
from answerkey.types import Outcome

FAILED = "error"
Value = float | str | None
_COLUMNS = (
    "n", "id", "question", "type", "route", "expected_route", "acceptable_route", "seconds",
    "status", "band", "passed", "reason", "score", "quality",
)  # fmt: skip
_FLAGS = ("acceptable_route", "passed")


@dataclass(slots=True)
class Rows:
    """One entry per case in every column, in case order.

    `n` is the position of the case in the suite; its place in the columns is another number where
    not all cases of the suite were run. The value of a metric is a number, None where it is not
    applicable, or "error".
    """

    n: list[int] = field(default_factory=list[int])
    id: list[str] = field(default_factory=list[str])
    question: list[str] = field(default_factory=list[str])
    type: list[str | None] = field(default_factory=list[str | None])
    route: list[str | None] = field(default_factory=list[str | None])
    expected_route: list[str | None] = field(default_factory=list[str | None])
    acceptable_route: list[bool] = field(default_factory=list[bool])
    seconds: list[float | None] = field(default_factory=list[float | None])
    status: list[str] = field(default_factory=list[str])
    band: list[str] = field(default_factory=list[str])
    passed: list[bool] = field(default_factory=list[bool])
    reason: list[str] = field(default_factory=list[str])
    score: list[float | None] = field(default_factory=list[float | None])
    quality: list[float | None] = field(default_factory=list[float | None])
    metrics: dict[str, list[Value]] = field(default_factory=dict[str, list[Value]])

    def __len__(self) -> int:
        return len(self.id)


def read_rows(folder: Path) -> Rows:
    """The columns of all cases of a run; read again only when its files change."""
    return _read_rows(folder.absolute(), file_state(folder))


# Few: the columns of a large run take memory.
@lru_cache(maxsize=4)
def _read_rows(folder: Path, state: str) -> Rows:
    return _select_rows(open_reader(folder), "")


def read_rows_at(folder: Path, positions: Sequence[int]) -> Rows:
    """The columns of the cases at these positions, in case order."""
    return _select_rows(open_reader(folder), f" WHERE n IN ({', '.join(map(str, positions))})")


def _select_rows(reader: RunReader, where: str) -> Rows:
    rows = Rows()
    cells = reader.query(f"SELECT {', '.join(_COLUMNS)} FROM cases{where} ORDER BY n")
    # Without a row `zip(*cells)` has no columns to compare with.
    for name, column in zip(_COLUMNS, zip(*cells, strict=True), strict=bool(cells)):
        setattr(rows, name, list(map(bool, column)) if name in _FLAGS else list(column))
    # An id with half a surrogate pair is escaped in its column.
    for place, case in enumerate(rows.id):
        if "\\ud" in case:
            rows.id[place] = next(reader.at([rows.n[place]])).case.id
    rows.metrics = {name: [None] * len(rows) for name in metric_names(reader)}
    places = {n: place for place, n in enumerate(rows.n)}
    scores = reader.query(f"SELECT n, metric, value, state FROM scores{where}")
    for n, metric, value, state in scores:
        # A run in progress may have added a case since the first query.
        if n in places:
            rows.metrics[metric][places[n]] = FAILED if state == FAILED else value
    return rows


def read_outcome(folder: Path, rows: Rows, place: int) -> Outcome:
    """The whole case at a place in the rows, whatever the size of the run."""
    return read_outcomes_at(folder, rows, [place])[0]


def read_outcomes_at(folder: Path, rows: Rows, places: Sequence[int]) -> list[Outcome]:
    return list(open_reader(folder).at([rows.n[place] for place in places]))
