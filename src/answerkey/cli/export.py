"""The option `--to`: scores for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.output import say
from answerkey.reports.otlp import send_otlp
from answerkey.runs.store import read_outcomes
from answerkey.text import format_count

to_option = click.option(
    "--to",
    "export",
    type=(click.Choice(("otlp",)), str),
    metavar="otlp FILE_OR_URL",
    help="Also write the scores as OpenTelemetry log records, or post them to a collector.",
)


def export_scores(run: Path, export: tuple[str, str] | None) -> None:
    """Write or send the scores of a run where `--to` says so."""
    if export is None:
        return
    _, destination = export
    count = send_otlp(read_outcomes(run), destination)
    say(f"{format_count(count, 'log record')} written to {destination}")
