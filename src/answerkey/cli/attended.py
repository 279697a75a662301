"""A run with a person beside it: progress is shown; Ctrl-C once ends cleanly, twice stops at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from answerkey.cli.progress import make_progress
from answerkey.errors import EXIT_INTERRUPTED
from answerkey.runs.options import Stop, Watch


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
            os._exit(EXIT_INTERRUPTED)
        stop.set("interrupted", interrupted=True)
        stop.interrupted = True
        shown.note("ending after the cases in flight; once more to stop at once")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield Watch(start, shown.advance, shown.note), stop
    finally:
        if begun:
            shown.finish()
        for number, handler in before.items():
            signal.signal(number, handler)
