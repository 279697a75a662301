"""Two runs side by side: the verdict, the figures, the answers that differ, word by word, and a judge's preferences."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from answerkey.comparison.by_group import compare_by
from answerkey.comparison.comparison import Comparison, compare_runs
from answerkey.comparison.prefer import PreferredCase, read_preference
from answerkey.comparison.record import comparison_json
from answerkey.errors import InputError, did_you_mean
from answerkey.reports.comparison import COLUMNS, comparison_values
from answerkey.reports.comparison_groups import group_row
from answerkey.reports.rows import read_outcomes_at, read_rows
from answerkey.reports.word_marks import LONGEST, DiffPart, word_diff
from answerkey.runs.store import file_state, open_reader
from answerkey.types import Outcome
from answerkey.viewer.case_query import read_page
from answerkey.viewer.library import RunLibrary
from answerkey.viewer.render import respond

PAGE = 20
_CASES_TO_SEE = 50  # of a run, to find the columns that its cases have
_MOST_COLUMNS = 20
PREFERRED = ("A preferred", "B preferred", "order decides")
SHOWS = ("newly failing", "newly passing", "lower", "higher", *PREFERRED, "changed", "all")
_NOTHING: dict[str, object] = {  # the page before two runs are chosen
    "comparison": None,
    "rates": "",
    "by": None,
    "columns": [],
    "what_changed": [],
    "metrics": [],
    "table": [],
    "header": COLUMNS,
    "notes": [],
    "charts": {},
    "show": "",
    "shows": {},
    "preference": None,
    "found": 0,
    "page": 1,
    "pages": 1,
    "cases": [],
}
Pair = tuple[int, int]  # the places of a case in A and in B


def compare_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    entries = library.readable()
    a = request.query_params.get("a", "")
    b = request.query_params.get("b", "")
    if not (a and b):
        newest = next(
            (entry for entry in entries if entry.run == b or (not b and entry.previous)), None
        )
        before, after = (newest.previous or "", newest.run) if newest else ("", "")
        return respond(
            request,
            "compare.html",
            {**_NOTHING, "runs": entries, "a": a or before, "b": b or after},
        )
    side_a = library.run(a)
    side_b = library.run(b)
    show = request.query_params.get("show", "")
    page = read_page(request.query_params)
    if show and show not in SHOWS:
        raise InputError(
            f'show: no "{show[:40]}"{did_you_mean(show, SHOWS)}; there are {", ".join(SHOWS)}'
        )
    state = f"{file_state(side_a)} {file_state(side_b)}"
    comparison = _compare_folders(side_a, side_b, state)
    columns = _group_columns(side_b)
    column = request.query_params.get("by", "")[:200]
    preference = read_preference(side_a, side_b)
    if preference:
        preferred = {case.id: case for case in preference.results}
    else:
        preferred = {}
    places = _places(comparison, side_a, side_b, preferred)
    show = show or next((name for name in SHOWS if places[name]), SHOWS[0])
    chosen = places[show]
    pages = max(1, -(-len(chosen) // PAGE))
    page = min(page, pages)
    shown = chosen[(page - 1) * PAGE : page * PAGE]
    outcomes_a = read_outcomes_at(side_a, read_rows(side_a), [at_a for at_a, _ in shown])
    outcomes_b = read_outcomes_at(side_b, read_rows(side_b), [at_b for _, at_b in shown])
    data: dict[str, object] = {
        "runs": entries,
        "a": a,
        "b": b,
        "comparison": comparison_json(comparison),
        "what_changed": comparison.changed.sentences(),
        **comparison_values(comparison),
        "columns": columns,
        "by": _compare_groups(side_a, side_b, column, state) if column else None,
        "show": show,
        "shows": {
            name: len(pairs)
            for name, pairs in places.items()
            if preference or name not in PREFERRED
        },
        "preference": preference
        and {name: getattr(preference, name) for name in ("sentence", "judge", "warnings")},
        "found": len(chosen),
        "page": page,
        "pages": pages,
        "cases": [
            _pair(left, right, *at, preferred)
            for left, right, at in zip(outcomes_a, outcomes_b, shown, strict=True)
        ],
    }
    return respond(request, "compare.html", data)


# Turning a page or choosing another list must not compare the runs again. `state` is part of the
# key: a run that changed since is compared anew.
@lru_cache(maxsize=16)
def _compare_folders(a: Path, b: Path, state: str) -> Comparison:
    return compare_runs(a, b)


@lru_cache(maxsize=16)
def _compare_groups(a: Path, b: Path, column: str, state: str) -> dict[str, object]:
    table = compare_by(a, b, column)
    rows = [group_row(group) for group in table.groups]
    return {"column": column, "measure": table.measure, "rows": rows, "without": table.without}


def _group_columns(folder: Path) -> list[str]:
    """The columns to group by: those with a value among the first cases of the run."""
    columns: dict[str, None] = {}
    for outcome in open_reader(folder).at(range(_CASES_TO_SEE)):
        case = outcome.case
        standard = {"type": case.type, "route": case.expected_route, "tag": case.tags}
        columns |= dict.fromkeys(name for name, value in standard.items() if value)
        columns |= dict.fromkeys(map(str, case.extra))
    return list(columns)[:_MOST_COLUMNS]


@lru_cache(maxsize=16)
def _answer_hashes(folder: Path, state: str) -> dict[str, int]:
    # Hashes, not texts: the answers of 100,000 cases would stay in memory.
    outcomes = open_reader(folder).outcomes(unscored=True)
    return {each.case.id: hash((each.response.answer, each.response.route)) for each in outcomes}


def _places(
    comparison: Comparison, a: Path, b: Path, preferred: Mapping[str, PreferredCase]
) -> dict[str, list[Pair]]:
    """For each choice the pairs to show."""
    place_b = {case: n for n, case in enumerate(read_rows(b).id)}
    both = {case: (n, place_b[case]) for n, case in enumerate(read_rows(a).id) if case in place_b}
    answers_a, answers_b = (_answer_hashes(side, file_state(side)) for side in (a, b))
    chosen = {
        "newly failing": [flip.id for flip in comparison.newly_failing],
        "newly passing": [flip.id for flip in comparison.newly_passing],
        "lower": [move.id for move in comparison.degraded_cases],
        "higher": [move.id for move in comparison.improved_cases],
        "A preferred": [
            case for case in both if case in preferred and preferred[case].winner == "A"
        ],
        "B preferred": [
            case for case in both if case in preferred and preferred[case].winner == "B"
        ],
        "order decides": [case for case in both if case in preferred and preferred[case].flipped],
        "changed": [case for case in both if answers_a.get(case) != answers_b.get(case)],
        "all": list(both),
    }
    return {show: [both[case] for case in chosen[show] if case in both] for show in SHOWS}


def _pair(
    a: Outcome, b: Outcome, at_a: int, at_b: int, preferred: Mapping[str, PreferredCase]
) -> dict[str, object]:
    left, right = word_diff(a.response.answer or "", b.response.answer or "")
    both = {
        name: (score.value, b.scores[name].value)
        for name, score in a.scores.items()
        if name in b.scores
    }
    return {
        "id": a.case.id,
        "question": a.case.question[:LONGEST],
        "expected": [text[:LONGEST] for text in a.case.expected],
        "a": _side(a, at_a, left),
        "b": _side(b, at_b, right),
        "metrics": [(name, *values) for name, values in both.items() if values[0] != values[1]],
        "preferred": preferred.get(a.case.id),
    }


def _side(outcome: Outcome, at: int, pieces: list[DiffPart]) -> dict[str, object]:
    response = outcome.response
    verdict = outcome.verdict
    return {
        "n": at,
        "status": verdict.status,
        "score": verdict.score,
        "route": response.route,
        "seconds": response.seconds,
        "error": response.error,
        "answer": pieces,
        "length": len(response.answer or ""),
    }
