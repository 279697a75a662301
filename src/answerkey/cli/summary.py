"""`answerkey summary`: print the results of a run."""

from __future__ import annotations

import json
from pathlib import Path

import click

from answerkey.cli.output import json_option, print_json, show


@click.command("summary")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--by", metavar="COLUMN", help="Counts and means per route, expected_route, type, source_file, status or band."
)
@json_option
def command(run: Path, by: str | None, as_json: bool) -> None:
    """Print the text report of a run, or with --json its summary.json. Writes nothing.

    \b
    Example:
      answerkey summary results/support-bot_20260102_030405 --json
      answerkey summary results/support-bot_20260102_030405 --by source_file
    """
    from answerkey.errors import InputError
    from answerkey.reports.text import text_report
    from answerkey.runs.store import open_run, read_manifest

    read_manifest(run)
    if by is not None:
        from answerkey.reports.grouped import group_by, grouped_text

        groups = group_by(run, by)
        return print_json([group.to_json() for group in groups]) if as_json else show(grouped_text(groups, by))
    path = run / "summary.json"
    if not path.is_file():
        raise InputError(f"{run}: no summary yet; create it with `answerkey report {run}`")
    summary = json.loads(path.read_text(encoding="utf-8"))
    return print_json(summary) if as_json else show(text_report(summary, open_run(run).profile))
