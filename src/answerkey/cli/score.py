"""`answerkey score` and `rescore`: score answers that are already there."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.export import export_scores, to_option
from answerkey.cli.output import PATH, json_option, quiet_option
from answerkey.cli.run.finish import finish_run, same_command
from answerkey.cli.run.loop import interactive, rescore_with_progress
from answerkey.cli.run_folder import RUN
from answerkey.cli.scoring_options import ScoringOptions, allow_code_option, scoring_options
from answerkey.cli.selection_options import selection_options
from answerkey.runs.control import Options, Selection
from answerkey.runs.execute import execute_suite
from answerkey.runs.suite import suite_of


@click.command("score")
@click.argument("cases", nargs=-1)
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    metavar="PATH",
    help="A case file, as in `run`; the same as naming it.",
)
@selection_options
@scoring_options("Metrics, comma-separated: keyword_recall,recall@5.")
@click.option("--answers", type=PATH, help="A second file of answers, joined by id.")
@click.option(
    "--out", type=PATH, default="results", help="Folder for run folders; default results."
)
@click.option("--name", default="score", help="Start of the run folder's name; default score.")
@click.option(
    "--gate",
    "gates",
    multiple=True,
    help='A condition, such as "user_satisfaction >= 0.70"; may be repeated.',
)
@to_option
@quiet_option
@json_option
def score_command(
    cases: tuple[str, ...],
    datasets: tuple[str, ...],
    selection: Selection,
    scoring: ScoringOptions,
    answers: Path | None,
    out: Path,
    name: str,
    gates: tuple[str, ...],
    export: tuple[str, str] | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Score the answers in case files, and write the reports.

    Without --profile and --metrics, the profile that fits the data is used.

    \b
    Example:
      answerkey score answers.csv
      answerkey score answers.jsonl --metrics exact_match,keyword_recall
      answerkey score answers.csv --profile route-aware --out results
      answerkey score traces.jsonl --profile rag --to otlp scores.jsonl
      answerkey score answers.csv --metrics token_f1 --per-type 5
    """
    cases += datasets
    if not cases:
        raise click.UsageError("name at least one case file: answerkey score answers.jsonl …")
    table = scoring.settings()
    table |= {
        "name": name,
        "cases": list(cases),
        "run": {"out": str(out.resolve()), "jobs": scoring.jobs},
        "gate": {"require": list(gates)},
    }
    if scoring.without:
        table["profile"] = scoring.profile_without(table.get("profile"))
    if answers:
        table["target"] = {"kind": "recorded", "answers": str(answers.resolve())}
    suite = suite_of(table, Path())
    with interactive(quiet=quiet) as (watch, stop):
        finished = execute_suite(suite, Options(selection), watch, stop)
    export_scores(finished.folder, export)
    again = same_command("score", *cases)
    raise click.exceptions.Exit(
        finish_run(finished, again, as_json=as_json, quiet=quiet, charts=scoring.charts)
    )


@click.command("rescore")
@click.argument("run", type=RUN)
@scoring_options("Metrics, comma-separated; replaces those of the run.")
@click.option("--out", type=PATH, help="Folder for the new run; default beside the old one.")
@click.option(
    "--resume",
    is_flag=True,
    help="Continue the newest unfinished rescore of this run, or this unfinished rescore.",
)
@allow_code_option
@quiet_option
@json_option
def rescore_command(
    run: Path,
    scoring: ScoringOptions,
    out: Path | None,
    resume: bool,
    allow_code: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Make a new run from the answers of an old one; the target is not asked again.

    \b
    Example:
      answerkey rescore results/bot_20260102_030405 --profile uniform
    """
    changes = scoring.settings() | {"run": {"jobs": scoring.jobs}}
    if scoring.without:
        changes["profile"] = scoring.profile_without(changes.get("profile"))
    finished = rescore_with_progress(
        run, changes, out, resume=resume, quiet=quiet, allow_code=allow_code
    )
    again = f"{same_command('rescore', run)} --resume"
    raise click.exceptions.Exit(
        finish_run(finished, again, as_json=as_json, quiet=quiet, charts=scoring.charts)
    )
