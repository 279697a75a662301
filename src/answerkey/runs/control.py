"""What one call of `run` may ask for beyond the suite, and what it got."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from answerkey.types import Case, Outcome

if TYPE_CHECKING:
    from answerkey.runs.summary import OutcomeTally


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of the suite's cases are meant. A run keeps its selection, so that resume means the same ones."""

    limit: int | None = None
    only: str | None = None
    file: str | None = None
    collection: str | None = None

    def wants(self, case: Case) -> bool:
        source = PurePath(case.source_file or "")
        return (
            (self.only is None or _matches(self.only, case.id) or self.only.lower() in case.question.lower())
            and (self.file is None or self.file in (source.name, source.stem, str(source)))
            and (self.collection is None or self.collection in (*source.parts[:-1], *case.tags))
        )

    @property
    def whole(self) -> bool:
        return self == Selection()


def _matches(pattern: str, name: str) -> bool:
    return fnmatch(name, pattern) or pattern == name


class Stop:
    """Set by a signal, a budget or a failing case; nothing new is begun once it is set."""

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


@dataclass(frozen=True, slots=True)
class Watch:
    """Called as a run goes on; the command line shows these, a test may count them.

    `group` is many outcomes at once; `earlier` those that were done before a resume, which `start` has counted.
    """

    start: Callable[[int, int], None] = lambda total, done: None
    outcome: Callable[[Outcome], None] = lambda outcome: None
    note: Callable[[str], None] = lambda text: None
    group: Callable[[OutcomeTally], None] = lambda group: None
    earlier: Callable[[OutcomeTally], None] = lambda group: None


@dataclass(frozen=True, slots=True)
class Options:
    selection: Selection = Selection()
    resume: Path | None = None
    resume_limit: int | None = None
    accept_changes: bool = False
    stop_on_fail: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run ended. `partial` says why it is not whole, or is empty; `limited` that no more was asked for.

    `asked`, `errors` and `failed` count the cases of this call alone.
    """

    folder: Path
    partial: str = ""
    interrupted: bool = False
    stopped: Outcome | None = None
    also_stopped: int = 0
    asked: int = 0
    errors: int = field(default=0)
    failed: int = 0
    limited: bool = False
