"""Several runs side by side: one row per run, quality against cost, and the answers in columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from answerkey.comparison.many import PASS_RATE, ManyRuns, rank_sides
from answerkey.comparison.pair import Side
from answerkey.comparison.table_side import load_table_sides
from answerkey.reports.chart_style import Spec, add_title, load_chart
from answerkey.reports.many import format_difference
from answerkey.runs.store import file_state
from answerkey.text import short_label
from answerkey.viewer.case_query import read_page
from answerkey.viewer.library import RunEntry, RunLibrary
from answerkey.viewer.render import respond

_CASES_PER_PAGE = 20
_MOST_RUNS = 40  # columns of answers; an address may name any number


def many_page(request: Request) -> Response:
    """The runs named by `run`, or the newest full run of each bot of a suite."""
    library: RunLibrary = request.app.state.library
    entries = library.readable()
    suite = request.query_params.get("suite", "")
    chosen = request.query_params.getlist("run") or newest_per_bot(entries, suite)
    keys = list(dict.fromkeys(chosen))[:_MOST_RUNS]
    bots = _column_titles([entry for entry in entries if entry.run in keys])
    data: dict[str, object] = {
        "suite": suite,
        "suites": list(dict.fromkeys(entry.name for entry in entries)),
        "entries": entries,
        "chosen": keys,
        "bots": bots,
        "sentence": "",
        "table": None,
        "differences": {},
        "charts": {},
        "cases": [],
        "page": 1,
        "pages": 1,
    }
    if len(keys) < 2:
        return respond(request, "many.html", data)
    folders = [library.run(key) for key in keys]
    sides = _read_sides(tuple(folders), tuple(map(file_state, folders)))
    for side, key in zip(sides, keys, strict=True):
        side.name = key
    table = rank_sides(sides)
    by_name = {side.name: side for side in sides}
    ordered = [by_name[row.run] for row in table.rows]
    pages = max(1, -(-len(ordered[0]) // _CASES_PER_PAGE))
    page = min(read_page(request.query_params), pages)
    data |= {
        "sentence": table.name_result(bots),
        "table": table.to_json(),
        "differences": {row.run: format_difference(table, row) for row in table.rows},
        "charts": cost_chart(table, bots),
        "cases": side_by_side(ordered, page),
        "page": page,
        "pages": pages,
    }
    return respond(request, "many.html", data)


def _column_titles(entries: Sequence[RunEntry]) -> dict[str, str]:
    """A title per run: its bot, or its suite or folder where two runs have the same bot."""
    for titles in (
        [entry.bot for entry in entries],
        [entry.name for entry in entries],
    ):
        if all(titles) and len(set(titles)) == len(entries):
            break
    else:
        titles = [entry.run for entry in entries]
    return {entry.run: title for entry, title in zip(entries, titles, strict=True)}


def newest_per_bot(entries: Sequence[RunEntry], suite: str) -> list[str]:
    """The newest full run of each bot of the suite; entries are newest first.

    The targets of one suite file make runs with names of their own: these belong together.
    """
    files = {entry.suite_file for entry in entries if entry.name == suite and entry.suite_file}
    newest: dict[tuple[str, str], str] = {}
    for entry in entries:
        if entry.is_full and (entry.name == suite or entry.suite_file in files):
            newest.setdefault((entry.name, entry.bot), entry.run)
    return list(newest.values())


# Turning a page must not read the runs again. `states` is part of the key: a run that changed
# since is read anew.
@lru_cache(maxsize=2)
def _read_sides(folders: tuple[Path, ...], states: tuple[str, ...]) -> list[Side]:
    return load_table_sides(folders)


def cost_chart(table: ManyRuns, bots: dict[str, str]) -> dict[str, Spec]:
    """Quality against cost per answer; empty where fewer than two runs report a cost."""
    values: list[Spec] = []
    for row in table.rows:
        if row.value is None or row.cost is None:
            continue
        low = high = row.value
        if row.interval:
            low = row.interval.low
            high = row.interval.high
        label = short_label(bots.get(row.run) or row.run, 40)
        values.append(
            {"run": label, "cost": row.cost, "value": row.value, "low": low, "high": high}
        )
    if len(values) < 2:
        return {}
    if table.measure == PASS_RATE:
        axis_format = ".0%"
    else:
        axis_format = ".2f"
    spec = load_chart("cost", values=values, measure=table.measure, format=axis_format)
    return {"cost": add_title("Quality against cost", spec, "with the 95 % interval")}


def side_by_side(sides: Sequence[Side], page: int) -> list[dict[str, object]]:
    """The answers of all runs to one page of cases: first those that only some of the runs pass."""
    places = [{case_id: n for n, case_id in enumerate(side.ids)} for side in sides]

    def passes_in(case_id: str) -> int:
        rows = [(side, place.get(case_id)) for side, place in zip(sides, places, strict=True)]
        return sum(side.passed[n] == 1 for side, n in rows if n is not None)

    def is_undisputed(case_id: str) -> bool:
        return passes_in(case_id) in (0, len(sides))

    ordered = sorted(sides[0].ids, key=is_undisputed)  # sorting is stable: the case order stays
    start = (page - 1) * _CASES_PER_PAGE
    rows: list[dict[str, object]] = []
    for case_id in ordered[start : start + _CASES_PER_PAGE]:
        answers = [
            _answer_cell(side, place.get(case_id))
            for side, place in zip(sides, places, strict=True)
        ]
        question = sides[0].questions[places[0][case_id]]
        rows.append({"id": case_id, "question": question, "answers": answers})
    return rows


def _answer_cell(side: Side, n: int | None) -> dict[str, object]:
    if n is None:
        return {"run": side.name, "n": None, "status": "", "kind": "", "answer": ""}
    return {
        "run": side.name,
        "n": n,
        "status": side.statuses[n],
        "kind": side.kinds[n],
        "answer": side.answer_texts[n],
    }
