"""Rows of a run: what is merged from another database takes the place of what was there."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from answerkey.runs.database import create_tables
from answerkey.runs.repeats import Repeats
from answerkey.runs.run_reader import RunReader
from answerkey.runs.run_writer import RowRules, RunWriter, Scored
from answerkey.types import Case, Outcome, Response, Score, Verdict


def outcome(case="a", answer="yes", value=1.0, status="PASSED"):
    verdict = Verdict(status, value, value, passed=status == "PASSED")
    return Outcome(Case(case, "?"), Response(answer), {"exact_match": Score(value)}, verdict)


class Database:
    """A run in a file, with its writer and reader."""

    def __init__(self, path, times=1):
        self.path = path
        repeats = Repeats(times, times // 2 + 1)
        self.connection = sqlite3.connect(path, isolation_level=None)
        create_tables(self.connection)
        self.writer = RunWriter(self.connection, RowRules(repeats))
        self.reader = RunReader(self.connection, repeats)

    def add(self, *scored):
        self.writer.add_scores([Scored(*each) for each in scored], with_answers=True)
        return self

    def close(self):
        self.connection.close()


@pytest.fixture
def database(tmp_path):
    opened = []

    def make(name, times=1):
        opened.append(Database(tmp_path / name, times))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def test_merged_rows_follow_those_that_are_here(database):
    run = database("run").add((0, outcome("a")))
    shard = database("shard").add((2, outcome("c")), (1, outcome("b", value=0.0, status="FAILED")))
    assert sorted(run.writer.merge(shard.path)) == [1, 2]
    assert [each.case.id for each in run.reader.outcomes()] == ["a", "b", "c"]
    numbers = [row[0] for row in run.reader.verdicts_since(0)]
    assert numbers == [1, 2, 3]
    run.add((3, outcome("d")))
    assert [row[0] for row in run.reader.verdicts_since(3)] == [4]
    scores = run.reader.query("SELECT n, metric, value FROM scores ORDER BY n")
    assert scores == [(n, "exact_match", value) for n, value in enumerate([1.0, 0.0, 1.0, 1.0])]


def test_merging_twice_changes_nothing(database):
    run = database("run")
    shard = database("shard").add((0, outcome("a")), (1, outcome("b")))
    for _ in range(2):
        assert run.writer.merge(shard.path) == [0, 1]
    assert run.reader.records == {"cases": 2, "answers": 2, "verdicts": 2}


def test_a_new_answer_without_a_verdict_takes_the_old_verdict_away(database):
    run = database("run").add((0, outcome("a", "no", 0.0, "ERROR")))
    shard = database("shard")
    shard.writer.add_answers([(0, Case("a", "?"), Response("yes"))])
    assert run.writer.merge(shard.path) == []
    assert run.reader.records == {"cases": 0, "answers": 1, "verdicts": 0}
    assert run.reader.query("SELECT stage FROM cases") == [("answered",)]
    assert run.reader.query("SELECT * FROM scores") == []


def test_repeats_of_one_case_in_two_databases_are_combined(database):
    run = database("run", times=3).add((0, outcome()), (1, outcome()))
    shard = database("shard", times=3).add((2, outcome(value=0.0, status="FAILED")))
    run.writer.merge(shard.path)
    ((n, combined),) = run.reader.numbered_outcomes()
    assert n == 0
    assert len(combined.attempts) == 3
    rows = run.reader.query("SELECT attempts, attempts_passed, passed FROM cases")
    assert rows == [(3, 2, 1)]


def test_half_a_character_is_stored_in_full(database):
    run = database("run")
    case = replace(outcome(), case=Case("\ud800", "\ud800?"))
    run.add((0, case))
    with closing(sqlite3.connect(run.path)) as other:
        assert other.execute("SELECT id FROM cases").fetchall() == [("\\ud800",)]
    assert next(run.reader.outcomes()).case.id == "\ud800"
