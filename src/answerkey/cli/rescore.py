"""`answerkey rescore`: score the same answers with another profile, judge or model."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.output import json_option
from answerkey.cli.run.finish import finish_run, same_command
from answerkey.cli.run.loop import rescore_with_progress
from answerkey.cli.scoring_options import ScoringOptions, scoring_options


@click.command("rescore")
@click.argument("run", type=click.Path(path_type=Path))
@scoring_options("Metrics, comma-separated; replaces those of the run.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the new run; default beside the old one.")
@click.option(
    "--resume", is_flag=True, help="Continue the newest unfinished rescore of this run, or this unfinished rescore."
)
@click.option("--quiet", "-q", is_flag=True, help="No progress and no report on the screen.")
@json_option
def command(run: Path, scoring: ScoringOptions, out: Path | None, resume: bool, quiet: bool, as_json: bool) -> None:
    """Make a new run from the answers of an old one; the target is not asked again.

    \b
    Example:
      answerkey rescore results/bot_20260102_030405 --profile uniform
    """
    changes = scoring.settings() | {"run": {"jobs": scoring.jobs}}
    if scoring.without:
        changes["profile"] = scoring.profile_without(changes.get("profile"))
    finished = rescore_with_progress(run, changes, out, resume=resume, quiet=quiet)
    again = f"{same_command('rescore', run)} --resume"
    raise click.exceptions.Exit(finish_run(finished, again, as_json=as_json, quiet=quiet, charts=scoring.charts))
