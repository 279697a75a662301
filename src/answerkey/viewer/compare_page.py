"""Two runs side by side: the verdict, the figures, the answers that differ, word by word, and a judge's preferences."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from answerkey.comparison.comparison import Comparison, compare_runs, comparison_json
from answerkey.comparison.prefer import read_preference
from answerkey.errors import InputError, did_you_mean
from answerkey.reports.charts.comparison_charts import comparison_charts
from answerkey.reports.comparison import COLUMNS, metric_rows, notes, table_rows
from answerkey.reports.rows import Rows, journal_state, read_outcome, read_rows
from answerkey.reports.word_diff import LONGEST, word_diff
from answerkey.types import Json, Outcome
from answerkey.viewer.case_query import read_page
from answerkey.viewer.library import RunLibrary
from answerkey.viewer.render import respond

PAGE = 20
SHOWS = (
    "newly failing",
    "newly passing",
    "lower",
    "higher",
    "A preferred",
    "B preferred",
    "order decides",
    "changed",
    "all",
)


_PREFERRED = {"A preferred": ("winner", "A"), "B preferred": ("winner", "B"), "order decides": ("flipped", True)}


def compare_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    entries = [entry for entry in library.entries() if "problem" not in entry]
    a, b = request.query_params.get("a", ""), request.query_params.get("b", "")
    if not (a and b):
        newest = next((entry for entry in entries if entry["run"] == b or (not b and entry["previous"])), None)
        chosen = {"a": a or (newest or {}).get("previous") or "", "b": b or (newest or {}).get("run") or ""}
        return respond(request, "compare.html", {"runs": entries, **chosen, "comparison": None})
    side_a, side_b = library.run(a), library.run(b)
    show, page = request.query_params.get("show", ""), read_page(request.query_params)
    if show and show not in SHOWS:
        raise InputError(f'show: no "{show[:40]}"{did_you_mean(show, SHOWS)}; there are {", ".join(SHOWS)}')
    comparison = _compared(side_a, side_b, f"{journal_state(side_a)} {journal_state(side_b)}")
    rows_a, rows_b = read_rows(side_a), read_rows(side_b)
    preference = read_preference(side_a, side_b)
    preferred: dict[str, Json] = {case["id"]: case for case in preference["results"]} if preference else {}
    places = {name: _chosen(comparison, rows_a, rows_b, name, preferred) for name in SHOWS}
    show = show or next((name for name in SHOWS if places[name]), SHOWS[0])
    chosen = places[show]
    pages = max(1, -(-len(chosen) // PAGE))
    page = min(page, pages)
    cases = [
        {
            **_pair(read_outcome(side_a, rows_a, i), read_outcome(side_b, rows_b, j), i, j),
            "preferred": preferred.get(rows_a.id[i]),
        }
        for i, j in chosen[(page - 1) * PAGE : page * PAGE]
    ]
    data = {
        "runs": entries,
        "a": a,
        "b": b,
        "comparison": comparison_json(comparison),
        "what_changed": comparison.changed.sentences(),
        "metrics": metric_rows(comparison),
        "table": {"header": COLUMNS, "rows": table_rows(comparison)},
        "notes": notes(comparison),
        "charts": comparison_charts(comparison),
        "show": show,
        "shows": {name: len(found) for name, found in places.items() if preference or name not in _PREFERRED},
        "preference": {key: preference[key] for key in ("sentence", "judge", "warnings")} if preference else None,
        "found": len(chosen),
        "page": page,
        "pages": pages,
        "cases": cases,
    }
    return respond(request, "compare.html", data)


@lru_cache(maxsize=16)
def _compared(a: Path, b: Path, state: str) -> Comparison:
    return compare_runs(a, b)


def _chosen(
    comparison: Comparison, a: Rows, b: Rows, show: str, preferred: Mapping[str, Json]
) -> list[tuple[int, int]]:
    """Places of the pairs to show. `changed` goes by the first words of the answers, the route and the status."""
    place_a, place_b = ({case: n for n, case in enumerate(rows.id)} for rows in (a, b))
    if show in ("lower", "higher"):
        moves = comparison.degraded if show == "lower" else comparison.improved
        return [(place_a[move.id], place_b[move.id]) for move in moves]
    both = [(n, place_b[case]) for case, n in place_a.items() if case in place_b]
    if show == "all":
        return both
    if show in _PREFERRED:
        key, wanted = _PREFERRED[show]
        return [(i, j) for i, j in both if a.id[i] in preferred and preferred[a.id[i]][key] == wanted]
    if show in ("newly failing", "newly passing"):
        flips = comparison.newly_passing if show == "newly passing" else comparison.newly_failing
        return [(place_a[flip.id], place_b[flip.id]) for flip in flips]
    return [(i, j) for i, j in both if a.answer[i] != b.answer[j] or a.route[i] != b.route[j]]


def _pair(a: Outcome, b: Outcome, at_a: int, at_b: int) -> Json:
    left, right = word_diff(a.response.answer or "", b.response.answer or "")
    return {
        "id": a.case.id,
        "question": a.case.question[:LONGEST],
        "expected": [text[:LONGEST] for text in a.case.expected],
        "a": _side(a, at_a, left),
        "b": _side(b, at_b, right),
        "metrics": [
            {"metric": name, "a": score.value, "b": b.scores[name].value}
            for name, score in a.scores.items()
            if name in b.scores and score.value != b.scores[name].value
        ],
    }


def _side(outcome: Outcome, at: int, pieces: list[Json]) -> Json:
    return {
        "n": at,
        "status": outcome.verdict.status,
        "score": outcome.verdict.score,
        "route": outcome.response.route,
        "seconds": outcome.response.seconds,
        "error": outcome.response.error,
        "answer": pieces,
        "length": len(outcome.response.answer or ""),
    }
