"""results.csv: one row per case, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from typing import IO

from answerkey.coerce.values import is_list
from answerkey.reports.result_columns import RESULTS, ResultColumns
from answerkey.text import printable, spreadsheet_text
from answerkey.types import Outcome


class ResultsCsv:
    """Writes results.csv: the user's columns under their own names, then the results.

    A metric that failed is `ERROR`, one that is not applicable an empty cell.
    """

    def __init__(self, file: IO[str], columns: ResultColumns, header: bool = True) -> None:
        self._columns = columns
        # Where the scores of the metrics stand in a row of results.
        self._first_score = len(columns.user) + len(RESULTS)
        self._writer = csv.writer(file)
        if header:
            self._writer.writerow([csv_cell(title) for title in columns.titles()])

    def add(self, outcome: Outcome) -> None:
        cells = self._columns.row(outcome)
        for place, name in enumerate(self._columns.metrics, start=self._first_score):
            score = outcome.scores.get(name)
            # An empty cell would read as "not applicable", and a 0 as a bad answer.
            if score is not None and score.error is not None:
                cells[place] = "ERROR"
        self._writer.writerow([csv_cell(cell) for cell in cells])


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
