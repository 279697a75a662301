"""results.csv: one row per case, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import IO

from answerkey.coerce.values import is_list
from answerkey.text import printable, spreadsheet_text
from answerkey.types import Outcome, Score

_CASE_COLUMNS = (
    "id",
    "source_file",
    "question_num",
    "type",
    "question",
    "expected_answer",
    "answer",
    "route",
    "expected_route",
    "sources",
    "response_time",
    "error",
)
_VERDICT_COLUMNS = (
    "status",
    "why",
    "kind",
    "cause",
    "score",
    "quality",
    "route_score",
    "band",
    "justification",
)


class ResultsCsv:
    """Writes results.csv. Column names are unique.

    The verdict's `route_score` is that of the metric, and is written once. Any other metric with
    the name of a column is called `scores.<name>`, its path in results.jsonl.
    """

    def __init__(self, file: IO[str], metrics: Sequence[str], header: bool = True) -> None:
        self._metrics = [name for name in metrics if name != "route_score"]
        self._writer = csv.writer(file)
        if header:
            plain = (*_CASE_COLUMNS, *_VERDICT_COLUMNS)
            titles = [f"scores.{name}" if name in plain else name for name in self._metrics]
            self._writer.writerow([*plain, *titles])

    def add(self, outcome: Outcome) -> None:
        scores = [_score_cell(outcome.scores.get(name)) for name in self._metrics]
        self._writer.writerow([*_case_cells(outcome), *_verdict_cells(outcome), *scores])


def _case_cells(outcome: Outcome) -> list[object]:
    """In the order of `_CASE_COLUMNS`."""
    case = outcome.case
    response = outcome.response
    expected: object = list(case.expected) or None
    if len(case.expected) == 1:
        expected = case.expected[0]
    cells = (
        case.id,
        case.source_file,
        case.question_num,
        case.type,
        case.question,
        expected,
        response.answer,
        response.route,
        case.expected_route,
        response.sources,
        response.seconds,
        response.error,
    )
    return [csv_cell(value) for value in cells]


def _verdict_cells(outcome: Outcome) -> list[object]:
    """In the order of `_VERDICT_COLUMNS`."""
    verdict = outcome.verdict
    cells = (
        verdict.status,
        verdict.why,
        verdict.kind,
        verdict.cause,
        verdict.score,
        verdict.quality,
        _score_cell(outcome.scores.get("route_score")),
        verdict.band,
        verdict.justification,
    )
    return [csv_cell(value) for value in cells]


def csv_cell(value: object) -> object:
    """Text that a spreadsheet would run as a formula gets a quote in front.

    Controls are made visible, numbers stay numbers; results.jsonl keeps the original text.
    """
    if value is None or isinstance(value, (int, float)):
        return value
    # Most cells are plain text: nothing in it needs the slower checks below.
    if isinstance(value, str) and value.isascii() and value.isprintable() and value[:1].isalnum():
        return value
    if is_list(value):
        value = " | ".join(str(item) for item in value)
    text = str(value).replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    return spreadsheet_text(printable(text))


def _score_cell(score: Score | None) -> object:
    """A number; empty if the metric is not applicable; ERROR if it failed."""
    if score is None:
        return ""
    return "ERROR" if score.error is not None else score.value
