"""`answerkey run`: ask the target every question of a suite, score the answers, write the reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from answerkey.cli.help import SectionedCommand
from answerkey.cli.output import COUNT, PATH, collection_option, json_option, quiet_option, say
from answerkey.cli.run import finish, loop
from answerkey.cli.run.dry_run import dry_run
from answerkey.cli.run.finish import finish_run
from answerkey.cli.run.investigate import investigate
from answerkey.cli.run.options import RunOptions, suite_path_of
from answerkey.cli.run.several import run_combinations
from answerkey.cli.scoring_options import ScoringOptions, add_options, scoring_options
from answerkey.cli.selection_options import per_type_option
from answerkey.errors import InputError
from answerkey.robustness.gates import split_gates
from answerkey.robustness.run import VariantReport, VariantRun
from answerkey.runs.control import Finished
from answerkey.runs.resume import run_to_resume
from answerkey.runs.store import is_run, read_manifest
from answerkey.runs.suite import Suite
from answerkey.user_traceback import begin_run

_OPTIONS = (
    click.option(
        "--resume",
        is_flag=True,
        help="Continue the newest unfinished run of this suite; finished cases are not asked again.",
    ),
    click.option(
        "--resume-limit",
        type=COUNT,
        metavar="N",
        help="With --resume: ask at most N cases, the stopped one first.",
    ),
    click.option(
        "--accept-changes",
        is_flag=True,
        help="Resume although cases, profile or settings changed; the change is recorded.",
    ),
    click.option(
        "--investigate",
        is_flag=True,
        help="Show the last failure in full, then ask it again with debug output.",
    ),
    click.option(
        "--stop-on-fail",
        is_flag=False,
        flag_value="pass",
        metavar="[N]",
        help="Stop at the first case that fails, or that scores under N on the profile's scale.",
    ),
    click.option("--limit", type=COUNT, metavar="N", help="Only the first N cases."),
    per_type_option,
    click.option(
        "--test",
        "smoke",
        is_flag=True,
        help="Only the first case (or the first N of --limit); the first is shown in full: does everything work?",
    ),
    click.option(
        "--dataset",
        "datasets",
        multiple=True,
        type=PATH,
        metavar="PATH",
        help="Case files, instead of those of the suite; may be repeated.",
    ),
    click.option(
        "--only",
        metavar="PATTERN",
        help="Only cases whose id matches or whose question contains this text.",
    ),
    click.option("--file", metavar="NAME", help="Only cases of this file."),
    click.option(
        "--tag", metavar="NAME", help="Only cases with this tag, or in a folder of this name."
    ),
    collection_option,
    click.option(
        "--workers", type=COUNT, metavar="N", help="Questions asked at the same time; default 5."
    ),
    click.option(
        "--timeout", type=float, metavar="SECONDS", help="Time to wait for one answer; default 30."
    ),
    click.option(
        "--repeats",
        type=COUNT,
        metavar="K",
        help="Ask each case K times; it passes by [run] require, default more than half.",
    ),
    click.option(
        "--max-cost", type=float, help="Stop when the answers and the judge have cost this much."
    ),
    click.option("--max-minutes", type=float, help="Stop after this many minutes."),
    click.option(
        "--out", type=PATH, help="Folder for run folders; default results, beside the suite."
    ),
    click.option(
        "--set",
        "assignments",
        multiple=True,
        metavar="NAME=VALUE",
        help="Any setting of the suite: judge.votes=3.",
    ),
    click.option(
        "--gate",
        "gates",
        multiple=True,
        help='An extra gate, such as "errors == 0"; may be repeated.',
    ),
    click.option(
        "--variants",
        metavar="KINDS",
        help="Ask the questions again with typos, as keywords, spoken, lowercase, with a greeting "
        "or as module:function makes them; comma-separated.",
    ),
    click.option(
        "--per-case", type=COUNT, metavar="N", help="With --variants: N of each kind per case."
    ),
    click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        help="Where the run executes; default local.",
    ),
    click.option(
        "--address",
        help="With --engine ray: address of the cluster; default embedded Ray on this machine.",
    ),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Check everything and print what would be asked; ask nothing.",
    ),
    click.option(
        "--debug", is_flag=True, help="Show failing cases in full, with the target's raw responses."
    ),
    quiet_option,
)

# By the names of the function's arguments; "Output" has the rest.
_SECTIONS = {
    "Which cases": ("datasets", "limit", "per_type", "smoke", "only", "file", "tag"),
    "Asking the bot": (
        "workers",
        "timeout",
        "repeats",
        "max_cost",
        "max_minutes",
        "collection",
        "dry_run",
    ),
    "Scoring": (
        "profile",
        "metrics",
        "without",
        "judge",
        "judge_model",
        "judge_mode",
        "judge_when",
        "model",
        "entailment",
        "modules",
        "jobs",
        "gates",
    ),
    "Stop, fix, resume": (
        "stop_on_fail",
        "investigate",
        "resume",
        "resume_limit",
        "accept_changes",
    ),
    "Variants of the questions": ("variants", "per_case"),
    "Settings and machines": ("assignments", "engine", "address"),
}


@click.command("run", cls=SectionedCommand, sections=_SECTIONS)
@click.argument("suite", type=PATH)
@add_options(*_OPTIONS)
@scoring_options("Extra metrics, comma-separated.")
@json_option
def run_command(suite: Path, scoring: ScoringOptions, **given: Any) -> None:
    """Run a suite. SUITE is its TOML file, or a run folder to resume.

    Without a suite: a case file, or a text or PDF that the built-in document bot answers from.

    \b
    Example:
      answerkey run suite.toml
      answerkey run manual.txt --dataset questions.csv
      answerkey run suite.toml --stop-on-fail      # look, fix the bot, then:
      answerkey run suite.toml --resume --resume-limit 1 --stop-on-fail
      answerkey run suite.toml --resume
    """
    raise click.exceptions.Exit(run(RunOptions(suite=suite, scoring=scoring, **given)))


def run(options: RunOptions) -> int:
    """Run, resume, investigate or check a suite, and return the exit code."""
    begin_run(whole=options.debug)
    folder = options.suite if is_run(options.suite) else None
    # The folder itself has the failure; the suite may have been moved since.
    if options.investigate and folder is not None:
        return investigate(folder, None, options)
    suite = options.load_suite(suite_path_of(folder) if folder else options.suite)
    if suite.targets or suite.prompts:
        return run_combinations(suite, options)
    if options.investigate:
        return investigate(_run_to_investigate(suite), suite, options)
    if folder is None and options.resume:
        folder = run_to_resume(suite)
        if folder is None:
            say(f"there is no run of {suite.name} to resume; starting a new one")
    if folder is not None and read_manifest(folder).rescore_of:
        return _resume_rescore(folder, options)
    if options.dry_run:
        return _check_only(suite, folder, options)
    return _ask_and_score(suite, folder, options)


def _run_to_investigate(suite: Suite) -> Path:
    folder = run_to_resume(suite)
    if folder is None:
        where = suite.folder / suite.run.out
        raise InputError(f"{where}: there is no run of {suite.name} to investigate; start one")
    return folder


def _resume_rescore(folder: Path, options: RunOptions) -> int:
    """Continue a rescore that was interrupted."""
    # `run` executes the suite that the folder names, so its code is trusted already.
    finished = loop.rescore_with_progress(
        folder, {}, None, resume=True, quiet=options.quiet, allow_code=True
    )
    return _finish(finished, finish.same_command("run", options.suite), options)


def _check_only(suite: Suite, folder: Path | None, options: RunOptions) -> int:
    settings = options.for_engine(folder)
    variant_run = VariantRun.of_suite(suite, settings.selection, is_dry=True)
    # Gates on variants are for the variants' own figures, which the run does not have.
    suite = replace(suite, gate=split_gates(suite.gate)[0])
    return dry_run(suite, settings, variant_run, as_json=options.as_json)


def _ask_and_score(suite: Suite, folder: Path | None, options: RunOptions) -> int:
    """Start a run, or continue the one in `folder`."""
    same = finish.same_command("run", options.suite)
    finished, variants = loop.run_suite_and_variants(suite, folder, options)
    if finished.stopped is not None or options.smoke:
        finish.show_stop(
            finished, same, options.stop_on_fail, as_json=options.as_json, debug=options.debug
        )
    elif options.debug and not options.quiet:
        finish.show_failing(finished.folder, as_json=options.as_json, asked=options.resume_limit)
    return _finish(finished, same, options, variants)


def _finish(
    finished: Finished, command: str, options: RunOptions, variants: VariantReport | None = None
) -> int:
    return finish_run(
        finished,
        f"{command} --resume",
        as_json=options.as_json,
        quiet=options.quiet,
        charts=options.scoring.charts,
        variants=variants,
    )
