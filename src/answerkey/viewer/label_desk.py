"""The label desk: one case at a time without its scores, in the order that helps most, for one or several people."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from answerkey.calibrate.agreement import auroc
from answerkey.calibrate.label_order import label_order
from answerkey.calibrate.labels import DECISION, LONGEST_NAME, RunLabels, read_labels
from answerkey.errors import InputError
from answerkey.reports.explain import explain
from answerkey.reports.rows import Rows, read_outcome, read_rows
from answerkey.types import Json
from answerkey.viewer.case_page import LONGEST, NAME_COOKIE, person
from answerkey.viewer.library import RunLibrary
from answerkey.viewer.render import respond

_SHOWN_BLIND = ("id", "question", "history", "expected", "error", "answer_length", "answer_cut", "sources")
_LEAST_PER_SIDE = 2  # of right and of wrong labels, before a metric can be compared with them


def label_page(request: Request) -> Response:
    """The next case for this person, or the one asked for; with `decide` a disagreement is settled."""
    library: RunLibrary = request.app.state.library
    folder = library.run(request.path_params["run"])
    if "as" in request.query_params:
        return _named(request, request.query_params["as"])
    rows, labels, by = read_rows(folder), read_labels(folder), person(request)
    open_cases = labels.disagreements()
    places = {case: n for n, case in enumerate(rows.id)}
    deciding = "decide" in request.query_params
    n = _wanted(request, rows) if "case" in request.query_params else _next(rows, labels, by)
    case = explain(read_outcome(folder, rows, n), None, LONGEST) if n is not None else None
    own = labels.of(rows.id[n], DECISION if deciding else by) if n is not None else None
    data: Json = {
        "run": library.key(folder),
        "n": n,
        "by": by,
        "deciding": deciding,
        "decision": DECISION,
        "case": _blind(case) if case else None,
        "label": own.label if own else None,
        "note": own.note if own else "",
        "given": labels.given(rows.id[n]) if deciding and n is not None else {},
        "done": sum(by in labels.given(case) for case in rows.id),
        "total": len(rows),
        "disagreements": [{"n": places[case], "id": case} for case in open_cases if case in places],
        **_agreement(rows, labels),
    }
    return respond(request, "label.html", data)


def _named(request: Request, name: str) -> Response:
    """Remember who is labelling, in this browser."""
    answer = RedirectResponse(request.url.path, 303)
    answer.set_cookie(NAME_COOKIE, quote(name.strip()[:LONGEST_NAME]), httponly=True, samesite="strict")
    return answer


def _wanted(request: Request, rows: Rows) -> int:
    text = request.query_params["case"]
    if not (text.isascii() and text.isdigit()) or int(text) >= len(rows):
        raise InputError(f"no case {text} here: the run has {len(rows)}")
    return int(text)


def _next(rows: Rows, labels: RunLabels, by: str) -> int | None:
    """Cases that somebody else labelled come within the same order, so that two people overlap early."""
    mine = {case for case in rows.id if by in labels.by_case.get(case, {})}
    known = {n: labels.of(case, by).label for n, case in enumerate(rows.id) if case in mine}
    order = label_order(rows.quality, rows.passed, {n: value for n, value in known.items() if value is not None})
    return next((n for n in order if rows.id[n] not in mine), None)


def _blind(case: Json) -> Json:
    """Question, expected answer, answer and passages: no score and no reasoning."""
    kept = {key: case[key] for key in _SHOWN_BLIND}
    plain = None if case["answer"] is None else [{"text": "".join(piece["text"] for piece in case["answer"])}]
    passages = [
        {**passage, "score": None, "pieces": [{"text": "".join(piece["text"] for piece in passage["pieces"])}]}
        for passage in case["passages"]
    ]
    return {**kept, "answer": plain, "passages": passages, "sentences": 0, "unsupported": 0}


def _agreement(rows: Rows, labels: RunLabels) -> Json:
    """Between people, and of each metric with the labels: AUROC, once there are right and wrong ones."""
    import numpy as np

    between, resolved = labels.agreement(), labels.resolved()
    metrics: list[Json] = []
    for name, column in {"score": rows.score, **rows.metrics}.items():
        pairs = [(value, resolved[case] >= 0.5) for case, value in zip(rows.id, column, strict=True)
                 if case in resolved and isinstance(value, int | float)]  # fmt: skip
        right = sum(positive for _, positive in pairs)
        if min(right, len(pairs) - right) >= _LEAST_PER_SIDE:
            found = auroc(np.array([value for value, _ in pairs]), np.array([positive for _, positive in pairs]))
            metrics.append({"metric": name, "auroc": found, "n": len(pairs)})
    metrics.sort(key=lambda entry: -(entry["auroc"] or 0.0))
    pairs_of_people = [
        {"a": a or "unnamed", "b": b or "unnamed", "n": n, "kappa": kappa} for a, b, n, kappa in between.pairs
    ]
    return {"people": labels.people(), "alpha": between.alpha, "pairs": pairs_of_people, "metrics": metrics}


def default_run(library: RunLibrary) -> Path | None:
    """The newest run that can be read."""
    return next((library.run(entry["run"]) for entry in library.entries() if "problem" not in entry), None)


def label_start(request: Request) -> Response:
    """`answerkey view --label` opens the newest run."""
    library: RunLibrary = request.app.state.library
    folder = default_run(library)
    if folder is None:
        raise InputError("no run to label here")
    return RedirectResponse(f"/label/{quote(library.key(folder))}", 303)
