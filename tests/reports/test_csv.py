"""results.csv: every column once, and text that can do nothing."""

from __future__ import annotations

import csv
import io

import pytest

from answerkey.reports.csv import ResultsCsv, csv_cell
from answerkey.reports.result_columns import ResultColumns
from answerkey.types import Case, Outcome, Response, Score, Verdict


def outcome(n: int, route: str, **scores: Score) -> Outcome:
    case = Case(f"c{n}", "q?", ("a",), expected_route="sales")
    verdict = Verdict("PASSED", score=0.8, route_score=0.7, band="good", passed=True)
    return Outcome(case, Response("a", route=route), {"recall@5": Score(n / 4), **scores}, verdict)


def rows_of(outcomes: list[Outcome], *metrics: str) -> list[list[str]]:
    file = io.StringIO()
    table = ResultsCsv(file, ResultColumns({"question": "question", "id": "id"}, metrics, ()))
    for one in outcomes:
        table.add(one)
    file.seek(0)
    return list(csv.reader(file))


def test_no_column_has_the_name_of_another():
    scores = {"route_score": Score(0.7), "score": Score(0.25)}
    header, row = rows_of([outcome(0, "docs", **scores)], "route_score", "recall@5", "score")
    assert len(set(header)) == len(header) == len(row)
    found = dict(zip(header, row, strict=True))
    assert (found["route_score"], found["score"], found["scores.score"], found["recall@5"]) == (
        "0.7",
        "0.8",
        "0.25",
        "0.0",
    )


def test_a_route_score_that_broke_is_no_empty_cell():
    header, row = rows_of([outcome(0, "docs", route_score=Score.failed("boom"))], "route_score")
    assert row[header.index("route_score")] == "ERROR"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plain \x1b[2Jtext", "plain \ufffd[2Jtext"),
        ("a\u202eb", "a\ufffdb"),
        ("two\r\nlines", "two\nlines"),
        ("\r=1+1", "'\n=1+1"),
        ("=1+1", "'=1+1"),
        ("", ""),
        ("\u0928\u200d\u0926", "\u0928\u200d\u0926"),  # a joiner is part of the writing
    ],
)
def test_a_cell_steers_neither_a_terminal_nor_a_spreadsheet(text: str, told: str):
    assert csv_cell(text) == told
