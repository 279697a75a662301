"""The list of runs and sweeps, and the page of one sweep."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from answerkey.errors import AnswerkeyError, StorageError
from answerkey.types import Json
from answerkey.viewer.library import SWEEP, RunLibrary, entry
from answerkey.viewer.render import respond
from answerkey.viewer.run_page import send_file


def runs_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    runs: list[Json] = []
    for folder in library.runs():
        try:
            runs.append(entry(library, folder))
        except AnswerkeyError as error:
            runs.append({"run": library.key(folder), "problem": str(error)})
        except (LookupError, TypeError, ValueError, AttributeError, OSError) as error:
            problem = f"cannot be read: {type(error).__name__}: {error}"
            runs.append({"run": library.key(folder), "problem": problem})
    runs.sort(key=lambda run: str(run.get("created", "")), reverse=True)
    sweeps = [_sweep(library, folder) for folder in library.sweeps()]
    return respond(request, "runs.html", {"folder": str(library.root), "runs": runs, "sweeps": sweeps})


def _sweep(library: RunLibrary, folder: Path) -> Json:
    best: Json = {}
    with suppress(OSError, ValueError):
        best = json.loads((folder / SWEEP).read_text(encoding="utf-8")).get("best", {})
    return {"sweep": library.key(folder), "sentence": best.get("sentence", "")}


CHARTS_FILE = "charts.json"
FILES = ("evaluation_results.csv", "summary_statistics.csv")


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
        rows.append(
            {**about, "metrics": metrics, "time": summary.get("milliseconds", {}).get(setting.get("setting"))}
        )
    return sorted(rows, key=lambda row: -(row["metrics"].get("f1") or 0.0))


def sweep_file(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    return send_file(library.sweep(request.path_params["sweep"]), request.path_params["name"])
