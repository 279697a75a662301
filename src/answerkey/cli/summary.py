"""`answerkey summary` and `report`: the results of a run, or its figures by one of its columns."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import cast

import click

from answerkey.cli.compare import print_table
from answerkey.cli.export import export_scores, to_option
from answerkey.cli.output import PATH, end, json_option, print_json, print_result, show
from answerkey.cli.run_folder import RUN, choose_run
from answerkey.cli.scoring_options import charts_option
from answerkey.comparison.pair import groups_of
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.files import read_json
from answerkey.reports.numbers import format_figure
from answerkey.reports.tables import align_columns
from answerkey.reports.write import full_text_report, summary_json, write_reports
from answerkey.robustness.record import read_variants, read_variants_record
from answerkey.runs.conclusion import end_of_reading
from answerkey.runs.means import plain_mean
from answerkey.runs.store import profile_of, read_manifest, read_outcomes
from answerkey.runs.summary import Summary
from answerkey.runs.table import RunTable, table_of_run
from answerkey.text import format_count
from answerkey.types import Outcome, Status

COLUMNS = ("route", "expected_route", "type", "source_file", "status", "band")


def group_by(folder: Path, column: str) -> dict[str | None, RunTable]:
    """The cases with each value of the column, most cases first; None for those without one.

    >>> list(group_by(Path("results/run"), "route"))      # doctest: +SKIP
    ['documents', 'sales']
    """
    if column not in COLUMNS:
        return _group_by_case_column(folder, column)
    table = table_of_run(read_outcomes(folder))
    names: Counter[str | None] = Counter(getattr(table, column))
    # None cannot be compared with text, so `name is None` decides before the name.
    ordered = sorted(names, key=lambda name: (-names[name], name is None, name or ""))
    return {name: table.where(column, name) for name in ordered}


def _group_by_case_column(folder: Path, column: str) -> dict[str | None, RunTable]:
    """The cases with each value of a column of their own; a case may have several tags."""
    groups: dict[str | None, list[Outcome]] = {}
    case_columns: dict[str, None] = {}
    for outcome in read_outcomes(folder):
        case_columns.update(dict.fromkeys(outcome.case.extra))
        for name in groups_of(outcome, column) or (None,):
            groups.setdefault(name, []).append(outcome)
    # No case has a value there, so the name of the column is probably wrong.
    if set(groups) <= {None}:
        names = (*COLUMNS, "tag", "priority", *case_columns)
        listed = ", ".join(dict.fromkeys(names))
        raise SettingsError(
            f'cannot group by "{column}"{did_you_mean(column, names)}; choose one of {listed}'
        )
    ordered = sorted(groups, key=lambda name: (-len(groups[name]), name is None, name or ""))
    return {name: table_of_run(groups[name]) for name in ordered}


def _group_row(name: str | None, table: RunTable) -> dict[str, object]:
    """The figures of one group, as `--by --json` prints them."""
    passed = table.passed & table.judged
    return {
        "name": name,
        "cases": len(table),
        "scored": int(table.judged.sum()),
        "passed": int(passed.sum()),
        "errors": int((table.status == Status.ERROR).sum()),
        "mean_score": plain_mean(table.score),
        "mean_response_time": plain_mean(table.times),
    }


def _group_cells(row: dict[str, object]) -> list[str]:
    name = row["name"]
    if name is None:
        shown = "(none)"
    else:
        # A value of the user's data may have line breaks, which would tear the table.
        shown = " ".join(str(name).split())
    counts = [f"{row[key]:,}" for key in ("cases", "scored", "passed", "errors")]
    return [shown, *counts, format_figure(cast("float | None", row["mean_score"]))]


def newest_run_per_bot(folder: Path) -> list[Path]:
    """The newest full run of each bot, of the suite that ran last."""
    from answerkey.viewer.library import RunLibrary
    from answerkey.viewer.many_page import newest_per_bot

    library = RunLibrary(folder)
    entries = library.readable()
    full_runs = [entry for entry in entries if entry.is_full]
    if full_runs:
        keys = newest_per_bot(entries, full_runs[0].name)
    else:
        keys = []
    if len(keys) < 2:
        raise InputError(
            f"{folder}: a table needs full runs of two bots, and there are {len(keys)}; "
            "name the runs with `answerkey compare RUN RUN RUN`"
        )
    return [library.run(key) for key in keys]


@click.command("summary")
@click.argument("run", type=PATH)
@click.option(
    "--by",
    metavar="COLUMN",
    help=f"Counts and means per {', '.join(COLUMNS)}, tag or any other column of the cases.",
)
@click.option(
    "--table", is_flag=True, help="RUN is a folder of runs: one line per bot, its newest full run."
)
@json_option
def summary_command(run: Path, by: str | None, table: bool, as_json: bool) -> None:
    """Print the text report of a run, or with --json its summary.json. Writes nothing.

    \b
    Example:
      answerkey summary results
      answerkey summary results --table
      answerkey summary results/support-bot_20260102_030405 --json
      answerkey summary results/support-bot_20260102_030405 --by source_file
    """
    if table:
        print_table(newest_run_per_bot(run), as_json)
        return
    run = choose_run(run)
    manifest = read_manifest(run)
    if by is not None:
        count = _print_groups(run, by, as_json)
        sentence = f"{format_count(count, 'group')} by {by}"
    else:
        _print_summary(run, manifest.partial, as_json)
        sentence = f"the summary of {run}"
    raise click.exceptions.Exit(end(end_of_reading(manifest, sentence)))


def _print_groups(run: Path, column: str, as_json: bool) -> int:
    """Print a row per value of the column, and return their number."""
    rows = [_group_row(name, table) for name, table in group_by(run, column).items()]
    header = [column, "cases", "scored", "passed", "errors", "mean score"]
    lines = align_columns([header, *map(_group_cells, rows)])
    print_result(rows, "\n".join(lines), as_json)
    return len(rows)


def _print_summary(run: Path, partial: str, as_json: bool) -> None:
    path = run / "summary.json"
    if not path.is_file():
        raise InputError(f"{run}: no summary yet; create it with `answerkey report {run}`")
    try:
        # The run may have been stopped or resumed after its summary was written.
        record = read_json(path.read_bytes()) | {"partial": partial}
        summary = Summary.of_json(record)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise InputError(
            f"{path}: not a summary of this version; rewrite it with `answerkey report {run}`"
        ) from None
    if as_json:
        print_json(record)
        return
    variants = read_variants_record(record.get("variants"))
    show(full_text_report(summary, profile_of(run), variants))


@click.command("report")
@click.argument("run", type=RUN)
@charts_option
@to_option
@json_option
def report_command(
    run: Path, charts: bool | None, export: tuple[str, str] | None, as_json: bool
) -> None:
    """Rewrite all reports of a run from its answers and scores, and print the text report.

    \b
    Example:
      answerkey report results/support-bot_20260102_030405
      answerkey report results/support-bot_20260102_030405 --to otlp http://localhost:4318
    """
    summary = write_reports(run, charts=charts)
    export_scores(run, export)
    variants = read_variants(run)
    text = full_text_report(summary, profile_of(run), variants)
    print_result(summary_json(summary, variants), text, as_json)
    raise click.exceptions.Exit(
        end(end_of_reading(read_manifest(run), f"reports written to {run}"))
    )
