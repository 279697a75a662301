"""What controls a run: which cases, when to stop, who watches; and how it ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePath

from answerkey.config.tables import ExecutionTable
from answerkey.runs.case_row import error_kind
from answerkey.types import Case, Outcome, Status


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of the suite's cases to run. A run records its selection, so that --resume continues with the same cases."""

    limit: int | None = None
    only: str | None = None
    file: str | None = None
    collection: str | None = None
    per_type: int | None = None

    def wants(self, case: Case) -> bool:
        only = self.only
        if only is None and self.file is None and self.collection is None:
            return True
        source = PurePath(case.source_file or "")
        return (
            (
                only is None
                or only == case.id
                or fnmatch(case.id, only)
                or only.lower() in case.question.lower()
            )
            and (self.file is None or self.file in (source.name, source.stem, str(source)))
            and (self.collection is None or self.collection in (*source.parts[:-1], *case.tags))
        )

    @property
    def whole(self) -> bool:
        return self == Selection()


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster: its address (None: Ray on this machine), and the number of workers (None: one
    per processor)."""

    address: str | None = None
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What one call asks for beyond the suite."""

    selection: Selection = Selection()
    resume: Path | None = None
    resume_limit: int | None = None
    accept_changes: bool = False
    stop_on_fail: bool = False
    debug: bool = False  # stores the inner values of metrics too
    cluster: Cluster | None = None


class Stop:
    """Set by a signal, a budget or a failing case; once it is set, no new question is asked."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.reason = ""
        self.interrupted = False

    def set(self, reason: str, *, interrupted: bool = False) -> None:
        # The first reason counts: it is what stopped the run.
        if not self._event.is_set():
            self.reason = reason
            self.interrupted = interrupted
            self._event.set()

    def __bool__(self) -> bool:
        return self._event.is_set()


@dataclass(slots=True)
class GroupCounts:
    """The counts of some cases, for the display of progress."""

    cases: int = 0
    errors: int = 0
    passed: int = 0
    scored: int = 0
    score_sum: float = 0.0

    def add(self, outcome: Outcome) -> None:
        verdict = outcome.verdict
        self.cases += 1
        self.errors += verdict.status == Status.ERROR
        # An error has no score, so it is neither passed nor failed.
        if verdict.score is not None:
            self.scored += 1
            self.passed += verdict.passed
            self.score_sum += verdict.score

    @property
    def failed(self) -> int:
        return self.scored - self.passed


class Watch:
    """Follows a run: the displays of `progress` show it, a test may count. This one ignores everything. `group` reports
    many outcomes at once; `earlier` those finished before a resume, which `start` has counted."""

    def start(self, total: int, done: int) -> None: ...
    def outcome(self, outcome: Outcome) -> None: ...
    def group(self, group: GroupCounts) -> None: ...
    def earlier(self, group: GroupCounts) -> None: ...
    def note(self, text: str) -> None: ...
    def finish(self) -> None: ...


class Budget:
    """The limits of `[run] max_minutes` and `max_cost`."""

    def __init__(self, run: ExecutionTable) -> None:
        self._run = run
        # Not the time of day: a clock that is set back must not prolong a run.
        self._began = time.monotonic()
        self.spent = 0.0
        self._paid_for_answers = 0.0

    def pay_for_answers(self, costs: Iterable[float]) -> str:
        """Count answers as they arrive, before they are scored; the limit if it is used up.

        Scoring lags behind a fast target: by its count, every worker would keep asking.
        """
        self._paid_for_answers += sum(costs)
        limit = self._run.max_cost
        if limit is None or not self._paid_for_answers or self._paid_for_answers < limit:
            return ""
        return f"the budget of {limit:g} is used up: at least {self._paid_for_answers:g} spent"

    def reason_to_stop(self) -> str:
        """Which limit is used up; empty while none is."""
        run = self._run
        if run.max_minutes is not None and time.monotonic() - self._began > run.max_minutes * 60:
            return f"the budget of {run.max_minutes:g} minutes is used up"
        # Without any cost a limit of 0 is kept; the judge refuses every call then.
        if run.max_cost is not None and self.spent and self.spent >= run.max_cost:
            return f"the budget of {run.max_cost:g} is used up: at least {self.spent:g} spent"
        return ""


class ErrorStreak:
    """Notices the same error many times in a row: of the target, of a metric or of the judge."""

    def __init__(self, most: int = 10) -> None:
        self._most = most
        self._error = ""
        self._count = 0

    def reason_to_stop(self, outcome: Outcome) -> str:
        """Why the run should stop after this outcome; empty if it should not."""
        # An error that stands in the case file is what the file says; there is nothing to stop.
        is_recorded = outcome.response.error is not None and outcome.case.recorded is not None
        if outcome.verdict.status != Status.ERROR or is_recorded:
            self._error = ""
            self._count = 0
            return ""
        error = error_kind(outcome)
        # Errors of different kinds in turn are no streak.
        self._count = self._count + 1 if error == self._error else 1
        self._error = error
        if not self._most or self._count < self._most:
            return ""
        if outcome.response.error is None:
            message = outcome.verdict.justification
            fix = "fix the metric or the judge, then run again with --resume"
        else:
            message = outcome.response.error
            fix = "fix the target, then run again with --resume"
        return f"{self._count} times in a row: {message}; {fix}"


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run ended.

    `partial` says why it is incomplete, or is empty; `limited` that --resume-limit was reached;
    `ended_in_errors` that only cases with errors are left. `asked`, `errors` and `failed` count the
    cases of this call alone.
    """

    folder: Path
    partial: str = ""
    interrupted: bool = False
    stopped: Outcome | None = None
    also_stopped: int = 0
    asked: int = 0
    errors: int = 0
    failed: int = 0
    limited: bool = False
    ended_in_errors: bool = False
