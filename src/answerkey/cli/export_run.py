"""`answerkey export`: a run as a file for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.output import PATH, end, json_option, print_result
from answerkey.errors import SettingsError
from answerkey.reports.export import ExportFormat, export_run
from answerkey.runs.conclusion import end_of_reading
from answerkey.runs.store import read_manifest
from answerkey.text import format_count


@click.command("export")
@click.argument("run", type=PATH)
@click.option("--jsonl", is_flag=True, help="JSON lines, one per case, as results.jsonl.")
@click.option("--csv", is_flag=True, help="A table, one row per case, as results.csv.")
@click.option("--parquet", is_flag=True, help="The columns of results.jsonl for DuckDB or pandas.")
@click.option("--sqlite", is_flag=True, help="The whole run as one database.")
@click.option(
    "--out", type=PATH, metavar="FILE", help="Default: the name of the run, in this folder."
)
@json_option
def export_command(
    run: Path, jsonl: bool, csv: bool, parquet: bool, sqlite: bool, out: Path | None, as_json: bool
) -> None:
    """Write the cases of a run to a file that other programs read.

    A run of an earlier version becomes a database of today with --sqlite; of a damaged run,
    everything that can be read is written.

    \b
    Example:
      answerkey export results/support-bot_20260102_030405 --parquet
      answerkey export results/support-bot_20260102_030405 --csv --out cases.csv
    """
    flags = {
        ExportFormat.JSONL: jsonl,
        ExportFormat.CSV: csv,
        ExportFormat.PARQUET: parquet,
        ExportFormat.SQLITE: sqlite,
    }
    kinds = [kind for kind, is_set in flags.items() if is_set]
    if len(kinds) != 1:
        raise SettingsError("give one of --jsonl, --csv, --parquet or --sqlite")
    manifest = read_manifest(run)
    path = out or Path(f"{run.resolve().name}.{kinds[0]}")
    count = export_run(run, kinds[0], path)
    record = {"file": str(path), "cases": count}
    print_result(record, f"{path}: {format_count(count, 'case')}", as_json)
    sentence = f"{format_count(count, 'case')} exported"
    raise click.exceptions.Exit(end(end_of_reading(manifest, sentence)))
