"""The list of runs and sweeps, the trend of a suite, and the page of one sweep."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from answerkey.errors import InputError, StorageError, did_you_mean
from answerkey.reports.charts.trend_chart import trend_chart
from answerkey.types import Json
from answerkey.viewer.library import SWEEP, RunLibrary, read_summary
from answerkey.viewer.render import respond
from answerkey.viewer.run_page import send_file

CHARTS_FILE = "charts.json"
FILES = ("evaluation_results.csv", "summary_statistics.csv")
MOST_RUNS = 40


def runs_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    runs = library.entries()
    sweeps = [_sweep(library, folder) for folder in library.sweeps()]
    return respond(request, "runs.html", {"folder": str(library.root), "runs": runs, "sweeps": sweeps})


def trend_page(request: Request) -> Response:
    """The runs of one suite over time: a chart of the pass rate, and a table of every metric."""
    library: RunLibrary = request.app.state.library
    entries = [entry for entry in library.entries() if "problem" not in entry]
    names = list(dict.fromkeys(entry["name"] for entry in entries))
    suite = request.query_params.get("suite", names[0] if names else "")
    if suite not in names:
        raise InputError(f'no suite "{suite}" here{did_you_mean(suite, names)}')
    runs = [entry for entry in entries if entry["name"] == suite][:MOST_RUNS]
    for entry in runs:
        summary = read_summary(library.run(entry["run"]))
        entry["means"] = summary.mean if summary else {}
    metrics = list(dict.fromkeys(metric for entry in runs for metric in entry["means"]))
    chart = trend_chart(list(reversed(runs)))
    charts = {"trend": chart} if chart else {}
    data: Json = {"suite": suite, "suites": names, "runs": runs, "metrics": metrics, "charts": charts}
    return respond(request, "trend.html", data)


def _sweep(library: RunLibrary, folder: Path) -> Json:
    best: Json = {}
    with suppress(OSError, ValueError, AttributeError):
        best = json.loads((folder / SWEEP).read_text(encoding="utf-8")).get("best", {})
    return {"sweep": library.key(folder), "sentence": best.get("sentence", "")}


def sweep_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    folder = library.sweep(request.path_params["sweep"])
    try:
        summary: Json = json.loads((folder / SWEEP).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"{folder.name}/{SWEEP}: cannot be read: {error}") from None
    data = {
        "sweep": library.key(folder),
        "summary": summary,
        "rows": _rows(summary),
        "charts": _charts(folder),
        "files": [name for name in FILES if (folder / name).is_file()],
    }
    return respond(request, "sweep.html", data)


def _charts(folder: Path) -> Json:
    """The specs that the sweep wrote; none for a sweep without charts or with a damaged file."""
    with suppress(OSError, ValueError):
        return json.loads((folder / CHARTS_FILE).read_text(encoding="utf-8"))
    return {}


def _rows(summary: Json) -> list[Json]:
    """Every setting with its metrics by plain name, best F1 first."""
    rows: list[Json] = []
    for setting in summary.get("settings", []):
        metrics = {name.partition("@")[0]: value for name, value in setting.items() if "@" in name}
        about = {name: setting.get(name) for name in ("setting", "alpha", "k")}
        times = summary.get("milliseconds", {}).get(setting.get("setting"))
        rows.append({**about, "metrics": metrics, "time": times})
    return sorted(rows, key=lambda row: -(row["metrics"].get("f1") or 0.0))


def sweep_file(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    return send_file(library.sweep(request.path_params["sweep"]), request.path_params["name"])
