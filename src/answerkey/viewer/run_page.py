"""One run: pass rate, the most frequent failures, and a table of its cases to filter and sort."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from answerkey.calibrate.labels import read_run_labels
from answerkey.metrics.judge.card import card_lines
from answerkey.profiles.decide import share_of
from answerkey.reports.filters import weighed_criteria
from answerkey.reports.headline import figure_notes
from answerkey.reports.rows import Rows, read_rows_at
from answerkey.reports.run_charts import run_charts
from answerkey.reports.variants import COLUMNS, variant_notes, variant_rows
from answerkey.reports.word_marks import marked_answer
from answerkey.robustness.record import read_variants
from answerkey.runs.case_list import count_cases, places_of
from answerkey.runs.manifest import Manifest
from answerkey.runs.store import open_reader, profile_of, read_manifest
from answerkey.runs.stored_table import read_stored_table
from answerkey.runs.summary import Summary
from answerkey.text import excerpt, printable
from answerkey.types import Outcome, Profile
from answerkey.viewer.case_query import (
    LABELS,
    PAGE,
    CaseQuery,
    Facets,
    facets,
    read_query,
    select_page,
)
from answerkey.viewer.corrections import read_corrections
from answerkey.viewer.downloads import RUN_FILES
from answerkey.viewer.forms import read_form
from answerkey.viewer.library import (
    describe_selection,
    judge_name,
    requested_run,
    state_of,
    summary_of_run,
    target_name,
)
from answerkey.viewer.render import respond
from answerkey.viewer.run_notes import read_note, write_note

TABS = ("cases", "charts", "tables", "about")
_MOST_COLUMNS = 7  # of metrics and of the user's own; more make the table wider than a screen
_LOWEST_SHOWN = 2
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
_FILTERS = ("q", "status", "route", "type", "reason", "label")
_SORTS = ("worst", "id", "status", "score", "route", "type", "seconds")


def run_page(request: Request) -> Response:
    """The page of a run; with `part=cases` only its table, for the search while typing."""
    library, folder = requested_run(request)
    tab = request.query_params.get("tab", "cases")
    if tab not in TABS:
        tab = "cases"
    manifest = read_manifest(folder)
    profile = profile_of(folder)
    summary = summary_of_run(folder, manifest)
    labels = read_run_labels(folder).by_majority()
    query = read_query(request.query_params)
    values = facets(folder)
    page = select_page(folder, query)
    reader = open_reader(folder)
    positions = page.positions if tab == "cases" else []
    outcomes = list(reader.at(positions))
    rows = read_rows_at(folder, positions)
    own_columns = _own_columns(outcomes)
    charts: dict[str, object] = {}
    # Charts read every row, so no other tab makes them.
    if tab == "charts":
        charts = dict(run_charts(summary, read_stored_table(reader), profile))
    data: dict[str, object] = {
        "run": library.key(folder),
        "state": state_of(folder, manifest),
        "tab": tab,
        "tabs": TABS,
        "summary": summary.to_json(),
        "charts": charts,
        "files": [name for name in RUN_FILES if (folder / name).is_file()],
        "labels": LABELS,
        "labelled": len(labels),
        "note": read_note(folder),
        "corrected": len(read_corrections(folder)),
        "facets": values,
        "groups": _failure_groups(query, summary),
        "setup": _describe_setup(manifest),
        "own_columns": own_columns,
        "columns": _metric_columns(rows, profile),
        "metrics": list(rows.metrics),
        "query": query,
        "total": count_cases(reader),
        "found": page.count,
        "page": page.page,
        "pages": page.pages,
        "page_size": PAGE,
        "cases": [
            _table_row(rows.n.index(n), outcome, rows, profile, labels)
            | {"n": place, "own": _own_cells(outcome, own_columns)}
            for n, place, outcome in zip(
                positions, places_of(reader, positions), outcomes, strict=True
            )
        ],
        "addresses": _addresses(query, rows, values, page.page, page.pages),
    }
    if request.query_params.get("part") == "cases":
        template = "run_cases.html"
    else:
        template = "run.html"
    variants = read_variants(folder)
    return respond(
        request,
        template,
        data,
        weighed=weighed_criteria(profile),
        facts=figure_notes(summary),
        card=card_lines(summary.judge) if summary.judge else [],
        variants=variant_rows(variants),
        variant_columns=COLUMNS,
        variant_notes=variant_notes(variants),
    )


async def set_note(request: Request) -> Response:
    """Keep the note and tags of the form, then show the run again."""
    _, folder = requested_run(request)
    form = await read_form(request)
    write_note(folder, form.get("note", ""), form.get("tags", ""))
    return RedirectResponse(request.url.path.removesuffix("/note"), 303)


def _describe_setup(manifest: Manifest) -> dict[str, str]:
    """The parts of the run in words that a reader knows; hashes are elsewhere."""
    settings = manifest.settings
    parts: dict[str, object] = {
        "suite": manifest.suite,
        "bot": target_name(settings.target),
        "judge": judge_name(settings.judge),
        "embedding model": judge_name(settings.embedding),
        "profile": (manifest.profile or {}).get("name"),
        "metrics": ", ".join(manifest.metrics),
        "cases": ", ".join(settings.cases),
        "started by": manifest.started_by,
        "commit": (manifest.commit or "")[:12],
        "selected": describe_selection(settings.selection),
        "rescored from": manifest.rescore_of,
    }
    return {name: str(value) for name, value in parts.items() if value}


def _failure_groups(query: CaseQuery, summary: Summary) -> list[dict[str, object]]:
    """The kinds of failure, largest first, each with the link that shows its cases."""
    return [
        {
            "kind": printable(group.kind),
            "cause": printable(group.cause),
            "count": group.count,
            "reachable": group.reachable,
            "address": query.address(page=1, reason=printable(group.kind)),
            "is_chosen": query.reason == printable(group.kind),
        }
        for group in summary.failures
    ]


def _own_columns(outcomes: Sequence[Outcome]) -> list[str]:
    """The columns of the user's own data among these cases, as many as fit."""
    names = dict.fromkeys(str(name) for outcome in outcomes for name in outcome.case.extra)
    return list(names)[:_MOST_COLUMNS]


def _own_cells(outcome: Outcome, columns: Sequence[str]) -> dict[str, str]:
    extra = {str(name): value for name, value in outcome.case.extra.items()}
    return {name: excerpt(str(extra[name])) for name in columns if extra.get(name) is not None}


def _metric_columns(rows: Rows, profile: Profile | None) -> list[str]:
    """The metrics of the profile first, then others, as many as fit."""
    if profile:
        weighed = [criterion.metric for criterion in profile.lines]
    else:
        weighed = []
    names = dict.fromkeys([*weighed, *rows.metrics])
    return [name for name in names if name in rows.metrics][:_MOST_COLUMNS]


def _table_row(
    n: int, outcome: Outcome, rows: Rows, profile: Profile | None, labels: dict[str, float]
) -> dict[str, object]:
    """A case in the table: the number that decided, and the weakest criteria with their values."""
    response = outcome.response
    expected, answer = marked_answer(
        excerpt(" / ".join(outcome.case.expected)),
        excerpt(response.answer or response.error or ""),
        excerpt(outcome.case.question),
    )
    verdict = outcome.verdict
    if profile:
        rules = profile.rules_for(rows.route[n])
    else:
        rules = None
    return {
        **{name: getattr(rows, name)[n] for name in _PLAIN_COLUMNS},
        "why": "" if verdict.passed else verdict.why or verdict.justification,
        "kind": verdict.kind or rows.reason[n],
        "cause": verdict.cause,
        "expected": expected,
        "answer": answer,
        "decided_by": rows.quality[n] if rules else None,
        "pass_mark": rules.pass_mark if rules else None,
        "lowest": _lowest_metrics(n, rows, profile),
        "metrics": {name: column[n] for name, column in rows.metrics.items()},
        "label": labels.get(rows.id[n]),
    }


def _lowest_metrics(n: int, rows: Rows, profile: Profile | None) -> list[tuple[str, float]]:
    """The criteria that lost the largest share of their points, with their values."""
    if profile is None:
        return []
    shares: list[tuple[float, str, float]] = []
    for criterion in profile.rules_for(rows.route[n]).lines:
        if criterion.metric not in rows.metrics or not criterion.weight:
            continue
        value = rows.metrics[criterion.metric][n]
        if isinstance(value, int | float):
            shares.append((share_of(criterion, value), criterion.metric, value))
    return [(metric, value) for share, metric, value in sorted(shares)[:_LOWEST_SHOWN] if share < 1]


def _addresses(
    query: CaseQuery, rows: Rows, values: Facets, page: int, pages: int
) -> dict[str, object]:
    """The links of the table; each keeps the rest of the query. A missing page has no link."""
    opposite = "" if query.down else "1"
    sorts: dict[str, str] = {}
    for name in (*_SORTS, *rows.metrics):
        down = opposite if name == query.sort else ""
        sorts[name] = query.address(sort=name, down=down, page=1)
    has_previous = page > 1
    has_next = page < pages
    return {
        "here": query.address(page=page),
        "clear": CaseQuery(sort=query.sort, down=query.down).address(),
        "without": {name: query.address(page=1, **{name: ""}) for name in _FILTERS},
        "without_under": query.address(page=1, under="", metric=""),
        "status": {name: query.address(page=1, status=name) for name, _ in values["status"]},
        "reason": {name: query.address(page=1, reason=name) for name, _ in values["reason"]},
        "sort": sorts,
        "first": query.address(page=1) if has_previous else None,
        "previous": query.address(page=page - 1) if has_previous else None,
        "next": query.address(page=page + 1) if has_next else None,
        "last": query.address(page=pages) if has_next else None,
    }
