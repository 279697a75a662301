"""One case, with everything that led to its verdict."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from answerkey.calibrate.labels import read_run_labels
from answerkey.errors import InputError
from answerkey.reports.case_details import describe_case
from answerkey.reports.rows import Rows, read_outcome, read_rows
from answerkey.runs.store import profile_of
from answerkey.viewer.case_query import read_query, select
from answerkey.viewer.forms import labeller_name
from answerkey.viewer.library import requested_run
from answerkey.viewer.render import respond, wants_json

LONGEST_TEXT = 20_000  # characters of an answer or passage on a page


def case_page(request: Request) -> Response:
    """Long texts are cut on the page, but not with `full`; the JSON is always complete."""
    folder, rows, n = requested_case(request)
    query = read_query(request.query_params)
    is_whole = wants_json(request) or "full" in request.query_params
    longest = None if is_whole else LONGEST_TEXT
    matching = select(folder, query)
    place = matching.index(n) if n in matching else None
    data: dict[str, object] = {
        "run": request.app.state.library.key(folder),
        "n": n,
        "case": describe_case(read_outcome(folder, rows, n), profile_of(folder), longest),
        "label": read_run_labels(folder).of(rows.id[n], labeller_name(request)),
        "place": place,  # among the cases of the present filter
        "found": len(matching),
        "previous": _neighbour(matching, place, -1),
        "next": _neighbour(matching, place, 1),
        "query": query.address(),
        "saved": "saved" in request.query_params,
    }
    return respond(request, "case.html", data)


def _neighbour(places: list[int], at: int | None, step: int) -> int | None:
    """The case before or after this one in the present order."""
    if at is None or not 0 <= at + step < len(places):
        return None
    return places[at + step]


def requested_case(request: Request) -> tuple[Path, Rows, int]:
    """The run, its rows and the position of the case in the address."""
    _, folder = requested_run(request)
    n = int(request.path_params["n"])
    rows = read_rows(folder)
    if n >= len(rows):
        raise InputError(f"no case {n} here: the run has {len(rows)}")
    return folder, rows, n
