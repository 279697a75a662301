"""Running a suite at the terminal: progress is shown, Ctrl-C once ends cleanly, twice stops immediately."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answerkey.cli.output import say
from answerkey.errors import EXIT_INTERRUPTED, SettingsError
from answerkey.runs.control import Finished, Options, Stop, Watch
from answerkey.runs.execute import run_suite
from answerkey.runs.progress import make_progress
from answerkey.runs.resume import AlreadyFinished
from answerkey.runs.suite import Suite

if TYPE_CHECKING:
    from answerkey.cli.run.options import RunOptions


@contextmanager
def interactive(*, quiet: bool) -> Generator[tuple[Watch, Stop]]:
    """What a run reports its progress to, and what stops it. SIGTERM counts as one Ctrl-C."""
    shown, stop = make_progress(quiet), Stop()
    begun = False

    def start(total: int, done: int) -> None:
        nonlocal begun
        begun = True
        shown.start(total, done)

    def handle(number: int, frame: Any) -> None:
        if stop.interrupted:
            _exit_now()
        stop.set("interrupted", interrupted=True)
        stop.interrupted = True
        with suppress(RuntimeError):  # the signal may have come in the middle of a write to the same stream
            shown.note("finishing the cases in flight; Ctrl-C again to stop now")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with redirect_stdout(sys.stderr):  # standard output is for our data, not for what a bot prints
            yield Watch(start, shown.advance, shown.note, shown.advance_group, shown.earlier), stop
    finally:
        if begun:
            shown.finish()
        for number, handler in before.items():
            signal.signal(number, handler)


def run_with_progress(suite: Suite, settings: Options, options: RunOptions) -> Finished:
    """Run or resume a suite on this machine or on a cluster."""
    if options.engine == "ray" and options.smoke:
        raise SettingsError("--test needs --engine local; leave --engine out")
    with interactive(quiet=options.quiet) as (watch, stop):
        try:
            if options.engine == "local":
                return run_suite(suite, settings, watch, stop)
            from answerkey.runs.engines.ray import Cluster, run_on_cluster

            return run_on_cluster(suite, settings, Cluster(options.address, options.workers), watch, stop)
        except AlreadyFinished as done:
            say(str(done))
            return Finished(done.folder)  # its gates still decide, and its reports may be missing


def rescore_with_progress(
    folder: Path, changes: Mapping[str, Any], out: Path | None, *, resume: bool, quiet: bool
) -> Finished:
    """Score the answers of a run again, or continue doing so."""
    from answerkey.runs.rescore import rescore

    with interactive(quiet=quiet) as (watch, stop):
        try:
            return rescore(folder, changes, out, watch, stop, resume=resume)
        except AlreadyFinished as done:
            say(str(done))
            return Finished(done.folder)


def _exit_now() -> None:
    """Exit without waiting: the journal is complete at any moment. The terminal gets its cursor back."""
    if "answerkey.targets.process" in sys.modules:
        sys.modules["answerkey.targets.process"].kill_all()
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), b"\x1b[?25h\n")
    os._exit(EXIT_INTERRUPTED)
