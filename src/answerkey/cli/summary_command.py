"""`answerkey summary`: the figures of a run, without writing anything."""

from __future__ import annotations

import json
from pathlib import Path

import click

from answerkey.cli.shared import json_option, print_json, show


@click.command("summary")
@click.argument("run", type=click.Path(path_type=Path))
@json_option
def command(run: Path, as_json: bool) -> None:
    """Print the summary of a run.

    \b
    Example:
      answerkey summary results/support-bot_20260102_030405 --json
    """
    from answerkey.errors import InputError
    from answerkey.reports.text import text_report
    from answerkey.runs.folder import read_manifest

    read_manifest(run)
    path = run / "summary.json"
    if not path.is_file():
        raise InputError(f"{run}: no summary yet; write it with `answerkey report {run}`")
    summary = json.loads(path.read_text(encoding="utf-8"))
    if as_json:
        print_json(summary)
    else:
        show(text_report(summary))
