"""Writes answers and outcomes into the tables of a run; schema.sql says what each column is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from answerkey.files import json_line
from answerkey.runs.ask import Answered
from answerkey.runs.case_row import CaseRow, Stage, case_row
from answerkey.runs.database import storable, transaction
from answerkey.runs.manifest import Manifest
from answerkey.runs.records import judged_json, to_json
from answerkey.runs.repeats import Repeats
from answerkey.runs.run_reader import RunReader
from answerkey.runs.state import Progress, RunState
from answerkey.text import excerpt
from answerkey.types import Case, Outcome, Response, Score, Status, Verdict

_UNSCORED = Verdict(Status.UNSCORED)


class Scored(NamedTuple):
    """An outcome with its place; `stopped` where the run stops at it, so that it is asked again."""

    n: int
    outcome: Outcome
    stopped: bool = False

    @property
    def stage(self) -> Stage:
        if self.stopped:
            return Stage.STOPPED
        if self.outcome.verdict.status == Status.ERROR:
            return Stage.ERROR
        return Stage.SCORED


def mark_finished(state: RunState, scored: Iterable[Scored]) -> None:
    for each in scored:
        if each.stage == Stage.SCORED:
            state[each.n] = Progress.FINISHED


@dataclass(frozen=True, slots=True)
class RowRules:
    """What the rows of a run depend on besides its outcomes."""

    repeats: Repeats = Repeats()  # noqa: RUF009  (frozen)
    scale: float = 1.0  # the highest score of the profile
    cluster_column: str = ""
    debug: bool = False  # stores the inner values of metrics too

    @staticmethod
    def of_manifest(manifest: Manifest, *, debug: bool = False) -> RowRules:
        profile = manifest.load_profile()
        return RowRules(
            manifest.repeats,
            profile.scale if profile else 1.0,
            manifest.settings.statistics.cluster,
            debug,
        )


class RunWriter:
    """Adds rows to the database of a run; each call is one transaction."""

    def __init__(self, connection: sqlite3.Connection, rules: RowRules) -> None:
        self._connection = connection
        self._rules = rules
        self._reader = RunReader(connection, rules.repeats)
        # Numbers go on after a resume, so that `verdicts_since` misses nothing.
        (self._number,) = connection.execute("SELECT max(number) FROM verdicts").fetchone()
        self._metrics: set[object] = {
            name for (name,) in connection.execute("SELECT metric FROM metrics")
        }

    def add_answers(self, answered: Sequence[Answered]) -> None:
        """Add new answers; the verdict of an earlier answer to the same question goes."""
        with transaction(self._connection):
            # The old verdict goes in the same transaction: it was about another answer.
            self._forget([place for place, _, _ in answered])
            self._insert_answers(answered)
            # With repeats, a case has its row when all attempts are decided.
            if self._rules.repeats.times == 1:
                unscored = [
                    (place, Outcome(case, response, {}, _UNSCORED), Stage.ANSWERED)
                    for place, case, response in answered
                ]
                self._insert_cases(unscored)

    def add_scores(self, scored: Sequence[Scored], *, with_answers: bool = False) -> None:
        """Add the outcomes of stored answers, or with their answers where those are not stored."""
        with transaction(self._connection):
            if with_answers:
                self._insert_answers(
                    [(place, each.case, each.response) for place, each, _ in scored]
                )
            self._connection.executemany(
                "INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                list(self._verdict_rows(scored)),
            )
            self._insert_cases(self._case_outcomes(scored))

    def add_outcomes(self, outcomes: Iterable[tuple[int, Outcome]]) -> None:
        """Add whole outcomes at their positions, each with its answer, or with all its attempts."""
        scored: list[Scored] = []
        for n, outcome in outcomes:
            attempts = outcome.attempts or (outcome,)
            scored += map(Scored, self.repeats.positions(n), attempts)
        self.add_scores(scored, with_answers=True)

    def merge(self, path: Path) -> list[int]:
        """Take over all rows of another database; returns the places of its finished answers."""
        # SQLite attaches outside transactions only.
        self._connection.execute("ATTACH ? AS shard", (str(path),))
        try:
            with transaction(self._connection):
                self._copy_rows()
            (self._number,) = self._connection.execute(
                "SELECT max(number) FROM verdicts"
            ).fetchone()
            rows = self._connection.execute(
                "SELECT place FROM shard.verdicts WHERE stage = ?", (Stage.SCORED,)
            )
            return [place for (place,) in rows]
        finally:
            self._connection.execute("DETACH shard")

    def _copy_rows(self) -> None:
        execute = self._connection.execute
        # An answer that was asked again may have no verdict yet: the old one goes.
        execute("DELETE FROM verdicts WHERE place IN (SELECT place FROM shard.answers)")
        execute("DELETE FROM cases WHERE n IN (SELECT n FROM shard.answers)")
        execute("DELETE FROM scores WHERE n IN (SELECT n FROM shard.answers)")
        execute("INSERT OR REPLACE INTO answers SELECT * FROM shard.answers ORDER BY place")
        execute("INSERT OR REPLACE INTO texts SELECT * FROM shard.texts ORDER BY n")
        execute(
            "INSERT INTO verdicts SELECT place, number + ?, id, stage, status, passed, score,"
            " scored_json FROM shard.verdicts ORDER BY place",
            (self._number or 0,),
        )
        metrics = execute("SELECT metric FROM shard.metrics ORDER BY number").fetchall()
        for (metric,) in metrics:
            if metric not in self._metrics:
                self._add_metric(metric)
        # The rows of cases are finished in the shard where it has all their answers.
        if self._rules.repeats.times == 1:
            execute("INSERT INTO cases SELECT * FROM shard.cases ORDER BY n")
            execute("INSERT INTO scores SELECT * FROM shard.scores ORDER BY n, metric")
            return
        # Other answers to the same case may have been here before.
        rows = execute("SELECT DISTINCT n FROM shard.answers ORDER BY n").fetchall()
        self._insert_cases(self._combine_attempts(n for (n,) in rows))

    @property
    def repeats(self) -> Repeats:
        return self._rules.repeats

    def remove(self, places: Sequence[int]) -> None:
        """Take answers out of the run: their case is no longer in the suite."""
        with transaction(self._connection):
            self._forget(places)
            keys = [(place,) for place in places]
            self._connection.executemany("DELETE FROM answers WHERE place = ?", keys)
            numbers = [(place // self._rules.repeats.times,) for place in places]
            self._connection.executemany("DELETE FROM texts WHERE n = ?", numbers)

    def replace_labels(self, labels: Iterable[tuple[str, float]]) -> None:
        with transaction(self._connection):
            self._connection.execute("DELETE FROM labels")
            rows = [(_storable(case), label) for case, label in labels]
            self._connection.executemany("INSERT OR REPLACE INTO labels VALUES (?, ?)", rows)

    def _forget(self, places: Sequence[int]) -> None:
        keys = [(place,) for place in places]
        self._connection.executemany("DELETE FROM verdicts WHERE place = ?", keys)
        numbers = [(place // self._rules.repeats.times,) for place in places]
        self._connection.executemany("DELETE FROM cases WHERE n = ?", numbers)
        self._connection.executemany("DELETE FROM scores WHERE n = ?", numbers)

    def _insert_answers(self, answered: Sequence[Answered]) -> None:
        times = self._rules.repeats.times
        rows = [
            (
                place,
                place // times,
                place % times,
                _storable(case.id),
                response.error is not None,
                json_line(to_json(case)).decode(),
                json_line(to_json(response)).decode(),
            )
            for place, case, response in answered
        ]
        self._connection.executemany(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", rows
        )
        first = [(place // times, case, response) for place, case, response in answered]
        texts = [(n, search_text(case, response)) for n, case, response in first]
        self._connection.executemany("INSERT OR REPLACE INTO texts VALUES (?, ?)", texts)

    def _verdict_rows(self, scored: Sequence[Scored]) -> Iterator[tuple[object, ...]]:
        for each in scored:
            self._number = (self._number or 0) + 1
            outcome = each.outcome
            verdict = outcome.verdict
            yield (
                each.n,
                self._number,
                _storable(outcome.case.id),
                each.stage,
                _storable(verdict.status),
                verdict.passed,
                verdict.score,
                json_line(judged_json(outcome, debug=self._rules.debug)).decode(),
            )

    def _case_outcomes(self, scored: Sequence[Scored]) -> list[tuple[int, Outcome, Stage]]:
        """The outcome of each case that is decided now, with all its attempts."""
        repeats = self._rules.repeats
        if repeats.times == 1:
            return [(each.n, each.outcome, each.stage) for each in scored]
        return self._combine_attempts(dict.fromkeys(each.n // repeats.times for each in scored))

    def _combine_attempts(self, cases: Iterable[int]) -> list[tuple[int, Outcome, Stage]]:
        """The outcomes of those cases that are decided by the answers stored so far."""
        repeats = self._rules.repeats
        decided: list[tuple[int, Outcome, Stage]] = []
        for n in cases:
            attempts = self._reader.scored_attempts(n)
            if repeats.is_decided([outcome for outcome, _ in attempts], whole=False):
                stopped = any(stage == Stage.STOPPED for _, stage in attempts)
                outcome = repeats.combine([outcome for outcome, _ in attempts])
                decided.append((n, outcome, Stage.STOPPED if stopped else Stage.SCORED))
        return decided

    # INSERT OR REPLACE here and above: a case that ended in an error is asked again on resume.
    def _insert_cases(self, outcomes: Sequence[tuple[int, Outcome, Stage]]) -> None:
        rules = self._rules
        rows: list[tuple[object, ...]] = []
        values: list[tuple[object, ...]] = []
        for n, outcome, stage in outcomes:
            row = case_row(
                n, outcome, scale=rules.scale, cluster_column=rules.cluster_column, stage=stage
            )
            rows.append((*map(_storable, row), _storable(excerpt(outcome.case.question))))
            for name, score in outcome.scores.items():
                metric = _storable(name)
                if metric not in self._metrics:
                    self._add_metric(metric)
                if score.value is None:
                    value = None
                else:
                    value = float(score.value)
                values.append((n, metric, value, _state_of(score)))
        marks = ", ".join("?" * (len(CaseRow._fields) + 1))
        self._connection.executemany(f"INSERT OR REPLACE INTO cases VALUES ({marks})", rows)
        self._connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?)", values)

    def _add_metric(self, metric: object) -> None:
        self._connection.execute("INSERT INTO metrics (metric) VALUES (?)", (metric,))
        self._metrics.add(metric)


def search_text(case: Case, response: Response) -> str:
    """The text of a case that a search looks into."""
    return fold_text("\n".join((case.id, case.question, response.answer or "")))


def fold_text(text: str) -> str:
    """Lower case, and nothing that SQLite cannot compare: it ends a text at a null character."""
    return storable(text.lower().replace("\0", " "))


def _state_of(score: Score) -> str:
    if score.error is not None:
        return "error"
    if score.value is None:
        return "not applicable"
    return "measured"


def _storable(value: object) -> object:
    if isinstance(value, str):
        return storable(value)
    return value
