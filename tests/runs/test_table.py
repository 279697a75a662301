"""The columns of a run."""

from dataclasses import fields

import numpy as np

from answerkey.runs.case_row import CaseRow, Stage, case_row
from answerkey.runs.table import RunTable, TableBuilder, table_of_run
from answerkey.types import Case, Outcome, Part, Response, Score, Status, Verdict


def outcome(n, status="PASSED", score=0.9, **more):
    scores = {"m": Score(score)} if score is not None else {"m": Score.failed("why")}
    return Outcome(
        Case(f"c{n}", "q?", type=more.get("type"), expected_route=more.get("expected_route")),
        Response(
            "a", route=more.get("route"), seconds=more.get("seconds"), error=more.get("error")
        ),
        more.get("scores", scores),
        Verdict(status, score, score, band=status.lower(), passed=status == "PASSED"),
    )


def test_a_number_that_is_not_known_is_none_and_not_zero():
    table = table_of_run([outcome(0, "FAILED", 0.0), outcome(1, "ERROR", None)])
    assert table.number("score", 0) == 0.0
    assert table.number("score", 1) is None
    assert table.judged.tolist() == [True, False]


def test_a_table_can_be_read_while_outcomes_are_added():
    builder = TableBuilder()
    builder.add(outcome(0, seconds=1.0))
    first = builder.table()
    builder.add(outcome(1, scores={"m": Score(0.5), "late": Score(1.0)}))
    second = builder.table()
    assert first.id.tolist() == ["c0"]
    assert second.id.tolist() == ["c0", "c1"]
    assert second.metrics["m"].values.tolist() == [0.9, 0.5]
    assert [second.metrics["late"].at(row) for row in range(2)] == [None, 1.0]
    assert second.times.tolist() == [1.0]


def test_no_value_says_why_error_or_not_applicable_or_not_measured():
    table = table_of_run(
        [
            outcome(0, scores={"m": Score(0.0)}),
            outcome(1, scores={"m": Score.failed("why")}),
            outcome(2, scores={"m": Score.not_applicable("why")}),
            outcome(3, scores={"other": Score(1.0)}),
        ]
    )
    column = table.metrics["m"]
    assert [column.at(row) for row in range(4)] == [0.0, None, None, None]
    assert column.failed.tolist() == [False, True, False, False]
    assert column.not_applicable.tolist() == [False, False, True, False]
    assert [table.metrics["other"].at(row) for row in range(4)] == [None, None, None, 1.0]


def test_selected_rows_keep_their_times_and_values():
    attempts = (outcome(1, seconds=1.0), outcome(1, seconds=2.0))
    repeated = Outcome(
        attempts[0].case, attempts[0].response, {"m": Score(0.5)}, attempts[0].verdict, attempts
    )
    table = table_of_run([outcome(0, type="a", seconds=9.0), repeated, outcome(2, type="a")])
    assert table.times.tolist() == [9.0, 1.0, 2.0]
    assert table.attempts.tolist() == [0, 2, 0]
    rest = table.select(np.array([2, 1]))
    assert rest.id.tolist() == ["c2", "c1"]
    assert sorted(zip(rest.time_rows.tolist(), rest.times.tolist(), strict=True)) == [
        (1, 1.0),
        (1, 2.0),
    ]
    assert rest.metrics["m"].values.tolist() == [0.9, 0.5]
    assert table.where("type", "a").id.tolist() == ["c0", "c2"]


def test_the_table_of_no_cases_has_every_column():
    table = table_of_run([])
    assert isinstance(table, RunTable)
    assert len(table) == 0
    assert table.clusters is None


def test_columns_follow_the_names_of_the_row():
    row = case_row(7, outcome(3, "FAILED", 0.2), stage=Stage.STOPPED)
    table = table_of_run([outcome(3, "FAILED", 0.2)])
    columns = {each.name for each in fields(RunTable)}
    for name in columns.intersection(CaseRow._fields):
        expected = row.n - 7 if name == "n" else getattr(row, name)
        assert getattr(table, name).tolist() == [expected], name
    assert columns - set(CaseRow._fields) == {"times", "time_rows", "metrics"}
    assert (row.n, row.stage, row.status, row.reason) == (
        7,
        "stopped",
        Status.FAILED,
        "below the pass mark",
    )


def test_the_reason_of_a_failure_is_short_and_shared():
    parts = (Part("a", 0.1, 1.0, 0.5, 0.05), Part("b", 0.9, 1.0, 0.5, 0.45))
    failed = Outcome(Case("1", "q"), Response("x"), {}, Verdict("FAILED", 0.5, parts=parts))
    assert case_row(0, failed).reason == "low a"
    numbers = Outcome(
        Case("1", "q"), Response("x"), {"number_close": Score(0.0)}, Verdict("FAILED", 0.5)
    )
    assert case_row(0, numbers).reason == "wrong figure"
    lost = Outcome(Case("1", "q"), Response(error="no"), {}, Verdict("ERROR", justification="No"))
    assert case_row(0, lost).reason == "no response"
    astray = Outcome(
        Case("1", "q", expected_route="a", acceptable_routes=("b",)),
        Response("x", route="c"),
        {},
        Verdict("FAILED", 0.5),
    )
    assert case_row(0, astray).reason == "wrong route"


def test_errors_with_the_same_cause_have_the_same_kind():
    def failed(case_id, **response):
        text = f'No response: "{case_id}" was refused'
        return case_row(
            0,
            Outcome(
                Case(case_id, "q"), Response(**response), {}, Verdict("ERROR", justification=text)
            ),
        )

    assert failed("q1").error_kind == failed("q2").error_kind
    assert failed("q1").error != failed("q2").error
    assert failed("q1", error="x", error_name="timeout").error_kind == "No response: timeout"
    assert case_row(0, outcome(0)).error is None
