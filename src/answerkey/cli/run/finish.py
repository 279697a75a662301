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
from answerkey.runs.store import open_reader, profile_of, read_outcomes
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

    def show_result(summary: Summary) -> None:
        if as_json:
            print_json(_result_json(summary, _find_ending(finished, summary, variants), variants))
        elif not quiet:
            show(text_report(summary, profile_of(finished.folder)))
            if variants is not None:
                show(variants_section(variants.record))

    # The result is on the screen before the reports, which may take a while, are written.
    summary = write_reports(finished.folder, charts=charts, ready=show_result)
    ending = _find_ending(finished, summary, variants)
    say(f"run folder: {finished.folder}")
    if finished.partial:
        say(f"to continue: {resume_command}")
    if not (as_json or quiet) and separate_streams():
        show(ending.line)  # a report kept in a file ends as the screen does
    return end(ending)


def _find_ending(finished: Finished, summary: Summary, variants: VariantReport | None) -> Ending:
    ending = conclude(finished, summary)
    if variants is None:
        return ending
    return conclude_with_variants(ending, variants)


def _result_json(
    summary: Summary, ending: Ending, variants: VariantReport | None
) -> dict[str, object]:
    result: dict[str, object] = dict(summary.to_json())
    if variants is not None:
        result["variants"] = variants.record.to_json()
    return result | {"ending": ending.line, "exit_code": ending.code}


def show_failing(folder: Path, *, as_json: bool, asked: int | None = None) -> None:
    """`--debug`: the first ten failing cases in full, and how many more there are.

    With `asked` (of --resume-limit): the last so many cases that were asked, whether or not they failed.
    """
    # With --json, standard output is for the JSON alone.
    tell = say if as_json else show
    profile = profile_of(folder)
    if asked is not None:
        for outcome in open_reader(folder).last_scored(asked):
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
    """Show the case that the run stopped at, and the commands to continue with.

    With `--test`, where a run need not stop, show the first case.
    """
    outcome = finished.stopped or next(read_outcomes(finished.folder), None)
    if outcome is None:
        return
    commands: Sequence[tuple[str, str]] = ()
    if finished.stopped:
        commands = _next_commands(command, stop_on_fail)
    tell = say if as_json else show
    tell(failure_screen(outcome, profile_of(finished.folder), commands, debug=debug))


def _next_commands(command: str, stop_on_fail: str | None) -> list[tuple[str, str]]:
    """The next steps after a stop, each with its command."""
    if stop_on_fail is None:
        same_stop = ""
    elif stop_on_fail == "pass":
        same_stop = " --stop-on-fail"
    else:
        same_stop = f" --stop-on-fail {shlex.quote(stop_on_fail)}"
    next_stop = same_stop or " --stop-on-fail"
    return [
        ("see it again, and ask once more with debug output", f"{command} --investigate"),
        ("fix the bot, then re-run this case", f"{command} --resume --resume-limit 1{same_stop}"),
        ("continue to the next failure", f"{command} --resume{next_stop}"),
        ("continue to the end", f"{command} --resume"),
    ]


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
        if is_typed and name not in _ONE_TIME and not isinstance(parameter, click.Argument):
            words += _words_of_option(parameter, ctx.params[name])
    return shlex.join(words)


def _words_of_option(option: click.Parameter, value: object) -> list[str]:
    """The option as it is typed: `--limit 5`, `--no-charts`, or `--gate A --gate B`."""
    if value is True:
        return [option.opts[0]]
    # A flag that is off was typed by its second name, as --no-charts.
    if value is False:
        return [option.secondary_opts[0]]
    if not isinstance(value, tuple):
        return [option.opts[0], str(value)]
    words: list[str] = []
    for item in cast("tuple[object, ...]", value):
        words += [option.opts[0], str(item)]
    return words
