"""`answerkey report`: rewrite the reports of a run from its journal."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.output import end, json_option, print_json, show
from answerkey.cli.scoring_options import charts_option
from answerkey.reports.text import text_report
from answerkey.reports.write import write_reports
from answerkey.runs.conclusion import end_of_reading
from answerkey.runs.store import profile_of


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path))
@charts_option
@json_option
def command(run: Path, charts: bool | None, as_json: bool) -> None:
    """Rewrite all reports of a run from its journal, and print the text report.

    \b
    Example:
      answerkey report results/support-bot_20260102_030405
    """
    summary = write_reports(run, charts=charts)
    if as_json:
        print_json(summary.to_json())
    else:
        show(text_report(summary, profile_of(run)))
    raise click.exceptions.Exit(end(end_of_reading(summary.run.partial, f"reports written to {run}")))
