"""One run: pass rate, what failed most, a table of its cases to filter, sort, search and export; or its live page."""

from __future__ import annotations

import io
import json
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import anyio
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from answerkey.calibrate.labels import read_labels
from answerkey.errors import InputError
from answerkey.files import json_line
from answerkey.metrics.judge.card import card_lines
from answerkey.profiles.decide import share_of
from answerkey.reports.case_files import ResultsCsv
from answerkey.reports.charts.run_charts import run_charts
from answerkey.reports.charts.style import Spec
from answerkey.reports.html import weighed_criteria
from answerkey.reports.rows import Rows, Value, excerpt, read_outcome, read_outcomes_at, read_rows
from answerkey.reports.text import figure_notes
from answerkey.reports.word_diff import Piece, marked_answer
from answerkey.runs.journal_index import JournalTail
from answerkey.runs.manifest import Manifest
from answerkey.runs.records import result_line
from answerkey.runs.store import profile_of, read_manifest
from answerkey.text import short_label
from answerkey.types import Json, Outcome, Profile, Verdict
from answerkey.viewer.case_query import LABELS, PAGE, CaseQuery, facets, read_query, select
from answerkey.viewer.library import RunLibrary, state_of, summary_of_run
from answerkey.viewer.render import respond
from answerkey.viewer.search_text import write_search_text

TABS = ("cases", "charts", "tables", "about")
MOST_COLUMNS = 7
LOWEST_SHOWN = 2
FILES = (
    "results.jsonl", "results.csv", "summary.json", "report.txt", "report.md", "report.html", "failures.txt", "junit.xml",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case in the table: the number that decided with its pass mark, and the weakest criteria with their values."""

    n: int
    id: str
    question: str
    expected: list[Piece]
    answer: list[Piece]
    type: str | None
    route: str | None
    expected_route: str | None
    acceptable_route: bool
    seconds: float | None
    status: str
    passed: bool
    reason: str
    score: float | None
    decided_by: float | None
    pass_mark: float | None
    lowest: list[tuple[str, float]]
    metrics: dict[str, Value]
    label: float | None


@dataclass(frozen=True, slots=True)
class RunPage:
    run: str
    state: str
    tab: str
    summary: Json
    charts: dict[str, Spec]
    files: list[str]
    labelled: int
    facets: dict[str, list[tuple[str, int]]]
    columns: list[str]
    metrics: list[str]
    query: CaseQuery
    total: int
    found: int
    page: int
    pages: int
    cases: list[CaseRow]
    addresses: Json
    tabs: tuple[str, ...] = TABS
    labels: tuple[str, ...] = LABELS
    page_size: int = PAGE


def run_page(request: Request) -> Response:
    """The page of a run; with `part=cases` only its table, for the search while typing."""
    library: RunLibrary = request.app.state.library
    folder = library.run(request.path_params["run"])
    tab = request.query_params.get("tab", TABS[0])
    manifest, profile, rows = read_manifest(folder), profile_of(folder), read_rows(folder)
    summary, labels = summary_of_run(folder, manifest, profile), read_labels(folder).resolved()
    query, values = read_query(request.query_params), facets(folder)
    chosen = select(folder, query)
    pages = max(1, -(-len(chosen) // PAGE))
    page = min(query.page, pages)
    shown = chosen[(page - 1) * PAGE : page * PAGE] if tab not in TABS[1:] else []
    outcomes = read_outcomes_at(folder, rows, shown)
    data = RunPage(
        run=library.key(folder),
        state=state_of(folder, manifest),
        tab=tab if tab in TABS else TABS[0],
        summary=summary.to_json(),
        charts=run_charts(summary, rows, profile) if tab == "charts" else {},
        files=[name for name in FILES if (folder / name).is_file()],
        labelled=len(labels),
        facets=values,
        columns=metric_columns(rows, profile),
        metrics=list(rows.metrics),
        query=query,
        total=len(rows),
        found=len(chosen),
        page=page,
        pages=pages,
        cases=[_row(n, outcome, rows, profile, labels) for n, outcome in zip(shown, outcomes, strict=True)],
        addresses=_addresses(query, rows, values, page, pages),
    )
    template = "run_cases.html" if request.query_params.get("part") == "cases" else "run.html"
    weighed = weighed_criteria(profile)
    card = card_lines(summary.judge) if summary.judge else []
    reply = respond(request, template, data, weighed=weighed, facts=figure_notes(summary), card=card)
    reply.background = BackgroundTask(write_search_text, folder)
    return reply


def _row(n: int, outcome: Outcome, rows: Rows, profile: Profile | None, labels: dict[str, float]) -> CaseRow:
    given = excerpt(outcome.response.answer or outcome.response.error or "")
    expected, answer = marked_answer(excerpt(" / ".join(outcome.case.expected)), given)
    rules = profile.rules_for(rows.route[n]) if profile else None
    values = {name: column[n] for name, column in rows.metrics.items()}
    shares: list[tuple[float, str, float]] = []
    for criterion in rules.criteria if rules else ():
        value = values.get(criterion.metric)
        if isinstance(value, int | float) and criterion.weight:
            shares.append((share_of(criterion, value), criterion.metric, value))
    return CaseRow(
        n, rows.id[n], rows.question[n], expected, answer, rows.type[n], rows.route[n], rows.expected_route[n],
        rows.acceptable_route[n], rows.seconds[n], rows.status[n], rows.passed[n], rows.reason[n], rows.score[n],
        decided_by=rows.quality[n] if rules else None, pass_mark=rules.pass_mark if rules else None,
        lowest=[(metric, value) for share, metric, value in sorted(shares)[:LOWEST_SHOWN] if share < 1],
        metrics=values, label=labels.get(rows.id[n]),
    )  # fmt: skip


def metric_columns(rows: Rows, profile: Profile | None) -> list[str]:
    """The metrics that get a column: those the profile weighs, then others, as many as fit."""
    rules = (profile.rules, *profile.group_rules.values()) if profile else ()
    weighed = [criterion.metric for rule in rules for criterion in rule.criteria]
    return [name for name in dict.fromkeys([*weighed, *rows.metrics]) if name in rows.metrics][:MOST_COLUMNS]


def _addresses(query: CaseQuery, rows: Rows, values: dict[str, list[tuple[str, int]]], page: int, pages: int) -> Json:
    """The links of the table; each keeps the rest of the query."""
    sorts = ("worst", "id", "status", "score", "route", "type", "seconds", *rows.metrics)
    filters = ("q", "status", "route", "type", "reason", "label")
    return {
        "here": query.address(page=page),
        "clear": CaseQuery(sort=query.sort, down=query.down).address(),
        "without": {name: query.address(page=1, **{name: ""}) for name in filters},
        "without_under": query.address(page=1, under="", metric=""),
        "status": {name: query.address(page=1, status=name) for name, _ in values["status"]},
        "reason": {name: query.address(page=1, reason=name) for name, _ in values["reason"]},
        "sort": {name: query.address(sort=name, down=_turned(query, name), page=1) for name in sorts},
        "first": query.address(page=1) if page > 1 else None,
        "previous": query.address(page=page - 1) if page > 1 else None,
        "next": query.address(page=page + 1) if page < pages else None,
        "last": query.address(page=pages) if page < pages else None,
    }


def _turned(query: CaseQuery, name: str) -> str:
    return "1" if query.sort == name and not query.down else ""


def export_cases(request: Request) -> Response:
    """The cases of the present filter, in its order, as results.csv or results.jsonl would hold them."""
    library: RunLibrary = request.app.state.library
    folder, kind = library.run(request.path_params["run"]), request.path_params["kind"]
    if kind not in ("csv", "jsonl"):
        raise InputError(f'no export "{kind}": csv and jsonl are available')
    rows, chosen = read_rows(folder), select(folder, read_query(request.query_params))
    lines = (result_line(read_outcome(folder, rows, n)) for n in chosen)
    lines = chain(list(islice(lines, 1)), lines)  # a damaged run is noticed before the reply begins
    body = _csv_lines(lines, list(rows.metrics)) if kind == "csv" else (json_line(line) + b"\n" for line in lines)
    headers = {"Content-Disposition": f'attachment; filename="cases.{kind}"'}
    media = "text/csv; charset=utf-8" if kind == "csv" else "application/x-ndjson"
    return StreamingResponse(body, media_type=media, headers=headers)


def _csv_lines(lines: Iterator[Json], metrics: list[str]) -> Iterator[bytes]:
    file = io.StringIO()
    table = ResultsCsv(file, metrics)
    for line in lines:
        table.add(line)
        yield file.getvalue().encode("utf-8", "replace")
        file.seek(0)
        file.truncate()
    yield file.getvalue().encode("utf-8", "replace")


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
    return FileResponse(path, filename=None if path.suffix == ".png" else path.name)


_LATEST = 12
_WINDOW = 30.0


class LiveRun:
    """Reads only what is new at each look. A case scored twice counts once, as it was last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tail = JournalTail(folder)
        self._answered: set[int] = set()
        self._verdicts: dict[int, tuple[str, bool, float | None]] = {}
        self._latest: deque[Json] = deque(maxlen=_LATEST)
        self._paces: deque[tuple[float, int]] = deque()

    def look(self) -> Json:
        """The run as it stands now."""
        for n, removed in self._tail.answered():
            (self._answered.discard if removed else self._answered.add)(n)
        for n, case, verdict in self._tail.scored():
            self._verdicts[n] = (verdict.status, verdict.passed, verdict.score)
            self._latest.appendleft(_latest_line(case, verdict))
        manifest = read_manifest(self.folder)
        return {**self._figures(manifest), "state": state_of(self.folder, manifest), "latest": list(self._latest)}

    def _figures(self, manifest: Manifest) -> Json:
        done, of = len(self._verdicts), (manifest.count or 0) * manifest.settings.run.repeats
        scores = [score for _, _, score in self._verdicts.values() if score is not None]
        rate = self._rate(done)
        return {
            "name": short_label(manifest.name),
            "answered": len(self._answered),
            "done": done,
            "of": of,
            "passed": sum(passed for _, passed, _ in self._verdicts.values()),
            "statuses": dict(Counter(short_label(status) for status, _, _ in self._verdicts.values()).most_common()),
            "mean_score": sum(scores) / len(scores) if scores else None,
            "scored": len(scores),
            "rate": rate,
            "seconds_left": (of - done) / rate if rate and of > done else None,
        }

    def _rate(self, done: int) -> float | None:
        """Cases a second over the last half minute."""
        now = time.monotonic()
        self._paces.append((now, done))
        while now - self._paces[0][0] > _WINDOW:
            self._paces.popleft()
        began, before = self._paces[0]
        return (done - before) / (now - began) if now > began and done > before else None


def _latest_line(case: str, verdict: Verdict) -> Json:
    """A line of the page. It is put there by script, so its text is made inert here."""
    why = short_label(verdict.justification, 160)
    return {"id": short_label(case), "status": short_label(verdict.status), "score": verdict.score, "why": why}


_EVERY = 0.5
_HEARTBEAT = 20  # looks without news after which a comment keeps the line open


def live_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    folder = library.run(request.path_params["run"])
    return respond(request, "live.html", {"run": library.key(folder), "live": LiveRun(folder).look()})


async def live_events(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    folder = library.run(request.path_params["run"])
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(_events(request, folder), media_type="text/event-stream", headers=headers)


async def _events(request: Request, folder: Path) -> AsyncIterator[str]:
    """A message whenever something changed; `done` when the run is over, and then no more."""
    tail, before, quiet = LiveRun(folder), "", 0
    while not await request.is_disconnected():
        now = await run_in_threadpool(tail.look)
        message = json.dumps(now, allow_nan=False)
        if _news(now) != before or quiet >= _HEARTBEAT:
            yield f"data: {message}\n\n"
            before, quiet = _news(now), 0
        if now["state"] != "in progress":
            yield f"event: done\ndata: {message}\n\n"
            return
        quiet += 1
        await anyio.sleep(_EVERY)


def _news(now: Json) -> str:
    return f"{now['answered']} {now['done']} {now['state']}"
