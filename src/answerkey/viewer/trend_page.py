"""The runs of one suite over time: a chart of the pass rate, and a table of every metric."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from answerkey.errors import InputError, did_you_mean
from answerkey.reports.chart_style import Spec, add_title, load_chart
from answerkey.text import short_label
from answerkey.viewer.library import RunEntry, RunLibrary
from answerkey.viewer.render import respond
from answerkey.viewer.trend_marks import mark_best_runs, scored_alike

_MOST_RUNS = 40
_MOST_COMPARED = 12


def trend_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    entries = library.readable()
    suites = list(dict.fromkeys(entry.name for entry in entries))
    suite = request.query_params.get("suite", suites[0] if suites else "")
    if suite not in suites:
        raise InputError(f'no suite "{suite}" here{did_you_mean(suite, suites)}')
    of_suite = [entry for entry in entries if entry.name == suite]
    # A run of some cases, or one that stopped, would look like a change of the bot.
    runs = [entry for entry in of_suite if entry.is_full][:_MOST_RUNS]
    compared = runs[:_MOST_COMPARED]
    if compared:
        mark_best_runs(library, compared)
    data = {
        "suite": suite,
        "suites": suites,
        "runs": runs,
        "left_out": sum(not entry.is_full for entry in of_suite),
        "metrics": list(dict.fromkeys(metric for entry in runs for metric in entry.means)),
        "charts": trend_chart(runs[::-1]),
    }
    alike = sum(scored_alike(entry, runs[0]) for entry in compared)
    return respond(request, "trend.html", data, alike=alike, others=len(compared) - alike)


def trend_chart(runs: Sequence[RunEntry]) -> dict[str, Spec]:
    """One point per run, oldest first, with its 95 % interval; empty for fewer than two points."""
    values: list[Spec] = []
    for run in runs:
        if run.pass_rate is None:
            continue
        # A run with a single conversation or cluster has a rate, but no interval.
        low, high = run.pass_rate_ci95 or (run.pass_rate, run.pass_rate)
        values.append(
            {
                "order": len(values),
                "run": short_label(run.run),
                "when": _axis_label(run, runs),
                "rate": run.pass_rate,
                "low": low,
                "high": high,
                "changed": short_label(", ".join(run.changed)),
            }
        )
    if len(values) < 2:
        return {}
    changes = [value for value in values if value["changed"]]
    spec = load_chart("trend", values=values, changes=changes)
    subtitle = "share passed with its 95 % interval; dashed: the named part of the setup changed"
    return {"trend": add_title("Pass rate over time", spec, subtitle)}


def _axis_label(run: RunEntry, runs: Sequence[RunEntry]) -> str:
    """The minute of the run; its name if another run is of the same minute."""
    minute = run.created[:16]
    if sum(other.created[:16] == minute for other in runs) > 1:
        return short_label(run.run, 30)
    return minute.replace("T", " ")
