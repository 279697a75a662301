"""The end of a run: reports, failing cases, the command to continue with, the last line and the exit code."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import cast

import click
from click.core import ParameterSource

from answerkey.cli.output import end, print_json, say, separate_streams, show
from answerkey.errors import Ending
from answerkey.reports.failure_screen import failure_screen
from answerkey.reports.text import text_report
from answerkey.reports.write import write_reports
from answerkey.robustness.conclusion import conclude_with_variants
from answerkey.robustness.run import VariantReport
from answerkey.robustness.text import variants_section
from answerkey.runs.conclusion import conclude
from answerkey.runs.control import Finished
from answerkey.runs.store import last_asked, profile_of, read_outcomes
from answerkey.runs.summary import Summary
from answerkey.types import Status

_MOST_SHOWN = 10
_ONE_TIME = {
    "resume",
    "resume_limit",
    "accept_changes",
    "investigate",
    "stop_on_fail",
    "dry_run",
    "smoke",
    "debug",
    "as_json",
    "limit",
    "only",
    "file",
    "tag",  # the run folder records which cases were selected
}


def finish_run(
    finished: Finished,
    resume_command: str,
    *,
    as_json: bool,
    quiet: bool,
    charts: bool | None,
    variants: VariantReport | None = None,
) -> int:
    """Write the reports, print them, and return the exit code."""

    def find_ending(summary: Summary) -> Ending:
        ending = conclude(finished, summary)
        if variants is None:
            return ending
        return conclude_with_variants(ending, variants)

    def show_result(summary: Summary) -> None:
        ending = find_ending(summary)
        if as_json:
            if variants is None:
                more = {}
            else:
                more = {"variants": variants.record.to_json()}
            last = {"ending": ending.line, "exit_code": ending.code}
            print_json(summary.to_json() | more | last)
        elif not quiet:
            show(text_report(summary, profile_of(finished.folder)))
            if variants is not None:
                show(variants_section(variants.record))

    # The result is on the screen before the reports, which may take a while, are written.
    summary = write_reports(finished.folder, charts=charts, ready=show_result)
    ending = find_ending(summary)
    say(f"run folder: {finished.folder}")
    if finished.partial:
        say(f"to continue: {resume_command}")
    if not (as_json or quiet) and separate_streams():
        show(ending.line)  # a report kept in a file ends as the screen does
    return end(ending)


def show_failing(folder: Path, *, as_json: bool, asked: int | None = None) -> None:
    """`--debug`: the first ten failing cases in full, and how many more there are.

    With `asked` (of --resume-limit): the last so many cases that were asked, whether or not they failed.
    """
    # With --json, standard output is for the JSON alone.
    tell = say if as_json else show
    profile = profile_of(folder)
    if asked is not None:
        for outcome in last_asked(folder, asked):
            tell(failure_screen(outcome, profile, debug=True))
        return
    failing = (
        outcome
        for outcome in read_outcomes(folder)
        if (verdict := outcome.verdict).status == Status.ERROR
        or (verdict.score is not None and not verdict.passed)
    )
    for outcome in islice(failing, _MOST_SHOWN):
        tell(failure_screen(outcome, profile, debug=True))
    # The generator continues behind the cases that were shown.
    more = sum(1 for _ in failing)
    if more:
        tell(f"{more} more failed; failures.txt in the run folder lists all of them\n")


def show_stop(
    finished: Finished, command: str, stop_on_fail: str | None, *, as_json: bool, debug: bool
) -> None:
    """The case that the run stopped at (with `--test`: the first case), and the commands to continue with."""
    outcome = finished.stopped or next(read_outcomes(finished.folder), None)
    if outcome is None:
        return
    commands: Sequence[tuple[str, str]] = ()
    if finished.stopped:
        if stop_on_fail in (None, "pass"):
            threshold = ""
        else:
            threshold = f" {shlex.quote(stop_on_fail)}"
        if stop_on_fail is None:
            stop = ""
        else:
            stop = f" --stop-on-fail{threshold}"
        commands = [
            ("see it again, and ask once more with debug output", f"{command} --investigate"),
            ("fix the bot, then re-run this case", f"{command} --resume --resume-limit 1{stop}"),
            ("continue to the next failure", f"{command} --resume{stop or ' --stop-on-fail'}"),
            ("continue to the end", f"{command} --resume"),
        ]
    tell = say if as_json else show
    tell(failure_screen(outcome, profile_of(finished.folder), commands, debug=debug))


def same_command(command: str, *arguments: str | Path) -> str:
    """`answerkey COMMAND ARGUMENTS` with the options of this call, quoted for a shell.

    Options for one call only, such as --resume or --limit, are left out.
    """
    ctx = click.get_current_context()
    words = ["answerkey", command, *map(str, arguments)]
    for parameter in ctx.command.params:
        name = parameter.name or ""
        # Defaults apply to the next call anyway; repeating them would hide what was typed.
        is_typed = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if name in _ONE_TIME or isinstance(parameter, click.Argument) or not is_typed:
            continue
        value: object = ctx.params[name]
        if isinstance(value, bool):
            # A flag that is off was typed by its second name, as --no-charts.
            words.append(parameter.opts[0] if value else parameter.secondary_opts[0])
        else:
            for item in cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,):
                words += [parameter.opts[0], str(item)]
    return shlex.join(words)
