"""Reads answers and outcomes from the tables of a run; schema.sql says what each column is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from answerkey.errors import StorageError
from answerkey.files import read_as
from answerkey.runs.ask import Answered
from answerkey.runs.case_row import Stage
from answerkey.runs.control import GroupCounts
from answerkey.runs.database import DATABASE, naming_file
from answerkey.runs.records import StoredScores, digest_of
from answerkey.runs.repeats import Repeats
from answerkey.runs.state import Progress, RunState
from answerkey.types import Case, Outcome, Response, Status, Verdict

T = TypeVar("T")
NumberedOutcome = tuple[int, Outcome]
_UNSCORED = StoredScores(verdict=Verdict(Status.UNSCORED))
# Rows per query. Many short queries instead of a long one: with a rollback journal, a query that
# is open keeps the run from writing.
_AT_ONCE = 256
_OUTCOMES = (
    "SELECT place, case_json, response_json, scored_json, stage"
    " FROM answers LEFT JOIN verdicts USING (place)"
)
# Without the verdicts: a damaged one must not hide its answer.
_ANSWERS = "SELECT place, case_json, response_json, NULL, NULL FROM answers"


class RunReader:
    """The outcomes of a run, as a stream or by their positions.

    A place is that of an answer, a position that of a case; they are the same unless cases are
    repeated. `records` replaces the counts of a run that was not stored like this.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        repeats: Repeats,
        path: Path = Path(DATABASE),
        records: dict[str, int] | None = None,
    ) -> None:
        self._connection = connection
        self._records = records
        self.path = path
        self.repeats = repeats

    def close(self) -> None:
        self._connection.close()

    def query(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement; for questions to the tables that schema.sql documents."""
        with naming_file(self.path):
            # Fetched at once: an open query would keep a run with a rollback journal from writing.
            return self._connection.execute(statement, values).fetchall()

    def copy_to(self, path: Path) -> None:
        """Write everything that can be read as a new database."""
        with naming_file(path, writing=True):
            self._connection.execute("VACUUM INTO ?", (str(path),))

    def __len__(self) -> int:
        """How many cases have all their answers and verdicts."""
        times = self.repeats.times
        if times == 1:
            return self._count("SELECT count(*) FROM verdicts")
        return self._count(
            # Integer division: the attempts of one case have neighbouring places.
            "SELECT count(*) FROM (SELECT 1 FROM verdicts GROUP BY place / ? HAVING count(*) = ?)",
            (times, times),
        )

    def _count(self, statement: str, values: Sequence[object] = ()) -> int:
        return int(self.query(statement, values)[0][0])

    @property
    def records(self) -> dict[str, int]:
        """How much is stored; a run records it when it ends, so that a loss is noticed."""
        if self._records is not None:
            return {"cases": len(self), **self._records}
        return {
            "cases": len(self),
            "answers": self._count("SELECT count(*) FROM answers"),
            "verdicts": self._count("SELECT count(*) FROM verdicts"),
        }

    def read_state(self) -> RunState:
        """What is done, from two small indexes."""
        state = RunState()
        with naming_file(self.path):
            for failed, place in self._connection.execute("SELECT failed, place FROM answers"):
                state[place] = Progress.ASK if failed else Progress.ANSWERED
            for stage, place in self._connection.execute("SELECT stage, place FROM verdicts"):
                if stage == Stage.STOPPED:
                    state[place] = Progress.STOPPED
                # A verdict of an earlier answer does not finish one that is asked again.
                elif stage == Stage.SCORED and state[place] == Progress.ANSWERED:
                    state[place] = Progress.FINISHED
        return state

    def stored_cases(self) -> dict[str, tuple[int, str]]:
        """The cases by id: the place of an answer, and a hash of the case."""
        stored: dict[str, tuple[int, str]] = {}
        for place, case, *_ in self._rows(_ANSWERS):
            content = self._decode(case, dict[str, Any], place)
            stored[str(content.get("id"))] = place, digest_of(content)
        return stored

    def numbered_outcomes(
        self, *, unscored: bool = False, stopped: bool = False
    ) -> Iterator[NumberedOutcome]:
        """The outcomes in case order with their positions.

        One without a verdict only with `unscored`; one that the run stopped at, to ask it again on
        resume, only with `stopped` or `unscored`.
        """
        attempts = self.attempts(unscored=unscored, stopped=stopped)
        return self.repeats.combine_all(attempts, whole=not stopped)

    def attempts(
        self, *, unscored: bool = False, stopped: bool = False
    ) -> Iterator[NumberedOutcome]:
        """As `numbered_outcomes`, with an outcome per answer."""
        for row in self._rows(_OUTCOMES):
            stage = row[4]
            is_scored = stage is not None and (stopped or stage != Stage.STOPPED)
            if unscored or is_scored:
                yield row[0], self._outcome(row)

    def outcomes(self, *, unscored: bool = False) -> Iterator[Outcome]:
        return (outcome for _, outcome in self.numbered_outcomes(unscored=unscored))

    def at(self, positions: Iterable[int]) -> Iterator[Outcome]:
        """The outcomes of the cases at these positions that have an answer, in this order."""
        for n in positions:
            places = self.repeats.positions(n)
            rows = self.query(
                f"{_OUTCOMES} WHERE place BETWEEN ? AND ? ORDER BY place",
                (places.start, places.stop - 1),
            )
            if rows:
                yield self.repeats.combine([self._outcome(row) for row in rows])

    def attempt(self, place: int) -> Outcome | None:
        """The outcome of one answer."""
        rows = self.query(f"{_OUTCOMES} WHERE place = ?", (place,))
        return self._outcome(rows[0]) if rows else None

    def scored_attempts(self, n: int) -> list[tuple[Outcome, str]]:
        """The answers to a case that have a verdict, each with its stage."""
        places = self.repeats.positions(n)
        rows = self.query(
            f"{_OUTCOMES} WHERE place BETWEEN ? AND ? AND stage IS NOT NULL ORDER BY place",
            (places.start, places.stop - 1),
        )
        return [(self._outcome(row), row[4]) for row in rows]

    def answers(self, places: Iterable[int] | None = None) -> Iterator[Answered]:
        """The newest answers, all or some of them."""
        if places is None:
            rows = self._rows(_ANSWERS)
        else:
            rows = self._rows_at(places)
        for row in rows:
            outcome = self._outcome(row)
            yield row[0], outcome.case, outcome.response

    def last_scored(self, count: int) -> list[Outcome]:
        """The answers that were scored last, the latest one at the end."""
        rows = self.query(
            f"{_OUTCOMES} WHERE place IN"
            " (SELECT place FROM verdicts ORDER BY number DESC LIMIT ?) ORDER BY number",
            (count,),
        )
        return [self._outcome(row) for row in rows]

    def first_stopped(self) -> Outcome | None:
        """The first case that stop-on-fail stopped at, unless it was asked again since."""
        rows = self.query(
            f"{_OUTCOMES} WHERE place = (SELECT min(place) FROM verdicts WHERE stage = ?)",
            (Stage.STOPPED,),
        )
        return self._outcome(rows[0]) if rows else None

    def verdicts_since(self, number: int) -> list[tuple[int, int, str, str, bool, float | None]]:
        """Number, place, id, status, passed and score of each verdict written after `number`."""
        return self.query(
            "SELECT number, place, id, status, passed, score FROM verdicts"
            " WHERE number > ? ORDER BY number",
            (number,),
        )

    def count_finished(self) -> GroupCounts:
        """The counts of all finished answers, from an index."""
        rows = self.query(
            "SELECT count(*), count(score), total(passed AND score IS NOT NULL), total(score)"
            " FROM verdicts WHERE stage = ?",
            (Stage.SCORED,),
        )
        cases, scored, passed, score_sum = rows[0]
        return GroupCounts(cases, passed=int(passed), scored=scored, score_sum=score_sum)

    def count_answers(self) -> int:
        return self._count("SELECT count(*) FROM answers")

    def _rows(self, select: str) -> Iterator[tuple[Any, ...]]:
        # By the last place and not by OFFSET, which would read all rows before it again.
        last = -1
        while rows := self.query(
            f"{select} WHERE place > ? ORDER BY place LIMIT {_AT_ONCE}", (last,)
        ):
            yield from rows
            last = rows[-1][0]

    def _rows_at(self, places: Iterable[int]) -> Iterator[tuple[Any, ...]]:
        for place in places:
            yield from self.query(f"{_ANSWERS} WHERE place = ?", (place,))

    def _outcome(self, row: tuple[Any, ...]) -> Outcome:
        place, case, response, scored, _ = row
        if scored is None:
            stored = _UNSCORED
        else:
            stored = self._decode(scored, StoredScores, place)
        return stored.outcome(
            self._decode(case, Case, place), self._decode(response, Response, place)
        )

    def _decode(self, text: object, kind: type[T], place: int) -> T:
        try:
            if not isinstance(text, str):
                raise ValueError(f"expected text, got {type(text).__name__}")
            return read_as(text, kind)
        except (ValueError, msgspec.MsgspecError) as error:
            raise StorageError(
                f"{self.path}: damaged record of answer {place} ({error}); remove it with "
                f'sqlite3 run.sqlite "DELETE FROM answers WHERE place = {place}", then resume'
            ) from None
