"""results.csv: the results as a table that a spreadsheet cannot be tricked by."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import IO, Any

from answerkey.types import Json

_COLUMNS = (
    "id", "source_file", "question_num", "type", "question", "expected_answer", "answer", "route", "expected_route",
    "sources", "response_time", "error",
)  # fmt: skip
_VERDICT = ("status", "score", "quality", "route_score", "band", "justification")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Table:
    def __init__(self, file: IO[str], metrics: Sequence[str]) -> None:
        self._metrics = metrics
        self._writer = csv.writer(file)
        self._writer.writerow([*_COLUMNS, *_VERDICT, *metrics])

    def add(self, line: Json) -> None:
        verdict, scores = line["verdict"], line["scores"]
        cells = [inert(line[name]) for name in _COLUMNS]
        cells += [inert(verdict[name]) for name in _VERDICT]
        cells += [_score(scores.get(name)) for name in self._metrics]
        self._writer.writerow(cells)


def inert(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets a quote in front; numbers stay numbers."""
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, str) and value[:1].isalnum() and "\0" not in value:
        return value
    if isinstance(value, list):
        value = " | ".join(str(item) for item in value)
    text = str(value).replace("\0", "")
    return f"'{text}" if text.lstrip(" \n").startswith(_FORMULA) else text


def _score(score: Json | None) -> Any:
    """A number; empty where the metric does not apply; ERROR where it broke."""
    if score is None:
        return ""
    return "ERROR" if score["error"] is not None else score["value"]
