"""`answerkey rescore`: the same answers under another ruler."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.options import judge_option, measuring_options
from answerkey.cli.shared import json_option


@click.command("rescore")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--metrics", help="Metrics, parted by commas, in place of those of the run.")
@measuring_options
@judge_option
@click.option(
    "--out", type=click.Path(path_type=Path), help="Where the new run goes; beside the old one by default."
)
@click.option("--quiet", is_flag=True, help="No progress and no report on the screen.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, run: Path, out: Path | None, as_json: bool, quiet: bool, **given: object
) -> None:
    """A new run from the answers of an old one; the target is not asked again.

    \b
    Example:
      answerkey rescore results/bot_20260102_030405 --profile uniform
    """
    from answerkey.cli.again import command_again
    from answerkey.cli.attended import attended
    from answerkey.cli.ending import end_run
    from answerkey.cli.options import measuring, without
    from answerkey.runs.rescore import rescore

    changes = without(measuring(given), tuple(given["without"]))  # type: ignore[arg-type]
    with attended(quiet=quiet) as (watch, stop):
        finished = rescore(run, changes, out, watch, stop)
    again = command_again("rescore", run)
    ctx.exit(
        end_run(
            finished, as_json=as_json, quiet=quiet, resume_command=again, pictures=not given["no_pictures"]
        )
    )
