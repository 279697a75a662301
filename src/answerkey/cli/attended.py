"""A run with a person beside it: progress is shown; Ctrl-C once ends cleanly, twice stops at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any

from answerkey.cli.progress import make_progress
from answerkey.errors import EXIT_INTERRUPTED
from answerkey.runs.control import Stop, Watch


@contextmanager
def attended(*, quiet: bool) -> Generator[tuple[Watch, Stop]]:
    """What a run reports to, and what stops it. SIGTERM is a polite Ctrl-C."""
    shown, stop = make_progress(quiet), Stop()
    begun = False

    def start(total: int, done: int) -> None:
        nonlocal begun
        begun = True
        shown.start(total, done)

    def handle(number: int, frame: Any) -> None:
        if stop.interrupted:
            _stop_at_once()
        stop.set("interrupted", interrupted=True)
        stop.interrupted = True
        with suppress(RuntimeError):  # the signal may have come in the middle of a write to the same stream
            shown.note("ending after the cases in flight; once more to stop at once")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with redirect_stdout(sys.stderr):  # what a bot prints is no data of ours
            yield Watch(start, shown.advance, shown.note, shown.advance_group, shown.earlier), stop
    finally:
        if begun:
            shown.finish()
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop_at_once() -> None:
    """Nothing is waited for: the journal is whole at any moment. The terminal gets its cursor back."""
    if "answerkey.targets.process" in sys.modules:
        sys.modules["answerkey.targets.process"].kill_all()
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), b"\x1b[?25h\n")
    os._exit(EXIT_INTERRUPTED)
