"""One case with everything that led to its verdict, and the label a person gives it."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from answerkey.errors import InputError
from answerkey.reports.explain import explain
from answerkey.reports.rows import read_outcome, read_rows
from answerkey.runs.store import open_run
from answerkey.viewer.case_query import read_query, select
from answerkey.viewer.labels import add_label, read_labels
from answerkey.viewer.library import RunLibrary
from answerkey.viewer.render import respond, wants_json

LONGEST = 20_000
MOST_BYTES = 100_000


def case_page(request: Request) -> Response:
    """Long texts are cut on the page unless `full` asks for them; the JSON is always whole."""
    library: RunLibrary = request.app.state.library
    folder, n = library.run(request.path_params["run"]), request.path_params["n"]
    rows, query = read_rows(folder), read_query(request.query_params)
    if n >= len(rows):
        raise InputError(f"no case {n} here: the run has {len(rows)}")
    whole = wants_json(request) or "full" in request.query_params
    chosen = select(folder, query)
    place = chosen.index(n) if n in chosen else None
    data = {
        "run": library.key(folder),
        "n": n,
        "case": explain(read_outcome(folder, rows, n), open_run(folder).profile, None if whole else LONGEST),
        "label": read_labels(folder).get(rows.id[n], {"label": None, "note": "", "at": ""}),
        "place": place,
        "found": len(chosen),
        "previous": chosen[place - 1] if place else None,
        "next": chosen[place + 1] if place is not None and place + 1 < len(chosen) else None,
        "query": query.address(),
        "saved": "saved" in request.query_params,
    }
    return respond(request, "case.html", data)


async def label_case(request: Request) -> Response:
    """Keep a person's label and note, then show the case again."""
    library: RunLibrary = request.app.state.library
    folder, n = library.run(request.path_params["run"]), request.path_params["n"]
    rows = read_rows(folder)
    if n >= len(rows):
        raise InputError(f"no case {n} here: the run has {len(rows)}")
    form = await _form(request)
    add_label(folder, rows.id[n], form.get("label", ""), form.get("note", "").strip())
    address = read_query(request.query_params).address()
    joint = "" if address == "?" else "&"
    return RedirectResponse(f"{request.url.path.removesuffix('/label')}{address}{joint}saved=1#label", 303)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a small form; a library for uploads would be more than is needed."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise InputError(f"the form is larger than {MOST_BYTES:,} bytes")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=5))
