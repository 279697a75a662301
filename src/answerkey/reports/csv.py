"""results.csv: one row per case, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import IO, Any

from answerkey.coerce.values import is_list
from answerkey.text import printable, spreadsheet_text
from answerkey.types import Json

_COLUMNS = (
    "id", "source_file", "question_num", "type", "question", "expected_answer", "answer", "route", "expected_route",
    "sources", "response_time", "error",
)  # fmt: skip
_VERDICT = ("status", "score", "quality", "route_score", "band", "justification")
_TAKEN = {*_COLUMNS, *_VERDICT}


class ResultsCsv:
    """Column names are unique: the verdict's `route_score` is the metric's, and is written once; any other metric
    with the name of a column is `scores.<name>`, its path in results.jsonl.
    """

    def __init__(self, file: IO[str], metrics: Sequence[str]) -> None:
        self._metrics = [name for name in metrics if name != "route_score"]
        self._writer = csv.writer(file)
        named = [f"scores.{name}" if name in _TAKEN else name for name in self._metrics]
        self._writer.writerow([*_COLUMNS, *_VERDICT, *named])

    def add(self, line: Json) -> None:
        scores = line["scores"]
        verdict = {**line["verdict"], "route_score": _score(scores.get("route_score"))}
        cells = [csv_cell(line[name]) for name in _COLUMNS]
        cells += [csv_cell(verdict[name]) for name in _VERDICT]
        cells += [_score(scores.get(name)) for name in self._metrics]
        self._writer.writerow(cells)


def csv_cell(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets a quote in front; controls are made visible.

    Numbers stay numbers; results.jsonl keeps the original text.
    """
    if value is None or isinstance(value, (int, float)):
        return value
    if is_list(value):
        value = " | ".join(str(item) for item in value)
    text = printable(str(value).replace("\0", "").replace("\r\n", "\n").replace("\r", "\n"))
    return spreadsheet_text(text)


def _score(score: Json | None) -> Any:
    """A number; empty where the metric is not applicable; ERROR where it failed."""
    if score is None:
        return ""
    return "ERROR" if score["error"] is not None else score["value"]
