"""What controls a run: which cases, when to stop, who watches; and how it ended."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePath

from answerkey.config.tables import ExecutionTable
from answerkey.types import Case, Outcome, Response, Status

_SAME_ERROR_LIMIT = 10


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of the suite's cases to run. A run records its selection, so that --resume continues with the same cases."""

    limit: int | None = None
    only: str | None = None
    file: str | None = None
    collection: str | None = None

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
class Options:
    """What one call asks for beyond the suite."""

    selection: Selection = Selection()
    resume: Path | None = None
    resume_limit: int | None = None
    accept_changes: bool = False
    stop_on_fail: bool = False


class Stop:
    """Set by a signal, a budget or a failing case; once it is set, no new question is asked."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.reason = ""
        self.interrupted = False

    def set(self, reason: str, *, interrupted: bool = False) -> None:
        if not self._event.is_set():
            self.reason, self.interrupted = reason, interrupted
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
        self._run, self._began = run, time.monotonic()
        self.spent = 0.0

    def exceeded(self) -> str:
        """Which limit is exceeded; empty while none is."""
        run = self._run
        if run.max_minutes is not None and time.monotonic() - self._began > run.max_minutes * 60:
            return f"the budget of {run.max_minutes:g} minutes is used up"
        if run.max_cost is not None and self.spent > run.max_cost:
            return f"the budget of {run.max_cost:g} is used up: {self.spent:g} spent"
        return ""


class ErrorStreak:
    """Notices a target that cannot be reached: the same infrastructure error many times in a row."""

    def __init__(self) -> None:
        self._name, self._count = "", 0

    def reason_to_stop(self, response: Response) -> str:
        """Why the run should stop after this response; empty if it should not."""
        if response.error_kind != "infrastructure":
            self._name, self._count = "", 0
            return ""
        self._count = self._count + 1 if response.error_name == self._name else 1
        self._name = response.error_name
        if self._count < _SAME_ERROR_LIMIT:
            return ""
        return f"{self._count} times in a row: {response.error}; fix the target, then run again with --resume"


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run ended. `partial` says why it is incomplete, or is empty; `limited` that --resume-limit was reached.
    `asked`, `errors` and `failed` count the cases of this call alone."""

    folder: Path
    partial: str = ""
    interrupted: bool = False
    stopped: Outcome | None = None
    also_stopped: int = 0
    asked: int = 0
    errors: int = 0
    failed: int = 0
    limited: bool = False
