"""Running a suite at the terminal: progress is shown, Ctrl-C once ends cleanly, twice stops immediately.

Also the two ways to look without making a run: `--dry-run` and `--investigate`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from answerkey.cli.output import done, print_json, say, show
from answerkey.cli.run.options import RunOptions, suite_of_run
from answerkey.coerce.values import is_number, table_of
from answerkey.config.declare import TomlTable
from answerkey.errors import EXIT_INTERRUPTED, EXIT_OK, InputError, SettingsError
from answerkey.reports.failure_screen import failure_screen
from answerkey.robustness.gates import split_gates
from answerkey.robustness.run import VariantReport, VariantRun
from answerkey.runs.control import Finished, Options, Stop, Watch
from answerkey.runs.execute import ask_once, run_suite
from answerkey.runs.prepare import prepare
from answerkey.runs.progress import make_progress
from answerkey.runs.records import result_line
from answerkey.runs.rescore import rescore
from answerkey.runs.resume import AlreadyFinished
from answerkey.runs.store import last_stop, profile_of
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.targets.resolve import check_target
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
        with suppress(
            RuntimeError
        ):  # the signal may have come in the middle of a write to the same stream
            shown.note("finishing the cases in flight; Ctrl-C again to stop now")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with redirect_stdout(
            sys.stderr
        ):  # standard output is for our data, not for what a bot prints
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
            return run_suite(suite, settings, watch, stop)
        except AlreadyFinished as done:
            say(str(done))
            return Finished(done.folder)  # its gates still decide, and its reports may be missing


def run_suite_and_variants(
    suite: Suite, folder: Path | None, options: RunOptions
) -> tuple[Finished, VariantReport | None]:
    """Run or resume a suite in `folder`, then its variants if the run is complete."""
    settings = options.for_engine(folder)
    variant_run = VariantRun.of_suite(suite, settings.selection)
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
    """Exit without waiting: the journal is complete at any moment. The terminal gets its cursor back."""
    if "answerkey.targets.command" in sys.modules:
        sys.modules["answerkey.targets.command"].kill_all()
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), b"\x1b[?25h\n")
    os._exit(EXIT_INTERRUPTED)


_CHARACTERS_PER_TOKEN = 4  # English text; an estimate
_PROMPT_TOKENS = 600  # a judge's instructions and reply, roughly
_PASSAGE_CHARACTERS = 800  # the passages of one case, roughly
_QUESTIONS_SHOWN = 10


def _estimate_cost(judge: object, tokens: int) -> float | None:
    """The cost of so many prompt tokens; None where the suite names no price."""
    price = table_of(judge).get("price_in")
    if not tokens or not is_number(price):
        return None
    return tokens * price / 1_000_000


def dry_run(suite: Suite, settings: Options, variants: VariantRun | None, *, as_json: bool) -> int:
    """Check everything and print what would be asked and what it might cost; ask and write nothing."""
    check_target(suite.target, suite.folder)
    first: list[dict[str, str]] = []
    characters = 0
    target = suite.target.get("kind", "recorded")
    # The bot is not even imported.
    with closing(prepare(suite, settings.selection, target=Recorded())) as prepared:
        for _, case in prepared.cases():
            if len(first) < _QUESTIONS_SHOWN:
                first.append({"id": case.id, "question": case.question})
            characters += len(case.question) + sum(map(len, case.expected)) + _PASSAGE_CHARACTERS
    names = prepared.scorer.plan.names
    times = prepared.repeats.times
    calls = any(name.startswith("rubric.") for name in names) + sum(
        name.startswith("judge.") for name in names
    )
    if prepared.scorer.judge.startswith("local"):
        calls = 0
    tokens = times * calls * (characters // _CHARACTERS_PER_TOKEN + prepared.count * _PROMPT_TOKENS)
    variant_count = 0 if variants is None else variants.count
    # A variant is as long as its question, roughly.
    variant_tokens = round(tokens * variant_count / prepared.count)
    cost = _estimate_cost(suite.judge, tokens + variant_tokens)
    for warning in prepared.warnings:
        say(f"warning: {warning}")
    if as_json:
        if prepared.profile:
            profile = prepared.profile.name
        else:
            profile = None
        asked = {
            "cases": prepared.count,
            "target": target,
            "workers": suite.run.workers,
            "first": first,
            "variants": variant_count,
        }
        judged = {
            "judge_calls": calls * prepared.answers,
            "judge_tokens_estimate": tokens,
            "variant_judge_calls": calls * times * variant_count,
            "variant_judge_tokens_estimate": variant_tokens,
            "judge_cost_estimate": cost,
        }
        print_json({**asked, "metrics": list(names), "profile": profile, **judged})
        return EXIT_OK
    if times > 1:
        often = f", {times} times each,"
    else:
        often = ""
    show(
        f"{format_count(prepared.count, 'case')} would be sent{often} to the {target} target, {suite.run.workers} at a time"
    )
    if variants is not None:
        show(f"then their variants: {format_count(variants.count, 'question')}")
        for kind, count in variants.kinds().items():
            show(f"  {kind}: {count}")
    show(f"metrics: {', '.join(names)}")
    show(f"judge: {format_count(calls * prepared.answers, 'call')}, about {tokens:,} tokens")
    if variant_count and calls:
        more = format_count(calls * times * variant_count, "call")
        show(f"judge for the variants: {more}, about {variant_tokens:,} tokens")
    if cost is not None:
        show(f"cost of the judge: about {cost:.2g}; that of the target is not known beforehand")
    for case in first:
        show(f"  {case['id']}: {' '.join(case['question'].split())[:100]}")
    if prepared.count > len(first):
        show(f"  … and {prepared.count - len(first)} more")
    done("dry run, nothing was asked")
    return EXIT_OK


def investigate(folder: Path, suite: Suite | None, options: RunOptions) -> int:
    """Show the last failure in full, from the run folder alone; then ask again, if its suite can be found."""
    stopped = last_stop(folder)
    if stopped is None:
        say(
            f"{folder}: no failure is waiting; a run with --stop-on-fail keeps the case it stopped at"
        )
        if options.as_json:
            print_json({"run": str(folder), "waiting": None, "asked_again": None})
        return EXIT_OK
    profile = profile_of(folder)
    tell = say if options.as_json else show
    tell(failure_screen(stopped, profile, debug=True))
    second = None
    try:
        suite = suite or options.load_suite(suite_of_run(folder))
    except (InputError, SettingsError) as error:
        say(f"not asked again: {error}")
    else:
        second = ask_once(suite, stopped.case)
        say("asked again:")
        tell(failure_screen(second, profile, debug=True))
    if options.as_json:
        asked = result_line(second) if second else None
        print_json({"run": str(folder), "waiting": result_line(stopped), "asked_again": asked})
    return EXIT_OK
