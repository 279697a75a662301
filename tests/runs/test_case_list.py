"""Lists of the cases of a run, filtered and sorted by its database."""

import sqlite3
from contextlib import closing

import pytest

from answerkey.errors import InputError
from answerkey.runs.case_list import CaseFilter, count_cases, count_values, list_positions
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
