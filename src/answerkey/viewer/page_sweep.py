"""A sweep: its best setting in a sentence, its plots, and every setting in a table."""

from __future__ import annotations

import json

from starlette.requests import Request
from starlette.responses import Response

from answerkey.errors import StorageError
from answerkey.types import Json
from answerkey.viewer.page_run import send_file
from answerkey.viewer.respond import respond
from answerkey.viewer.shelf import SWEEP, Shelf

FILES = ("evaluation_results.csv", "summary_statistics.csv")


def sweep_page(request: Request) -> Response:
    shelf: Shelf = request.app.state.shelf
    folder = shelf.sweep(request.path_params["sweep"])
    try:
        summary: Json = json.loads((folder / SWEEP).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"{folder.name}/{SWEEP}: cannot be read: {error}") from None
    data = {
        "sweep": shelf.key(folder),
        "summary": summary,
        "rows": _rows(summary),
        "plots": sorted(path.name for path in (folder / "plots").glob("*.png")),
        "files": [name for name in FILES if (folder / name).is_file()],
    }
    return respond(request, "sweep.html", data)


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
    shelf: Shelf = request.app.state.shelf
    return send_file(shelf.sweep(request.path_params["sweep"]), request.path_params["name"])
