"""The list of runs and sweeps, the trend of a suite with its chart, and the page of one sweep."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from answerkey.comparison.comparison import better_direction
from answerkey.comparison.significance import holm, t_test_p
from answerkey.config.declare import TomlTable
from answerkey.errors import AnswerkeyError, InputError, StorageError, did_you_mean
from answerkey.files import read_json
from answerkey.reports.chart_style import AMBER, BLUE, Spec, layer, name, number, over, titled
from answerkey.reports.rows import Rows, journal_state, read_rows
from answerkey.text import short_label
from answerkey.viewer.library import SWEEP, RunEntry, RunLibrary
from answerkey.viewer.render import respond
from answerkey.viewer.run_page import send_file

CHARTS_FILE = "charts.json"
FILES = ("report.txt", "report.md", "evaluation_results.csv", "summary_statistics.csv")
MOST_RUNS = 40
MOST_COMPARED = 12
MOST_BARS = 20
SIGNIFICANT = 0.05


def runs_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    sweeps: list[dict[str, str]] = []
    for folder in library.sweeps():
        sentence = ""
        with suppress(OSError, ValueError, AttributeError):
            sentence = str(
                read_json((folder / SWEEP).read_bytes()).get("best", {}).get("sentence", "")
            )
        sweeps.append({"sweep": library.key(folder), "sentence": sentence})
    return respond(
        request,
        "runs.html",
        {"folder": str(library.root), "runs": library.entries(), "sweeps": sweeps},
    )


def trend_page(request: Request) -> Response:
    """The runs of one suite over time: a chart of the pass rate, and a table of every metric."""
    library: RunLibrary = request.app.state.library
    entries = library.readable()
    names = list(dict.fromkeys(entry.name for entry in entries))
    suite = request.query_params.get("suite", names[0] if names else "")
    if suite not in names:
        raise InputError(f'no suite "{suite}" here{did_you_mean(suite, names)}')
    runs = [entry for entry in entries if entry.name == suite][:MOST_RUNS]
    compared = runs[:MOST_COMPARED]
    folders = [library.run(entry.run) for entry in compared]
    for entry, marks in zip(
        compared, _marks(tuple(folders), tuple(map(journal_state, folders))), strict=True
    ):
        entry.marks = marks
    metrics = list(dict.fromkeys(metric for entry in runs for metric in entry.means))
    data = {
        "suite": suite,
        "suites": names,
        "runs": runs,
        "metrics": metrics,
        "charts": trend_chart(runs[::-1]),
    }
    return respond(request, "trend.html", data, compared=len(compared))


@lru_cache(maxsize=16)
def _marks(folders: tuple[Path, ...], states: tuple[str, ...]) -> list[dict[str, str]]:
    """For each run the metrics in which it is `best`, or a `tie`: not significantly different from the best run.

    Paired t-tests against the best run; p is corrected by Holm's method for the number of other runs.
    """
    values: list[dict[str, dict[str, float]]] = []
    for folder in folders:
        rows = Rows()
        with suppress(
            AnswerkeyError, LookupError, ValueError, TypeError, OSError
        ):  # a damaged run has no marks
            rows = read_rows(folder)
        columns = {"score": rows.score, **rows.metrics}
        values.append(
            {
                metric: {
                    case: value
                    for case, value in zip(rows.id, column, strict=True)
                    if isinstance(value, int | float)
                }
                for metric, column in columns.items()
            }
        )
    marks: list[dict[str, str]] = [{} for _ in folders]
    for metric in dict.fromkeys(metric for columns in values for metric in columns):
        measured = {n: columns[metric] for n, columns in enumerate(values) if columns.get(metric)}
        sign = {"higher": 1, "lower": -1}.get(better_direction(metric), 0)
        if len(measured) < 2 or not sign:
            continue
        means = {n: fmean(column.values()) for n, column in measured.items()}
        best = max(measured, key=lambda n: sign * means[n])
        others = [n for n in measured if n != best]
        corrected = holm([_paired_p(measured[best], measured[n]) for n in others])
        marks[best][metric] = "best"
        for n, p in zip(others, corrected, strict=True):
            if p >= SIGNIFICANT:
                marks[n][metric] = "best" if means[n] == means[best] else "tie"
    return marks


def _paired_p(a: dict[str, float], b: dict[str, float]) -> float:
    """Of the paired t-test over the cases that both have; 1 for fewer than two."""
    differences = [a[case] - b[case] for case in a if case in b]
    if len(differences) < 2:
        return 1.0
    mean, error = fmean(differences), stdev(differences) / sqrt(len(differences))
    if not error:
        return 0.0 if mean else 1.0
    return t_test_p(mean / error, len(differences))


def sweep_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    folder = library.sweep(request.path_params["sweep"])
    try:
        summary = read_json((folder / SWEEP).read_bytes())
        every = _rows(summary)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise StorageError(f"{folder.name}/{SWEEP}: cannot be read: {error}") from None
    choices = {
        "metric": list(dict.fromkeys(metric for row in every for metric in row["metrics"])),
        "type": list(dict.fromkeys(row["type"] for row in every)),
        "k": list(dict.fromkeys(str(row["k"]) for row in every)),
    }
    chosen = {key: request.query_params.get(key, "") for key in choices}
    for key, value in chosen.items():
        if value and value not in choices[key]:
            raise InputError(f'{key}: no "{value[:40]}"{did_you_mean(value, choices[key])}')
    rows = [
        row
        for row in every
        if chosen["type"] in ("", row["type"]) and chosen["k"] in ("", str(row["k"]))
    ]
    metric = chosen["metric"]
    if metric:
        rows.sort(key=lambda row: -(row["metrics"].get(metric) or 0.0))
    charts: dict[str, Spec] = {}  # none for a sweep without charts or with a damaged file
    with suppress(OSError, ValueError):
        charts = msgspec.convert(read_json((folder / CHARTS_FILE).read_bytes()), dict[str, Spec])
    data = {
        "sweep": library.key(folder),
        "summary": summary,
        "choices": choices,
        "chosen": chosen,
        "rows": rows,
        "chosen_charts": setting_chart(rows, metric or "f1") if any(chosen.values()) else {},
        "charts": charts,
        "files": [name for name in FILES if (folder / name).is_file()],
    }
    return respond(request, "sweep.html", data)


def _rows(summary: TomlTable) -> list[TomlTable]:
    """Every setting of sweep.json with its metrics by plain name, best first."""
    rows: list[TomlTable] = []
    times = summary.get("milliseconds", {})
    for given in msgspec.convert(summary.get("settings", []), list[TomlTable]):
        alpha = given.get("alpha")
        kind = "fusion" if alpha is None else {0.0: "sparse", 1.0: "dense"}.get(alpha, "hybrid")
        metrics = {name.partition("@")[0]: value for name, value in given.items() if "@" in name}
        row = {
            name: given.get(name)
            for name in ("setting", "alpha", "k", "value", "chunking", "embedding")
        }
        rows.append({**row, "type": kind, "metrics": metrics, "time": times.get(row["setting"])})
    return sorted(rows, key=lambda row: -(row["value"] or row["metrics"].get("f1") or 0.0))


def setting_chart(rows: Sequence[TomlTable], metric: str) -> dict[str, Spec]:
    """The best settings by a metric, as bars; empty where no setting has the metric."""
    values = [
        {
            "setting": short_label(f"{row['setting']}, K = {row['k']}"),
            "value": row["metrics"][metric],
        }
        for row in rows
        if row["metrics"].get(metric) is not None
    ]
    y = name("setting", axis={"labelLimit": 260})
    bars = layer("bar", {"x": number("value", metric), "y": y}, color=BLUE, tooltip=True)
    shown = {"data": {"values": values[:MOST_BARS]}, "height": {"step": 22}, **bars}
    more = (
        f"the first {MOST_BARS} of {len(values)} settings"
        if len(values) > MOST_BARS
        else f"{len(values)} settings"
    )
    return {"chosen": titled(f"{metric} of the chosen settings", shown, more)} if values else {}


def sweep_file(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    return send_file(library.sweep(request.path_params["sweep"]), request.path_params["name"])


def trend_chart(runs: Sequence[RunEntry]) -> dict[str, Spec]:
    """One point per run, oldest first, with its 95 % interval; empty for fewer than two runs with a pass rate."""
    rated = [
        (run, run.pass_rate_ci95)
        for run in runs
        if run.pass_rate is not None and run.pass_rate_ci95
    ]
    if len(rated) < 2:
        return {}
    values: list[Spec] = []
    for n, (run, (low, high)) in enumerate(rated):
        alone = sum(other.created[:16] == run.created[:16] for other in runs) == 1
        when = run.created[:16].replace("T", " ") if alone else short_label(run.run, 30)
        about = {"order": n, "run": short_label(run.run), "when": when}
        changed = short_label(", ".join(run.changed))
        values.append(
            {**about, "rate": run.pass_rate, "low": low, "high": high, "changed": changed}
        )
    x = {
        "field": "when",
        "type": "ordinal",
        "title": None,
        "sort": {"field": "order"},
        "axis": {"labelAngle": -30},
    }
    y = number("rate", "pass rate", scale={"domain": [0, 1]}, axis={"format": ".0%"})
    ends = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    label = {"x": x, "y": {"value": 8}, "text": {"field": "changed"}}
    marked = [value for value in values if value["changed"]]
    layers = [
        over(marked, layer("rule", {"x": x}, color=AMBER, strokeDash=[5, 4], strokeWidth=1.5)),
        over(marked, layer("text", label, align="left", dx=4, color=AMBER)),
        layer("rule", ends, color=BLUE, strokeWidth=3, opacity=0.4),
        layer("line", {"x": x, "y": y}, color=BLUE),
        layer("point", {"x": x, "y": y}, filled=True, size=80, tooltip=True),
    ]
    subtitle = "share passed with its 95 % interval; dashed: the named part of the setup changed"
    spec = {"height": 240, "data": {"values": values}, "layer": layers}
    return {"trend": titled("Pass rate over time", spec, subtitle)}
