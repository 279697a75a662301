"""The cases of a run as columns: what summary, gates, charts, viewer and calibration read.

A million cases with ten metrics take about 350 MB here, most of it texts.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from answerkey.runs.case_row import CaseRow, case_row
from answerkey.types import Outcome, Score

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Texts = NDArray[np.object_]
_TEXTS = ("id", "type", "source_file", "route", "expected_route", "status", "band", "reason", "kind",
          "cause", "error", "error_kind", "cluster")  # fmt: skip
_NUMBERS = ("score", "quality")
_FLAGS = ("answered", "passed")
_WHOLE = ("n", "attempts", "attempts_passed")
CASE_COLUMNS = (*_TEXTS, *_NUMBERS, *_FLAGS, *_WHOLE)
KINDS: dict[str, type] = {
    **dict.fromkeys(_TEXTS, object),
    **dict.fromkeys(_NUMBERS, float),
    **dict.fromkeys(_FLAGS, bool),
    **dict.fromkeys(_WHOLE, int),
    "times": float,
    "time_rows": int,
}


@dataclass(frozen=True, slots=True, eq=False)
class MetricColumn:
    """The values of one metric, NaN where there is none, and why there is none."""

    values: Numbers
    failed: Flags
    not_applicable: Flags

    def at(self, row: int) -> float | None:
        value = float(self.values[row])
        return None if np.isnan(value) else value

    def select(self, rows: NDArray[Any]) -> MetricColumn:
        return MetricColumn(self.values[rows], self.failed[rows], self.not_applicable[rows])


@dataclass(frozen=True, slots=True, eq=False)
class RunTable:
    """One entry per case in every column, in case order.

    A number that is not known is NaN. Texts are arrays of Python strings, None where there is none.
    `times` are the seconds of all answers without an error, `time_rows` the rows they belong to:
    with repeats a case has several.
    """

    n: NDArray[np.int64]
    id: Texts
    type: Texts
    source_file: Texts
    route: Texts
    expected_route: Texts
    answered: Flags
    status: Texts
    passed: Flags
    score: Numbers
    quality: Numbers
    band: Texts
    reason: Texts
    kind: Texts
    cause: Texts
    error: Texts
    error_kind: Texts
    cluster: Texts
    attempts: NDArray[np.int64]
    attempts_passed: NDArray[np.int64]
    times: Numbers
    time_rows: NDArray[np.int64]
    metrics: dict[str, MetricColumn] = field(default_factory=dict[str, MetricColumn])

    def __len__(self) -> int:
        return len(self.id)

    def number(self, column: str, row: int) -> float | None:
        """A score or quality; None where it is not known."""
        value = float(getattr(self, column)[row])
        return None if np.isnan(value) else value

    def where(self, column: str, value: object) -> RunTable:
        """The cases with this value in a column of texts."""
        return self.select(np.flatnonzero(getattr(self, column) == value))

    def select(self, rows: NDArray[Any]) -> RunTable:
        """The cases of these rows, in their order."""
        # Times are listed by answer, so their rows are renumbered like the cases.
        places = np.full(len(self), -1, dtype=np.int64)
        places[rows] = np.arange(len(rows))
        time_rows = places[self.time_rows]
        kept = time_rows >= 0
        return RunTable(
            **{name: getattr(self, name)[rows] for name in CASE_COLUMNS},
            times=self.times[kept],
            time_rows=time_rows[kept],
            metrics={name: column.select(rows) for name, column in self.metrics.items()},
        )

    @property
    def judged(self) -> Flags:
        """The cases that a profile decided."""
        return ~np.isnan(self.score)

    @property
    def clusters(self) -> Texts | None:
        """The cluster of each case; None where no case is dependent on another."""
        if any(name is not None for name in self.cluster):
            return self.cluster
        return None


class _Column:
    """One column that grows. What is read as an array is kept as this array, and not twice."""

    def __init__(self, kind: type) -> None:
        self._read: NDArray[Any] = np.empty(0, dtype=kind)
        self._added = self._no_cells()

    def _no_cells(self) -> Any:
        # An array has 8 bytes per number, a list of floats 32: a million cases with ten metrics
        # would take 240 MB more.
        if self._read.dtype == np.object_:
            return []
        if self._read.dtype == np.bool_:
            return bytearray()
        if self._read.dtype == np.float64:
            return array("d")
        return array("q")

    def __len__(self) -> int:
        return len(self._read) + len(self._added)

    def append(self, cell: object) -> None:
        self._added.append(cell)

    def fill(self, count: int, cell: object) -> None:
        """Append `cell` until there are `count` of them."""
        self._added.extend([cell] * (count - len(self)))

    def read(self) -> NDArray[Any]:
        if len(self._added):
            cells: NDArray[Any] = np.empty(len(self), dtype=self._read.dtype)
            cells[: len(self._read)] = self._read
            cells[len(self._read) :] = self._added
            self._read = cells
            self._added = self._no_cells()
        return self._read


class _MetricCells:
    """The cells of one metric. A case that the metric was not measured for has no flag."""

    def __init__(self) -> None:
        self.values = _Column(float)
        self.failed = _Column(bool)
        self.not_applicable = _Column(bool)

    def fill(self, count: int) -> None:
        self.values.fill(count, nan)
        self.failed.fill(count, False)
        self.not_applicable.fill(count, False)

    def add(self, score: Score) -> None:
        self.values.append(nan if score.value is None else score.value)
        self.failed.append(score.error is not None)
        self.not_applicable.append(score.error is None and score.value is None)

    def read(self) -> MetricColumn:
        return MetricColumn(self.values.read(), self.failed.read(), self.not_applicable.read())


class TableBuilder:
    """Collects outcomes, one after the other, and makes a `RunTable` of them."""

    def __init__(self, *, scale: float = 1.0, cluster_column: str = "") -> None:
        self._scale = scale
        self._cluster_column = cluster_column
        self._columns = {name: _Column(kind) for name, kind in KINDS.items()}
        self._metrics: dict[str, _MetricCells] = {}
        self._texts: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._columns["id"])

    def add(self, outcome: Outcome, n: int | None = None) -> None:
        """Add the outcome of a case; `n` is its position, by default the next one."""
        place = len(self)
        row = case_row(
            place if n is None else n,
            outcome,
            scale=self._scale,
            cluster_column=self._cluster_column,
        )
        self._add_row(row)
        for attempt in outcome.attempts or (outcome,):
            response = attempt.response
            # The time until an error says nothing about how fast the bot answers.
            if response.seconds is not None and response.error is None:
                self._columns["times"].append(response.seconds)
                self._columns["time_rows"].append(place)
        for name, score in outcome.scores.items():
            cells = self._metrics.setdefault(name, _MetricCells())
            # Earlier cases may not have had this metric.
            cells.fill(place)
            cells.add(score)

    def _add_row(self, row: CaseRow) -> None:
        for name in CASE_COLUMNS:
            cell = getattr(row, name)
            if cell is None and name in _NUMBERS:
                cell = nan
            elif isinstance(cell, str) and name != "id":
                # One object for each text that repeats: all columns but ids have few.
                cell = self._texts.setdefault(cell, cell)
            self._columns[name].append(cell)

    def table(self) -> RunTable:
        """The table of the outcomes so far."""
        for cells in self._metrics.values():
            cells.fill(len(self))
        columns: dict[str, Any] = {name: cells.read() for name, cells in self._columns.items()}
        metrics = {name: cells.read() for name, cells in self._metrics.items()}
        return RunTable(**columns, metrics=metrics)


def table_of_run(outcomes: Iterable[Outcome], *, scale: float = 1.0) -> RunTable:
    """The table of some outcomes."""
    builder = TableBuilder(scale=scale)
    for outcome in outcomes:
        builder.add(outcome)
    return builder.table()
