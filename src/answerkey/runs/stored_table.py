"""The table of a stored run, read from the short columns of its database."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from answerkey.runs.case_list import metric_names
from answerkey.runs.run_reader import RunReader
from answerkey.runs.table import CASE_COLUMNS, KINDS, Flags, MetricColumn, Numbers, RunTable

Positions = NDArray[np.int64]
_SECONDS = "seconds"


def read_stored_table(reader: RunReader) -> RunTable:
    """The cases of a run, also those whose answer has no verdict yet."""
    names = (*CASE_COLUMNS, _SECONDS)
    rows = reader.query(f"SELECT {', '.join(names)} FROM cases ORDER BY n")
    columns: dict[str, Any] = {}
    for place, name in enumerate(names):
        # A number that is NULL becomes NaN.
        columns[name] = np.array([row[place] for row in rows], dtype=KINDS.get(name, float))
    # An id with half a surrogate pair is escaped in its column.
    for row, case in enumerate(columns["id"]):
        if "\\ud" in case:
            columns["id"][row] = next(reader.at([int(columns["n"][row])])).case.id
    seconds = columns.pop(_SECONDS)
    times, time_rows = _read_times(reader, columns["n"], seconds, columns["answered"])
    metrics = _read_metrics(reader, columns["n"])
    return RunTable(**columns, times=times, time_rows=time_rows, metrics=metrics)


def _read_times(
    reader: RunReader, n: Positions, seconds: Numbers, answered: Flags
) -> tuple[Numbers, Positions]:
    """The seconds of all answers without an error, and their rows."""
    if reader.repeats.times == 1:
        time_rows = np.flatnonzero(answered & ~np.isnan(seconds))
        return seconds[time_rows], time_rows
    # The row of a case has the time of one of its answers only.
    answers = reader.query(
        "SELECT n, json_extract(response_json, '$.seconds') AS seconds FROM answers"
        " WHERE failed = 0 AND seconds IS NOT NULL ORDER BY place"
    )
    positions = np.array([position for position, _ in answers], dtype=np.int64)
    times = np.array([value for _, value in answers], dtype=np.float64)
    # A case has no row before all its answers are there.
    is_listed = np.isin(positions, n)
    return times[is_listed], np.searchsorted(n, positions[is_listed])


def _read_metrics(reader: RunReader, n: Positions) -> dict[str, MetricColumn]:
    columns: dict[str, MetricColumn] = {}
    for metric in metric_names(reader):
        columns[metric] = MetricColumn(
            np.full(len(n), nan), np.zeros(len(n), dtype=np.bool_), np.zeros(len(n), dtype=np.bool_)
        )
    rows = {position: row for row, position in enumerate(n.tolist())}
    for position, metric, value, state in reader.query(
        "SELECT n, metric, value, state FROM scores"
    ):
        row = rows.get(position)
        # A run in progress may have added a case or a metric since its rows were read.
        if row is None or metric not in columns:
            continue
        column = columns[metric]
        column.values[row] = nan if value is None else value
        column.failed[row] = state == "error"
        column.not_applicable[row] = state == "not applicable"
    return columns
