"""The list of runs and sweeps."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from answerkey.files import read_json
from answerkey.viewer.library import SWEEP, RunLibrary
from answerkey.viewer.render import respond


def home_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    sweeps = [
        {"sweep": library.key(folder), "sentence": _best_sentence(folder)}
        for folder in library.sweeps()
    ]
    data = {"folder": str(library.root), "runs": library.entries(), "sweeps": sweeps}
    return respond(request, "runs.html", data)


def _best_sentence(folder: Path) -> str:
    """The sentence about the best setting of a sweep; empty for a damaged file."""
    with suppress(OSError, ValueError, AttributeError):
        sweep = read_json((folder / SWEEP).read_bytes())
        return str(sweep.get("best", {}).get("sentence", ""))
    return ""
