"""`answerkey summary` and `report`: the results of a run, or its figures by one of its columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from answerkey.cli.output import PATH, end, json_option, print_result
from answerkey.cli.scoring_options import charts_option
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.files import read_json
from answerkey.reports.numbers import format_figure
from answerkey.reports.tables import align_columns
from answerkey.reports.text import text_report
from answerkey.reports.write import write_reports
from answerkey.runs.conclusion import end_of_reading
from answerkey.runs.store import profile_of, read_manifest, read_outcomes
from answerkey.runs.summary import Summary
from answerkey.runs.tally import OutcomeTally
from answerkey.text import format_count
from answerkey.types import Outcome

COLUMNS: dict[str, Callable[[Outcome], str | None]] = {
    "route": lambda outcome: outcome.response.route,
    "expected_route": lambda outcome: outcome.case.expected_route,
    "type": lambda outcome: outcome.case.type,
    "source_file": lambda outcome: outcome.case.source_file,
    "status": lambda outcome: outcome.verdict.status,
    "band": lambda outcome: outcome.verdict.band,
}


def group_by(folder: Path, column: str) -> dict[str | None, OutcomeTally]:
    """The cases with each value of the column, most cases first; None for those without one.

    >>> list(group_by(Path("results/run"), "route"))      # doctest: +SKIP
    ['documents', 'sales']
    """
    if column not in COLUMNS:
        known = ", ".join(COLUMNS)
        raise SettingsError(
            f'cannot group by "{column}"{did_you_mean(column, COLUMNS)}; choose one of {known}'
        )
    groups: dict[str | None, OutcomeTally] = {}
    for outcome in read_outcomes(folder):
        name = COLUMNS[column](outcome)
        groups.setdefault(None if name is None else str(name), OutcomeTally()).add(
            [(outcome, None)]
        )
    return dict(
        sorted(groups.items(), key=lambda each: (-each[1].count, each[0] is None, each[0] or ""))
    )


@click.command("summary")
@click.argument("run", type=PATH)
@click.option(
    "--by",
    metavar="COLUMN",
    help=f"Counts and means per {', '.join(list(COLUMNS)[:-1])} or {list(COLUMNS)[-1]}.",
)
@json_option
def summary_command(run: Path, by: str | None, as_json: bool) -> None:
    """Print the text report of a run, or with --json its summary.json. Writes nothing.

    \b
    Example:
      answerkey summary results/support-bot_20260102_030405 --json
      answerkey summary results/support-bot_20260102_030405 --by source_file
    """
    partial = read_manifest(run).partial
    if by is not None:
        groups = group_by(run, by)
        rows: list[dict[str, object]] = []
        table = [[by, "cases", "scored", "passed", "errors", "mean score"]]
        for name, each in groups.items():
            counts = {
                "cases": each.count,
                "scored": each.judged,
                "passed": each.passed,
                "errors": each.error_count,
            }
            means = {"mean_score": each.overall.mean, "mean_response_time": each.seconds.mean}
            rows.append({"name": name, **counts, **means})
            shown = "(none)" if name is None else " ".join(name.split())
            table.append(
                [
                    shown,
                    *(f"{count:,}" for count in counts.values()),
                    format_figure(each.overall.mean),
                ]
            )
        print_result(rows, "\n".join(align_columns(table)), as_json)
        raise click.exceptions.Exit(
            end(end_of_reading(partial, f"{format_count(len(groups), 'group')} by {by}"))
        )
    path = run / "summary.json"
    if not path.is_file():
        raise InputError(f"{run}: no summary yet; create it with `answerkey report {run}`")
    try:
        record = read_json(path.read_bytes()) | {"partial": partial}
        summary = Summary.of_json(record)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise InputError(
            f"{path}: not a summary of this version; rewrite it with `answerkey report {run}`"
        ) from None
    print_result(record, "" if as_json else text_report(summary, profile_of(run)), as_json)
    raise click.exceptions.Exit(end(end_of_reading(partial, f"the summary of {run}")))


@click.command("report")
@click.argument("run", type=PATH)
@charts_option
@json_option
def report_command(run: Path, charts: bool | None, as_json: bool) -> None:
    """Rewrite all reports of a run from its journal, and print the text report.

    \b
    Example:
      answerkey report results/support-bot_20260102_030405
    """
    summary = write_reports(run, charts=charts)
    print_result(summary.to_json(), text_report(summary, profile_of(run)), as_json)
    raise click.exceptions.Exit(
        end(end_of_reading(summary.run.partial, f"reports written to {run}"))
    )
