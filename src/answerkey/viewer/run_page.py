"""One run: its figures and charts, and a table of its cases to filter, sort and search."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from answerkey.errors import InputError
from answerkey.reports.charts.run_charts import run_charts
from answerkey.reports.html import satisfying, weighed_criteria
from answerkey.reports.rows import Rows, read_rows
from answerkey.runs.store import open_run, read_manifest
from answerkey.types import Json, Profile
from answerkey.viewer.case_query import LABELS, PAGE, CaseQuery, facets, read_query, select
from answerkey.viewer.labels import read_labels
from answerkey.viewer.library import RunLibrary, figures_of, state_of
from answerkey.viewer.render import respond

MOST_COLUMNS = 7
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
    library: RunLibrary = request.app.state.library
    folder = library.run(request.path_params["run"])
    query = read_query(request.query_params)
    run, manifest, rows = open_run(folder), read_manifest(folder), read_rows(folder)
    figures = figures_of(folder, manifest, run.profile)
    chosen = select(folder, query)
    pages = max(1, -(-len(chosen) // PAGE))
    page = min(query.page, pages)
    labels = read_labels(folder)
    data = {
        "run": library.key(folder),
        "state": state_of(folder, manifest),
        "summary": figures,
        "charts": run_charts(figures, rows, run.profile),
        "facets": facets(rows),
        "labels": LABELS,
        "columns": columns(rows, run.profile),
        "metrics": list(rows.metrics),
        "query": asdict(query),
        "total": len(rows),
        "found": len(chosen),
        "page": page,
        "pages": pages,
        "page_size": PAGE,
        "cases": [
            {**rows.row(n), "label": labels.get(rows.id[n], {}).get("label")}
            for n in chosen[(page - 1) * PAGE : page * PAGE]
        ],
        "files": [name for name in FILES if (folder / name).is_file()],
        "labelled": sum(entry.get("label") is not None for entry in labels.values()),
        "addresses": _addresses(query, rows, page, pages),
    }
    return respond(
        request, "run.html", data, weighed=weighed_criteria(run.profile), satisfying=satisfying(run.profile)
    )


def columns(rows: Rows, profile: Profile | None) -> list[str]:
    """The metrics that get a column: those the profile weighs, then others, as many as fit."""
    weighed = [c.metric for c in profile.rules.criteria] if profile else []
    if profile:
        weighed += [c.metric for rules in profile.group_rules.values() for c in rules.criteria]
    return [name for name in dict.fromkeys([*weighed, *rows.metrics]) if name in rows.metrics][:MOST_COLUMNS]


def _addresses(query: CaseQuery, rows: Rows, page: int, pages: int) -> Json:
    """Where the table's links lead: each keeps the other wishes."""
    sorts = ("worst", "id", "status", "score", "route", "type", "seconds", *rows.metrics)
    return {
        "here": query.address(page=page),
        "clear": CaseQuery(sort=query.sort, down=query.down).address(),
        "sort": {name: query.address(sort=name, down=_turned(query, name), page=1) for name in sorts},
        "first": query.address(page=1) if page > 1 else None,
        "previous": query.address(page=page - 1) if page > 1 else None,
        "next": query.address(page=page + 1) if page < pages else None,
        "last": query.address(page=pages) if page < pages else None,
    }


def _turned(query: CaseQuery, name: str) -> str:
    return "1" if query.sort == name and not query.down else ""


def run_file(request: Request) -> Response:
    """A report of the run as a download, or a chart. No other file of the folder is served."""
    library: RunLibrary = request.app.state.library
    return send_file(library.run(request.path_params["run"]), request.path_params["name"])


def send_file(folder: Path, name: str) -> Response:
    if name in FILES or name.endswith(".csv"):
        path = folder / Path(name).name
    elif name.startswith("plots/") and name.endswith(".png"):
        path = folder / "plots" / Path(name).name
    else:
        path = folder / "nothing"
    if not path.is_file():
        raise InputError(f'no file "{name}" here')
    as_file = None if path.suffix == ".png" else path.name
    return FileResponse(path, filename=as_file)
