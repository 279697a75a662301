"""One case with everything that led to its verdict, and the label that a person gives it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from answerkey.calibrate.labels import LONGEST_NAME, add_label, read_labels
from answerkey.errors import InputError, did_you_mean
from answerkey.reports.explain import explain
from answerkey.reports.rows import Rows, read_outcome, read_rows
from answerkey.runs.store import open_run
from answerkey.viewer.case_query import read_query, select
from answerkey.viewer.library import RunLibrary
from answerkey.viewer.render import respond, wants_json

LONGEST = 20_000
MOST_BYTES = 100_000
NAME_COOKIE = "answerkey_name"
LABEL_VALUES: dict[str, float | None] = {"right": 1.0, "wrong": 0.0, "": None}


def case_page(request: Request) -> Response:
    """Long texts are cut on the page unless `full` is given; the JSON is always complete."""
    folder, rows, n = requested_case(request)
    query = read_query(request.query_params)
    whole = wants_json(request) or "full" in request.query_params
    chosen = select(folder, query)
    place = chosen.index(n) if n in chosen else None
    label = read_labels(folder).of(rows.id[n], person(request))
    data = {
        "run": request.app.state.library.key(folder),
        "n": n,
        "case": explain(read_outcome(folder, rows, n), open_run(folder).profile, None if whole else LONGEST),
        "label": {"label": label.label, "note": label.note, "at": label.at, "by": label.by},
        "place": place,
        "found": len(chosen),
        "previous": chosen[place - 1] if place else None,
        "next": chosen[place + 1] if place is not None and place + 1 < len(chosen) else None,
        "query": query.address(),
        "saved": "saved" in request.query_params,
    }
    return respond(request, "case.html", data)


def requested_case(request: Request) -> tuple[Path, Rows, int]:
    """The run, its rows and the position of the case in the address."""
    library: RunLibrary = request.app.state.library
    folder, n = library.run(request.path_params["run"]), int(request.path_params["n"])
    rows = read_rows(folder)
    if n >= len(rows):
        raise InputError(f"no case {n} here: the run has {len(rows)}")
    return folder, rows, n


def person(request: Request) -> str:
    """Who is labelling: the name chosen in the page, else the one given to `answerkey view --as`."""
    labeller: str = request.app.state.labeller
    return unquote(request.cookies.get(NAME_COOKIE) or labeller)[:LONGEST_NAME]


async def label_case(request: Request) -> Response:
    """Keep a person's label and note, then show the case again, or the address in `next`."""
    folder, rows, n = requested_case(request)
    form = await read_form(request)
    given = form.get("label", "")
    if given not in LABEL_VALUES:
        raise InputError(
            f'label: expected right, wrong or nothing, got "{given[:40]}"{did_you_mean(given, LABEL_VALUES)}'
        )
    by = form.get("by", person(request)).strip()
    add_label(folder, rows.id[n], LABEL_VALUES[given], form.get("note", "").strip(), by)
    address = read_query(request.query_params).address()
    joint = "" if address == "?" else "&"
    back = f"{request.url.path.removesuffix('/label')}{address}{joint}saved=1"
    following = form.get("next", "")
    return RedirectResponse(following if following.startswith("/label/") else back, 303)


async def read_form(request: Request) -> dict[str, Any]:
    """The fields of a small form."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise InputError(f"the form is larger than {MOST_BYTES:,} bytes")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=8))
