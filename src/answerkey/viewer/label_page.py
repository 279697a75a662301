"""The label desk: cases without their scores, in the order that helps most, for several people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from answerkey.calibrate.agreement import auroc
from answerkey.calibrate.label_order import label_order
from answerkey.calibrate.labels import (
    DECISION,
    LONGEST_NAME,
    RunLabels,
    add_label,
    column_label,
    read_run_labels,
)
from answerkey.calibrate.pass_rate import rate_of_cases
from answerkey.errors import InputError, did_you_mean
from answerkey.reports.case_details import describe_blind
from answerkey.reports.headline import corrected_line
from answerkey.reports.rows import read_rows_at
from answerkey.runs.run_reader import RunReader
from answerkey.runs.store import file_state, open_reader
from answerkey.viewer.case_page import LONGEST_TEXT, requested_case
from answerkey.viewer.case_query import read_query
from answerkey.viewer.forms import NAME_COOKIE, labeller_name, read_form
from answerkey.viewer.library import RunLibrary, requested_run
from answerkey.viewer.render import respond

LABEL_VALUES: dict[str, float | None] = {"right": 1.0, "wrong": 0.0, "": None}
# So many right and so many wrong labels, before a metric can be compared with them.
_LEAST_PER_SIDE = 2
_CASES_TO_SEE = 50  # of a run, to find out whether its data has labels


async def label_case(request: Request) -> Response:
    """Keep a person's label and note, then show the case again, or the address in `next`."""
    folder, outcome, _ = requested_case(request)
    form = await read_form(request)
    value = form.get("label", "")
    if value not in LABEL_VALUES:
        hint = did_you_mean(value, LABEL_VALUES)
        raise InputError(f'label: expected right, wrong or nothing, got "{value[:40]}"{hint}')
    person = form.get("by", labeller_name(request)).strip()
    add_label(folder, outcome.case.id, LABEL_VALUES[value], form.get("note", "").strip(), person)
    following = form.get("next", "")
    # Only a page of the desk: any other address in the form could lead to a foreign site.
    if following.startswith("/label/"):
        return RedirectResponse(following, 303)
    address = read_query(request.query_params).address()
    joint = "" if address == "?" else "&"
    case_address = request.url.path.removesuffix("/label")
    return RedirectResponse(f"{case_address}{address}{joint}saved=1", 303)


@dataclass(frozen=True, slots=True)
class _Verdicts:
    """The columns of all cases that the order of labels depends on, in case order."""

    positions: list[int]
    ids: list[str]
    quality: list[float | None]
    passed: list[bool]


def _read_verdicts(reader: RunReader) -> _Verdicts:
    rows = reader.query("SELECT n, id, quality, passed FROM cases ORDER BY n")
    cases = _Verdicts(
        positions=[row[0] for row in rows],
        ids=[row[1] for row in rows],
        quality=[row[2] for row in rows],
        passed=[bool(row[3]) for row in rows],
    )
    # An id with half a surrogate pair is escaped in its column.
    for place, case in enumerate(cases.ids):
        if "\\ud" in case:
            (outcome,) = reader.at([cases.positions[place]])
            cases.ids[place] = outcome.case.id
    return cases


def label_page(request: Request) -> Response:
    """The next case for this person, or the one of the address; `decide` settles a disagreement."""
    library, folder = requested_run(request)
    reader = open_reader(folder)
    cases = _read_verdicts(reader)
    labels = read_run_labels(folder)
    person = labeller_name(request)
    is_decision = "decide" in request.query_params
    n = _requested_place(request, len(cases.ids))
    if n is None:
        n = _next_place(cases, labels, person)
    between = labels.agreement()
    majority = {**_column_labels(folder, file_state(folder)), **labels.by_majority()}
    corrected = rate_of_cases(cases.ids, cases.quality, cases.passed, majority)
    places = {case: place for place, case in enumerate(cases.ids)}
    data: dict[str, object] = {
        "run": library.key(folder),
        "n": n,
        "by": person,
        "deciding": is_decision,
        "case": None,
        "label": None,
        "note": "",
        "given": {},
        # Over the labels, not the cases: a run may have 100,000 cases and ten labels.
        "done": sum(person in labels.of_case(case) for case in labels.by_case if case in places),
        "total": len(cases.ids),
        "disagreements": [
            {"n": places[case], "id": case} for case in labels.disagreements() if case in places
        ],
        "people": labels.people(),
        "alpha": between.alpha,
        "pairs": [
            {
                "a": pair.a or "unnamed",
                "b": pair.b or "unnamed",
                "n": pair.cases,
                "kappa": pair.kappa,
            }
            for pair in between.pairs
        ],
        "metrics": _metric_agreement(folder, cases, majority),
        "rate": _share(cases.passed),
        "corrected": corrected,
        "corrected_line": corrected_line(corrected) if corrected else "",
        "from_column": len(_column_labels(folder, file_state(folder))),
        "decision": DECISION,
    }
    if n is not None:
        own = labels.of(cases.ids[n], DECISION if is_decision else person)
        (outcome,) = reader.at([cases.positions[n]])
        data["case"] = describe_blind(outcome, LONGEST_TEXT)
        data["label"] = own.label
        data["note"] = own.note
        if is_decision:
            data["given"] = labels.of_case(cases.ids[n])
    return respond(request, "label.html", data)


async def set_labeller(request: Request) -> Response:
    """Remember the name in this browser.

    Only a form of our own page can do this: an address that sets the name could be put on any site.
    """
    requested_run(request)
    form = await read_form(request)
    name = form.get("name", "").strip()[:LONGEST_NAME]
    reply = RedirectResponse(request.url.path.removesuffix("/name"), 303)
    reply.set_cookie(NAME_COOKIE, quote(name), httponly=True, samesite="strict")
    return reply


def _requested_place(request: Request, count: int) -> int | None:
    text = request.query_params.get("case")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) < count):
        raise InputError(f"no case {text} here: the run has {count}")
    return int(text)


def _next_place(cases: _Verdicts, labels: RunLabels, person: str) -> int | None:
    """The next case that this person has not labelled.

    Cases that somebody else labelled come within the same order, so that two people overlap early.
    """
    labelled = {case for case, people in labels.by_case.items() if person in people}
    values: dict[int, float] = {}
    for n, case in enumerate(cases.ids):
        if case not in labelled:
            continue
        value = labels.of(case, person).label
        if value is not None:
            values[n] = value
    order = label_order(cases.quality, cases.passed, values)
    return next((n for n in order if cases.ids[n] not in labelled), None)


@lru_cache(maxsize=16)
def _column_labels(folder: Path, state: str) -> dict[str, float]:
    """The labels that the cases have in a column `label`.

    All cases are read only if one of the first has the column: a run may have 100,000.
    """
    reader = open_reader(folder)
    if not any("label" in outcome.case.extra for outcome in reader.at(range(_CASES_TO_SEE))):
        return {}
    labels: dict[str, float] = {}
    for outcome in reader.outcomes():
        label = column_label(outcome.case)
        if label is not None:
            labels[outcome.case.id] = label
    return labels


def _share(passed: Sequence[bool]) -> float | None:
    return sum(passed) / len(passed) if passed else None


def _metric_agreement(
    folder: Path, cases: _Verdicts, labels: Mapping[str, float]
) -> list[dict[str, object]]:
    """AUROC of each metric with the labels, highest first, once there are right and wrong ones."""
    import numpy as np

    # Only the labelled cases: a run may have 100,000 and ten labels.
    positions = zip(cases.positions, cases.ids, strict=True)
    rows = read_rows_at(folder, [n for n, case in positions if case in labels])
    agreements: list[tuple[float, str, int]] = []
    for name, column in {"score": rows.score, **rows.metrics}.items():
        pairs = [
            (value, labels[case] >= 0.5)
            for case, value in zip(rows.id, column, strict=True)
            if case in labels and isinstance(value, int | float)
        ]
        right = sum(is_right for _, is_right in pairs)
        if min(right, len(pairs) - right) >= _LEAST_PER_SIDE:
            values, answers = zip(*pairs, strict=True)
            area = auroc(np.array(values), np.array(answers)) or 0.0
            agreements.append((area, name, len(pairs)))
    agreements.sort(key=lambda each: -each[0])
    return [{"metric": name, "auroc": area, "n": n} for area, name, n in agreements]


def label_start(request: Request) -> Response:
    """`answerkey view --label` opens the newest run."""
    library: RunLibrary = request.app.state.library
    folder = library.newest_run()
    if folder is None:
        raise InputError("no run to label here")
    return RedirectResponse(f"/label/{quote(library.key(folder))}", 303)
