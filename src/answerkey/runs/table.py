"""The cases of a run as columns: what summary, gates, charts, viewer and calibration read.

A million cases with ten metrics take about 400 MB here, most of it ids.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from answerkey.runs.case_row import CaseRow, Stage, case_row
from answerkey.types import Outcome, Score

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Texts = NDArray[np.object_]
_TEXT = ("id", "type", "source_file", "route", "expected_route", "status", "band", "reason", "kind",
         "cause", "error", "error_kind", "cluster", "stage")  # fmt: skip
_NUMBER = ("seconds", "score", "quality")
_FLAG = ("acceptable_route", "answered", "has_passages", "passed")
_WHOLE = ("n", "attempts", "attempts_passed")


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
    acceptable_route: Flags
    seconds: Numbers
    answered: Flags
    has_passages: Flags
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
    stage: Texts
    times: Numbers
    time_rows: NDArray[np.int64]
    metrics: dict[str, MetricColumn] = field(default_factory=dict[str, MetricColumn])

    def __len__(self) -> int:
        return len(self.id)

    def number(self, column: str, row: int) -> float | None:
        """A score, quality or number of seconds; None where it is not known."""
        value = float(getattr(self, column)[row])
        return None if np.isnan(value) else value

    def where(self, column: str, value: object) -> RunTable:
        """The cases with this value in a column of texts."""
        return self.select(np.flatnonzero(getattr(self, column) == value))

    def select(self, rows: NDArray[Any]) -> RunTable:
        """The cases of these rows, in their order."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        metrics = {name: column.select(rows) for name, column in self.metrics.items()}
        # Times are listed by answer, so their rows are renumbered like the cases.
        places = np.full(len(self), -1, dtype=np.int64)
        places[rows] = np.arange(len(rows))
        time_rows = places[self.time_rows]
        kept = time_rows >= 0
        chosen = {name: columns[name][rows] for name in (*_TEXT, *_NUMBER, *_FLAG, *_WHOLE)}
        return RunTable(
            **chosen, times=self.times[kept], time_rows=time_rows[kept], metrics=metrics
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


# An array has 8 bytes per number, a list of floats 32: a million cases with ten metrics would take
# 240 MB more.
@dataclass(slots=True)
class _MetricCells:
    values: array[float] = field(default_factory=lambda: array("d"))
    failed: list[int] = field(default_factory=list[int])  # rows
    not_applicable: list[int] = field(default_factory=list[int])  # rows


class CaseColumns:
    """The columns of `CaseRow`, filled chunk by chunk: whole rows of a large run are never kept."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str | None]] = {name: [] for name in _TEXT}
        self._numbers: dict[str, array[float]] = {name: array("d") for name in _NUMBER}
        self._flags: dict[str, bytearray] = {name: bytearray() for name in _FLAG}
        self._whole: dict[str, array[int]] = {name: array("q") for name in _WHOLE}
        self._known: dict[str | None, str | None] = {}

    def __len__(self) -> int:
        return len(self._texts["id"])

    def extend(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows, each with the values of a `CaseRow` in order."""
        # Without rows `zip(*rows)` has no columns to compare with.
        for name, cells in zip(CaseRow._fields, zip(*rows, strict=True), strict=bool(rows)):
            if name in self._texts:
                self._texts[name] += self._share(name, cells)
            elif name in self._numbers:
                self._numbers[name].extend(nan if cell is None else cell for cell in cells)
            elif name in self._flags:
                self._flags[name].extend(map(bool, cells))
            else:
                self._whole[name].extend(cells)

    def _share(self, name: str, texts: Sequence[str | None]) -> Sequence[str | None]:
        """The same texts, with one object for each that repeats: all columns but ids have few."""
        if name == "id":
            return texts
        return [self._known.setdefault(text, text) for text in texts]

    def table(
        self,
        metrics: Mapping[str, MetricColumn],
        times: Sequence[float],
        time_rows: Sequence[int],
    ) -> RunTable:
        columns: dict[str, Any] = {}
        for name, texts in self._texts.items():
            # Filled in two steps: numpy would make a fixed-width array of texts.
            columns[name] = np.empty(len(texts), dtype=object)
            columns[name][:] = texts
        columns |= {name: np.array(cells) for name, cells in self._numbers.items()}
        columns |= {name: np.array(cells, dtype=np.int64) for name, cells in self._whole.items()}
        for name, cells in self._flags.items():
            # One byte per flag is numpy's own layout, so nothing is converted.
            columns[name] = np.frombuffer(bytes(cells), dtype=np.bool_)
        return RunTable(
            **columns,
            times=np.array(times, dtype=np.float64),
            time_rows=np.array(time_rows, dtype=np.int64),
            metrics=dict(metrics),
        )


class TableBuilder:
    """Collects outcomes, one after the other, and makes a `RunTable` of them."""

    def __init__(self, *, scale: float = 1.0, cluster_column: str = "") -> None:
        self._scale = scale
        self._cluster_column = cluster_column
        self._columns = CaseColumns()
        self._metrics: dict[str, _MetricCells] = {}
        self._times = array("d")
        self._time_rows = array("q")

    def add(self, outcome: Outcome, n: int | None = None, stage: Stage = Stage.SCORED) -> None:
        row = len(self._columns)
        new = case_row(
            row if n is None else n,
            outcome,
            scale=self._scale,
            cluster_column=self._cluster_column,
            stage=stage,
        )
        self._columns.extend([new])
        for attempt in outcome.attempts or (outcome,):
            response = attempt.response
            # The time until an error says nothing about how fast the bot answers.
            if response.seconds is not None and response.error is None:
                self._times.append(response.seconds)
                self._time_rows.append(row)
        for name, score in outcome.scores.items():
            self._add_score(row, name, score)

    def _add_score(self, row: int, name: str, score: Score) -> None:
        cells = self._metrics.setdefault(name, _MetricCells())
        # A metric that earlier cases did not have starts late; the gap is NaN.
        cells.values.extend([nan] * (row - len(cells.values)))
        cells.values.append(nan if score.value is None else score.value)
        if score.error is not None:
            cells.failed.append(row)
        elif score.value is None:
            cells.not_applicable.append(row)

    def table(self) -> RunTable:
        count = len(self._columns)
        metrics: dict[str, MetricColumn] = {}
        for name, cells in self._metrics.items():
            values = np.full(count, nan)
            values[: len(cells.values)] = cells.values
            failed = flags_at(cells.failed, count)
            metrics[name] = MetricColumn(values, failed, flags_at(cells.not_applicable, count))
        return self._columns.table(metrics, self._times, self._time_rows)


def flags_at(rows: Sequence[int], count: int) -> Flags:
    """Flags for `count` rows, set for these."""
    flags = np.zeros(count, dtype=np.bool_)
    flags[np.array(rows, dtype=np.intp)] = True
    return flags


def table_of_run(outcomes: Iterable[Outcome], *, scale: float = 1.0) -> RunTable:
    """The table of some outcomes."""
    builder = TableBuilder(scale=scale)
    for outcome in outcomes:
        builder.add(outcome)
    return builder.table()
