"""`answerkey baseline`: the run that later runs are compared with."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.output import done, json_option, print_json, show
from answerkey.comparison.baseline import find_baseline, set_baseline
from answerkey.runs.store import is_run

_folder_option = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    help="Folder whose .answerkey/baseline.json records the baseline; default the current folder.",
)


@click.group("baseline")
def command() -> None:
    """Set the run that `answerkey compare RUN` compares with.

    \b
    Example:
      answerkey baseline set results/bot_20260102_030405
      answerkey compare results/bot_20260103_030405 --gate
    """


@command.command("set")
@click.argument("run", type=click.Path(path_type=Path))
@_folder_option
def set_command(run: Path, folder: Path) -> None:
    """Make RUN the baseline.

    \b
    Example:
      answerkey baseline set results/bot_20260102_030405
    """
    path = set_baseline(run, folder)
    done(f"{run} is now the baseline (recorded in {path})")


@command.command("show")
@_folder_option
@json_option
def show_command(folder: Path, as_json: bool) -> None:
    """Print which run is the baseline.

    \b
    Example:
      answerkey baseline show --json
    """
    path, kept = find_baseline(folder)
    there = is_run(path)
    if as_json:
        print_json({"run": str(path), "name": kept.name, "created": kept.created, "exists": there})
    else:
        show(f"{path}  {kept.name}, created {kept.created}{'' if there else '; the folder no longer exists'}")
