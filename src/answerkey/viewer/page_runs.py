"""The first page: every run and sweep below the folder."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from answerkey.errors import AnswerkeyError
from answerkey.types import Json
from answerkey.viewer.respond import respond
from answerkey.viewer.shelf import SWEEP, Shelf, entry


def runs_page(request: Request) -> Response:
    shelf: Shelf = request.app.state.shelf
    runs: list[Json] = []
    for folder in shelf.runs():
        try:
            runs.append(entry(shelf, folder))
        except (AnswerkeyError, KeyError) as error:
            runs.append({"run": shelf.key(folder), "problem": str(error)})
    runs.sort(key=lambda run: run.get("created", ""), reverse=True)
    sweeps = [_sweep(shelf, folder) for folder in shelf.sweeps()]
    return respond(request, "runs.html", {"folder": str(shelf.root), "runs": runs, "sweeps": sweeps})


def _sweep(shelf: Shelf, folder: Path) -> Json:
    best: Json = {}
    with suppress(OSError, ValueError):
        best = json.loads((folder / SWEEP).read_text(encoding="utf-8")).get("best", {})
    return {"sweep": shelf.key(folder), "sentence": best.get("sentence", "")}
