"""Lists of the cases of a run, filtered and sorted by its database."""

import sqlite3
from contextlib import closing

import pytest

from answerkey.errors import InputError
from answerkey.runs.case_list import (
    CaseFilter,
    count_cases,
    count_values,
    list_and_count,
    list_positions,
    places_of,
    position_of_place,
)
from answerkey.runs.database import create_tables
from answerkey.runs.repeats import Repeats
from answerkey.runs.run_reader import RunReader
from answerkey.runs.run_writer import RowRules, RunWriter, Scored
from answerkey.types import Case, Outcome, Response, Score, Verdict

CASES = [
    ("PERFECT", 0.9, "refund", 0.2),
    ("FAILED", 0.4, "leave", None),
    ("SCORED", None, "refund", 0.8),
    ("ERROR", None, None, 0.5),
    ("FAILED", 0.1, "100% refund_now", 0.1),
]


@pytest.fixture
def reader():
    """Five cases; that of the type `None` has none."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create_tables(connection)
        writer = RunWriter(connection, RowRules())
        scored = [
            Scored(
                n,
                Outcome(
                    Case(f"c{n}", f"About {kind}?", type=kind),
                    Response("yes"),
                    {"exact_match": Score(value)},
                    Verdict(status, score, score, passed=status == "PERFECT"),
                ),
            )
            for n, (status, score, kind, value) in enumerate(CASES)
        ]
        writer.add_scores(scored, with_answers=True)
        yield RunReader(connection, Repeats())


def test_worst_first_is_errors_then_failures_by_score_then_undecided_cases(reader):
    assert list_positions(reader, CaseFilter(sort="worst")) == [3, 4, 1, 0, 2]
    assert list_positions(reader, CaseFilter(sort="worst"), limit=2, offset=1) == [4, 1]


def test_cases_without_a_value_are_last_in_either_direction(reader):
    assert list_positions(reader, CaseFilter(sort="exact_match")) == [4, 0, 3, 2, 1]
    assert list_positions(reader, CaseFilter(sort="exact_match", descending=True)) == [
        2,
        3,
        0,
        4,
        1,
    ]


def test_a_search_takes_its_signs_as_they_are(reader):
    assert list_positions(reader, CaseFilter(search="REFUND", sort="order")) == [0, 2, 4]
    assert list_positions(reader, CaseFilter(search="100%", sort="order")) == [4]
    assert list_positions(reader, CaseFilter(search="refund_", sort="order")) == [4]


def test_a_missing_value_is_a_value(reader):
    chosen = CaseFilter(values=(("type", ("leave", None)),), sort="order")
    assert list_positions(reader, chosen) == [1, 3]
    assert count_cases(reader, chosen) == 2
    assert count_values(reader, "type")[0] == ("refund", 2)


def test_cases_under_a_value(reader):
    assert list_positions(reader, CaseFilter(column="exact_match", under=0.3, sort="order")) == [
        0,
        4,
    ]
    with pytest.raises(InputError, match='no column "exact_mach"; did you mean "exact_match"'):
        list_positions(reader, CaseFilter(sort="exact_mach"))


def test_a_page_comes_with_the_number_of_all_matches(reader):
    found = CaseFilter(search="refund", sort="order")
    assert list_and_count(reader, found, 2, 0) == ([0, 2], 3)
    assert list_and_count(reader, found, 2, 4) == ([], 3)
    assert list_and_count(reader, CaseFilter(search="zebra"), 2, 0) == ([], 0)
    assert list_and_count(reader, CaseFilter(sort="order"), 2, 2) == ([2, 3], 5)


def test_the_usual_order_needs_no_sorting(reader):
    """The index has the expressions of the order; without it a large run is sorted for each page."""
    statements = []
    connection = reader._connection
    connection.set_trace_callback(statements.append)
    list_positions(reader, CaseFilter(), limit=2)
    list_positions(reader, CaseFilter(descending=True), limit=2)
    connection.set_trace_callback(None)
    assert len(statements) == 2
    for statement in statements:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
        assert [row[3] for row in plan] == ["SCAN cases USING INDEX cases_worst"]


def test_places_count_only_the_stored_cases(reader):
    assert position_of_place(reader, 4) == 4
    assert position_of_place(reader, 5) is None
    assert places_of(reader, [4, 0]) == [4, 0]
    reader._connection.execute("DELETE FROM cases WHERE n = 1")
    assert position_of_place(reader, 1) == 2
    assert position_of_place(reader, 4) is None
    assert places_of(reader, [4, 0]) == [3, 0]
