"""Running a suite at the terminal: progress is shown, Ctrl-C once ends cleanly, twice stops immediately."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from answerkey.cli.output import say
from answerkey.cli.run.options import RunOptions
from answerkey.config.declare import TomlTable
from answerkey.errors import EXIT_INTERRUPTED, SettingsError
from answerkey.robustness.gates import split_gates
from answerkey.robustness.run import VariantReport, VariantRun
from answerkey.runs.control import Finished, Options, Stop, Watch
from answerkey.runs.execute import execute_suite
from answerkey.runs.progress import make_progress
from answerkey.runs.rescore import rescore
from answerkey.runs.resume import AlreadyFinished
from answerkey.runs.suite import Suite
from answerkey.text import format_count


@contextmanager
def interactive(*, quiet: bool) -> Generator[tuple[Watch, Stop]]:
    """Yield the display of a run's progress and the object that stops the run. SIGTERM counts as one Ctrl-C."""
    shown = make_progress(quiet)
    stop = Stop()

    def handle(number: int, frame: Any) -> None:
        if stop.interrupted:
            _exit_now()
        stop.set("interrupted", interrupted=True)
        stop.interrupted = True
        # The signal may have come in the middle of a write to the same stream.
        with suppress(RuntimeError):
            shown.note("finishing the cases in flight; Ctrl-C again to stop now")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        # Standard output is for our data, not for what a bot prints.
        with redirect_stdout(sys.stderr):
            yield shown, stop
    finally:
        shown.finish()
        for number, handler in before.items():
            signal.signal(number, handler)


def run_with_progress(suite: Suite, settings: Options, options: RunOptions) -> Finished:
    """Run or resume a suite on this machine or on a cluster."""
    if options.engine == "ray" and options.smoke:
        raise SettingsError("--test needs --engine local; leave --engine out")
    with interactive(quiet=options.quiet) as (watch, stop):
        try:
            return execute_suite(suite, settings, watch, stop)
        except AlreadyFinished as done:
            say(str(done))
            return Finished(done.folder)  # its gates still decide, and its reports may be missing


def run_suite_and_variants(
    suite: Suite, folder: Path | None, options: RunOptions
) -> tuple[Finished, VariantReport | None]:
    """Run or resume a suite in `folder`, then its variants if the run is complete."""
    settings = options.for_engine(folder)
    variant_run = VariantRun.of_suite(suite, settings.selection)
    # Gates on variants are answered after the variants, not by this run.
    finished = run_with_progress(replace(suite, gate=split_gates(suite.gate)[0]), settings, options)
    if variant_run is None or finished.partial:
        return finished, None
    return finished, run_variants_with_progress(variant_run, finished.folder, options)


def run_variants_with_progress(
    variant_run: VariantRun, folder: Path, options: RunOptions
) -> VariantReport:
    """Ask the variants of the questions of a finished run."""
    say(f"variants: {format_count(variant_run.count, 'question')}")
    with interactive(quiet=options.quiet) as (watch, stop):
        return variant_run.run(folder, watch, stop)


def rescore_with_progress(
    folder: Path,
    changes: TomlTable,
    out: Path | None,
    *,
    resume: bool,
    quiet: bool,
    allow_code: bool,
) -> Finished:
    """Score the answers of a run again, or continue doing so."""
    with interactive(quiet=quiet) as (watch, stop):
        try:
            return rescore(folder, changes, out, watch, stop, resume=resume, allow_code=allow_code)
        except AlreadyFinished as done:
            say(str(done))
            return Finished(done.folder)


def _exit_now() -> None:
    """Exit without waiting: what is stored is complete at any moment. The terminal gets its cursor back."""
    # If the module was never loaded, there is no program to end.
    if "answerkey.targets.command" in sys.modules:
        sys.modules["answerkey.targets.command"].kill_all()
    if sys.stderr.isatty():
        # Not print: the signal may have interrupted a write to the same stream.
        os.write(sys.stderr.fileno(), b"\x1b[?25h\n")
    os._exit(EXIT_INTERRUPTED)
