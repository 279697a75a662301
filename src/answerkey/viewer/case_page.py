"""One case: with everything that led to its verdict, or at the label desk without its scores.

The label desk shows cases in the order that helps most, to one or several people.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from answerkey.calibrate.agreement import auroc
from answerkey.calibrate.label_order import label_order
from answerkey.calibrate.labels import DECISION, LONGEST_NAME, RunLabels, add_label, read_run_labels
from answerkey.errors import InputError, did_you_mean
from answerkey.reports.explain import blind, explain
from answerkey.reports.rows import Rows, read_outcome, read_rows
from answerkey.runs.store import profile_of
from answerkey.viewer.case_query import read_query, select
from answerkey.viewer.library import RunLibrary, requested_run
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
    data: dict[str, object] = {
        "run": request.app.state.library.key(folder),
        "n": n,
        "case": explain(
            read_outcome(folder, rows, n), profile_of(folder), None if whole else LONGEST
        ),
        "label": read_run_labels(folder).of(rows.id[n], person(request)),
        "place": place,  # among the cases of the present filter
        "found": len(chosen),
        "previous": chosen[place - 1] if place else None,
        "next": chosen[place + 1] if place is not None and place + 1 < len(chosen) else None,
        "query": query.address(),
        "saved": "saved" in request.query_params,
    }
    return respond(request, "case.html", data)


def requested_case(request: Request) -> tuple[Path, Rows, int]:
    """The run, its rows and the position of the case in the address."""
    (_, folder), n = requested_run(request), int(request.path_params["n"])
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
        hint = did_you_mean(given, LABEL_VALUES)
        raise InputError(f'label: expected right, wrong or nothing, got "{given[:40]}"{hint}')
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
    return dict(
        parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=8)
    )


_LEAST_PER_SIDE = 2  # of right and of wrong labels, before a metric can be compared with them


def label_page(request: Request) -> Response:
    """The next case for this person, or the one asked for; with `decide` a disagreement is settled."""
    library, folder = requested_run(request)
    if (name := request.query_params.get("as")) is not None:  # remembered in this browser
        answer = RedirectResponse(request.url.path, 303)
        answer.set_cookie(
            NAME_COOKIE, quote(name.strip()[:LONGEST_NAME]), httponly=True, samesite="strict"
        )
        return answer
    rows, labels, by = read_rows(folder), read_run_labels(folder), person(request)
    places = {case: n for n, case in enumerate(rows.id)}
    deciding = "decide" in request.query_params
    given = request.query_params.get("case")
    if given is not None and not (given.isascii() and given.isdigit() and int(given) < len(rows)):
        raise InputError(f"no case {given} here: the run has {len(rows)}")
    n = _next(rows, labels, by) if given is None else int(given)
    own = labels.of(rows.id[n], DECISION if deciding else by) if n is not None else None
    between = labels.agreement()
    data: dict[str, object] = {
        "run": library.key(folder),
        "n": n,
        "by": by,
        "deciding": deciding,
        "case": blind(read_outcome(folder, rows, n), LONGEST) if n is not None else None,
        "label": own.label if own else None,
        "note": own.note if own else "",
        "given": labels.of_case(rows.id[n]) if deciding and n is not None else {},
        "done": sum(by in labels.of_case(case) for case in rows.id),
        "total": len(rows),
        "disagreements": [
            {"n": places[case], "id": case} for case in labels.disagreements() if case in places
        ],
        "people": labels.people(),
        "alpha": between.alpha,
        "pairs": [
            {"a": a or "unnamed", "b": b or "unnamed", "n": n, "kappa": kappa}
            for a, b, n, kappa in between.pairs
        ],
        "metrics": _agreement(rows, labels.by_majority()),
        "decision": DECISION,
    }
    return respond(request, "label.html", data)


def _next(rows: Rows, labels: RunLabels, by: str) -> int | None:
    """Cases that somebody else labelled come within the same order, so that two people overlap early."""
    mine = {case for case in rows.id if by in labels.by_case.get(case, {})}
    known = {n: labels.of(case, by).label for n, case in enumerate(rows.id) if case in mine}
    order = label_order(
        rows.quality, rows.passed, {n: value for n, value in known.items() if value is not None}
    )
    return next((n for n in order if rows.id[n] not in mine), None)


def _agreement(rows: Rows, labels: Mapping[str, float]) -> list[dict[str, object]]:
    """AUROC of each metric with the labels, highest first, once there are right and wrong ones."""
    import numpy as np

    found: list[tuple[float, str, int]] = []
    for name, column in {"score": rows.score, **rows.metrics}.items():
        pairs = [
            (value, labels[case] >= 0.5)
            for case, value in zip(rows.id, column, strict=True)
            if case in labels and isinstance(value, int | float)
        ]
        right = sum(positive for _, positive in pairs)
        if min(right, len(pairs) - right) >= _LEAST_PER_SIDE:
            values, positives = zip(*pairs, strict=True)
            found.append((auroc(np.array(values), np.array(positives)) or 0.0, name, len(pairs)))
    return [
        {"metric": name, "auroc": area, "n": n}
        for area, name, n in sorted(found, key=lambda each: -each[0])
    ]


def default_run(library: RunLibrary) -> Path | None:
    """The newest run that can be read."""
    return next((library.run(entry.run) for entry in library.readable()), None)


def label_start(request: Request) -> Response:
    """`answerkey view --label` opens the newest run."""
    library: RunLibrary = request.app.state.library
    folder = default_run(library)
    if folder is None:
        raise InputError("no run to label here")
    return RedirectResponse(f"/label/{quote(library.key(folder))}", 303)
