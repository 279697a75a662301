"""`answerkey score`: answers already in the files, no suite needed."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.options import judge_option, measuring_options
from answerkey.cli.shared import json_option


@click.command("score")
@click.argument("cases", nargs=-1, required=True)
@click.option("--metrics", help="Metrics, parted by commas: keyword_recall,recall@5.")
@measuring_options
@judge_option
@click.option("--answers", type=click.Path(path_type=Path), help="A second file of answers, joined by id.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="results",
    show_default=True,
    help="Where run folders go.",
)
@click.option("--name", default="score", show_default=True, help="The beginning of the run folder's name.")
@click.option(
    "--gate", "gates", multiple=True, help='A condition, as in "user_satisfaction >= 0.70"; may be repeated.'
)
@click.option("--quiet", is_flag=True, help="No progress and no report on the screen.")
@json_option
@click.pass_context
def command(ctx: click.Context, cases: tuple[str, ...], as_json: bool, quiet: bool, **given: object) -> None:
    """Score the answers in case files with metrics or a profile, and write the reports.

    \b
    Example:
      answerkey score answers.jsonl --metrics exact_match,keyword_recall
      answerkey score answers.csv --profile route-aware --out results
    """
    from answerkey.cli.again import command_again
    from answerkey.cli.attended import attended
    from answerkey.cli.ending import end_run
    from answerkey.cli.options import recorded_suite
    from answerkey.runs.control import Options
    from answerkey.runs.execute import run_suite

    suite = recorded_suite(cases, given)
    with attended(quiet=quiet) as (watch, stop):
        finished = run_suite(suite, Options(), watch, stop)
    again = command_again("score", *cases)
    ctx.exit(
        end_run(
            finished, as_json=as_json, quiet=quiet, resume_command=again, pictures=not given["no_pictures"]
        )
    )
