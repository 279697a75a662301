"""One run: pass rate, what failed most, a table of its cases to filter, sort, search and export."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from answerkey.calibrate.labels import read_run_labels
from answerkey.errors import InputError
from answerkey.files import json_line
from answerkey.metrics.judge.card import card_lines
from answerkey.profiles.decide import share_of
from answerkey.reports.case_files import ResultsCsv
from answerkey.reports.explain import marked_answer
from answerkey.reports.html import weighed_criteria
from answerkey.reports.rows import Rows, excerpt, read_outcome, read_outcomes_at, read_rows
from answerkey.reports.run_charts import run_charts
from answerkey.reports.text import figure_notes
from answerkey.runs.records import result_line
from answerkey.runs.store import profile_of, read_manifest
from answerkey.types import Outcome, Profile
from answerkey.viewer.case_query import (
    LABELS,
    PAGE,
    CaseQuery,
    Facets,
    facets,
    read_query,
    select,
    write_search_text,
)
from answerkey.viewer.library import requested_run, state_of, summary_of_run
from answerkey.viewer.render import respond

TABS = ("cases", "charts", "tables", "about")
MOST_COLUMNS = 7
LOWEST_SHOWN = 2
FILES = (
    "results.jsonl",
    "results.csv",
    "summary.json",
    "report.txt",
    "report.md",
    "report.html",
    "failures.txt",
    "junit.xml",
)


def run_page(request: Request) -> Response:
    """The page of a run; with `part=cases` only its table, for the search while typing."""
    library, folder = requested_run(request)
    tab = request.query_params.get("tab", TABS[0])
    manifest, profile, rows = read_manifest(folder), profile_of(folder), read_rows(folder)
    summary, labels = summary_of_run(folder, manifest), read_run_labels(folder).by_majority()
    query, values = read_query(request.query_params), facets(folder)
    chosen = select(folder, query)
    pages = max(1, -(-len(chosen) // PAGE))
    page = min(query.page, pages)
    shown = chosen[(page - 1) * PAGE : page * PAGE] if tab not in TABS[1:] else []
    outcomes = read_outcomes_at(folder, rows, shown)
    weighed = [criterion.metric for criterion in profile.criteria] if profile else []
    data: dict[str, object] = {
        "run": library.key(folder),
        "state": state_of(folder, manifest),
        "tab": tab if tab in TABS else TABS[0],
        "tabs": TABS,
        "summary": summary.to_json(),
        "charts": run_charts(summary, rows, profile) if tab == "charts" else {},
        "files": [name for name in FILES if (folder / name).is_file()],
        "labels": LABELS,
        "labelled": len(labels),
        "facets": values,
        # Those that the profile weighs, then others, as many as fit.
        "columns": [
            name for name in dict.fromkeys([*weighed, *rows.metrics]) if name in rows.metrics
        ][:MOST_COLUMNS],
        "metrics": list(rows.metrics),
        "query": query,
        "total": len(rows),
        "found": len(chosen),
        "page": page,
        "pages": pages,
        "page_size": PAGE,
        "cases": [
            _row(n, outcome, rows, profile, labels)
            for n, outcome in zip(shown, outcomes, strict=True)
        ],
        "addresses": _addresses(query, rows, values, page, pages),
    }
    template = "run_cases.html" if request.query_params.get("part") == "cases" else "run.html"
    card = card_lines(summary.judge) if summary.judge else []
    reply = respond(
        request,
        template,
        data,
        weighed=weighed_criteria(profile),
        facts=figure_notes(summary),
        card=card,
    )
    reply.background = BackgroundTask(write_search_text, folder)
    return reply


_PLAIN_COLUMNS = (
    "id",
    "question",
    "type",
    "route",
    "expected_route",
    "acceptable_route",
    "seconds",
    "status",
    "passed",
    "reason",
    "score",
)


def _row(
    n: int, outcome: Outcome, rows: Rows, profile: Profile | None, labels: dict[str, float]
) -> dict[str, object]:
    """A case in the table: the number that decided with its pass mark, and the weakest criteria with their values."""
    given = excerpt(outcome.response.answer or outcome.response.error or "")
    expected, answer = marked_answer(excerpt(" / ".join(outcome.case.expected)), given)
    rules = profile.rules_for(rows.route[n]) if profile else None
    values = {name: column[n] for name, column in rows.metrics.items()}
    shares: list[tuple[float, str, float]] = []
    for criterion in rules.criteria if rules else ():
        value = values.get(criterion.metric)
        if isinstance(value, int | float) and criterion.weight:
            shares.append((share_of(criterion, value), criterion.metric, value))
    return {
        "n": n,
        **{name: getattr(rows, name)[n] for name in _PLAIN_COLUMNS},
        "expected": expected,
        "answer": answer,
        "decided_by": rows.quality[n] if rules else None,
        "pass_mark": rules.pass_mark if rules else None,
        "lowest": [
            (metric, value) for share, metric, value in sorted(shares)[:LOWEST_SHOWN] if share < 1
        ],
        "metrics": values,
        "label": labels.get(rows.id[n]),
    }


def _addresses(
    query: CaseQuery, rows: Rows, values: Facets, page: int, pages: int
) -> dict[str, object]:
    """The links of the table; each keeps the rest of the query. A page that does not exist has no link."""
    sorts = ("worst", "id", "status", "score", "route", "type", "seconds", *rows.metrics)
    filters = ("q", "status", "route", "type", "reason", "label")
    turned = {query.sort: "" if query.down else "1"}
    return {
        "here": query.address(page=page),
        "clear": CaseQuery(sort=query.sort, down=query.down).address(),
        "without": {name: query.address(page=1, **{name: ""}) for name in filters},
        "without_under": query.address(page=1, under="", metric=""),
        "status": {name: query.address(page=1, status=name) for name, _ in values["status"]},
        "reason": {name: query.address(page=1, reason=name) for name, _ in values["reason"]},
        "sort": {
            name: query.address(sort=name, down=turned.get(name, ""), page=1) for name in sorts
        },
        "first": query.address(page=1) if page > 1 else None,
        "previous": query.address(page=page - 1) if page > 1 else None,
        "next": query.address(page=page + 1) if page < pages else None,
        "last": query.address(page=pages) if page < pages else None,
    }


def export_cases(request: Request) -> Response:
    """The cases of the present filter, in its order, as results.csv or results.jsonl would hold them."""
    (_, folder), kind = requested_run(request), request.path_params["kind"]
    if kind not in ("csv", "jsonl"):
        raise InputError(f'no export "{kind}": csv and jsonl are available')
    rows, chosen = read_rows(folder), select(folder, read_query(request.query_params))
    outcomes = (read_outcome(folder, rows, n) for n in chosen)
    headers = {"Content-Disposition": f'attachment; filename="cases.{kind}"'}
    media = "text/csv; charset=utf-8" if kind == "csv" else "application/x-ndjson"
    with ExitStack() as opened:
        # All of it is written before the reply begins: a damaged case is an error page, not half a file.
        file = opened.enter_context(TemporaryFile())
        if kind == "csv":
            text = io.TextIOWrapper(file, "utf-8", "replace", newline="")
            table = ResultsCsv(text, list(rows.metrics))
            for outcome in outcomes:
                table.add(outcome)
            text.detach()
        else:
            file.writelines(json_line(result_line(outcome)) + b"\n" for outcome in outcomes)
        opened.pop_all()  # it is closed when it is sent
    return StreamingResponse(_sent(file), media_type=media, headers=headers)


def _sent(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while block := file.read(1 << 16):
            yield block


def run_file(request: Request) -> Response:
    """A report of the run as a download, or a chart. No other file of the folder is served."""
    return send_file(requested_run(request)[1], request.path_params["name"])


def send_file(folder: Path, name: str) -> Response:
    if name in FILES or name.endswith(".csv"):
        path = folder / Path(name).name
    elif name.startswith("plots/") and name.endswith(".png"):
        path = folder / "plots" / Path(name).name
    else:
        path = folder / "nothing"
    if not path.is_file():
        raise InputError(f'no file "{name}" here')
    return FileResponse(path, filename=None if path.suffix == ".png" else path.name)
