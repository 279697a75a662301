"""The table read from the database equals the one that is made of the outcomes themselves."""

from dataclasses import fields

import numpy as np
import pytest

from answerkey.runs.database import temporary_database
from answerkey.runs.repeats import Repeats
from answerkey.runs.run_reader import RunReader
from answerkey.runs.run_writer import RowRules, RunWriter, Scored
from answerkey.runs.stored_table import read_stored_table
from answerkey.runs.table import RunTable, table_of_run
from answerkey.types import Case, Outcome, Response, Score, Verdict

PASSED = Verdict("PASSED", 0.8, 0.8, band="good", passed=True)
FAILED = Verdict("FAILED", 0.0, 0.0, band="bad", kind="wrong figure", cause="retrieval")
ERROR = Verdict("ERROR", justification="No response: timed out")
OUTCOMES = [
    Outcome(Case("a", "Q?", type="t"), Response("x", seconds=1.0), {"m": Score(0.0)}, PASSED),
    Outcome(
        Case("b", "Q?", expected_route="r"),
        Response("y", route="r", seconds=3.0),
        {"m": Score.not_applicable("why"), "late": Score(2.0)},
        FAILED,
    ),
    Outcome(
        Case("\ud800c", "Q?"),
        Response(error="timed out", seconds=9.0),
        {"m": Score.failed("why")},
        ERROR,
    ),
    Outcome(Case("d", "Q?"), Response("z"), {}, PASSED),
]


def stored(outcomes, times=1) -> RunReader:
    connection = temporary_database()
    repeats = Repeats(times, times)
    writer = RunWriter(connection, RowRules(repeats))
    answers = [Scored(n, outcome) for n, outcome in enumerate(outcomes)]
    writer.add_scores(answers, with_answers=True)
    return RunReader(connection, repeats)


def assert_equal_tables(a: RunTable, b: RunTable) -> None:
    for field in fields(RunTable):
        if field.name != "metrics":
            one = getattr(a, field.name)
            other = getattr(b, field.name)
            assert one.dtype == other.dtype, field.name
            np.testing.assert_array_equal(one, other, field.name)
    assert a.metrics.keys() == b.metrics.keys()
    for name, column in a.metrics.items():
        for field in fields(column):
            np.testing.assert_array_equal(
                getattr(column, field.name), getattr(b.metrics[name], field.name), name
            )


@pytest.mark.parametrize("count", [0, 1, len(OUTCOMES)])
def test_the_same_columns_as_of_the_outcomes(count):
    outcomes = OUTCOMES[:count]
    assert_equal_tables(read_stored_table(stored(outcomes)), table_of_run(outcomes))


def test_with_repeats_a_case_has_a_row_and_every_answer_a_time():
    repeats = Repeats(2, 2)
    answers = [OUTCOMES[0], OUTCOMES[0], OUTCOMES[3], OUTCOMES[1]]
    table = read_stored_table(stored(answers, times=2))
    assert table.times.tolist() == [1.0, 1.0, 3.0]
    assert table.time_rows.tolist() == [0, 0, 1]
    assert_equal_tables(
        table, table_of_run([repeats.combine(answers[:2]), repeats.combine(answers[2:])])
    )


def test_an_answer_whose_case_is_not_decided_has_no_time():
    table = read_stored_table(stored([OUTCOMES[0]], times=2))
    assert len(table) == 0
    assert len(table.times) == 0
