"""The viewer as an ASGI application, the server that runs it, and the page of a run in progress."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import anyio
from jinja2 import TemplateError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from answerkey.errors import AnswerkeyError, SettingsError, StorageError
from answerkey.files import json_line
from answerkey.reports.html import environment
from answerkey.reports.rows import read_rows
from answerkey.runs.journal_index import JournalTail
from answerkey.runs.store import read_manifest
from answerkey.text import short_label
from answerkey.viewer.case_page import case_page, default_run, label_case, label_page, label_start
from answerkey.viewer.compare_page import compare_page
from answerkey.viewer.guard import Guard, Rules, is_loopback
from answerkey.viewer.library import RunLibrary, requested_run, state_of
from answerkey.viewer.list_page import runs_page, sweep_file, sweep_page, trend_page
from answerkey.viewer.render import problem, respond
from answerkey.viewer.run_page import export_cases, run_file, run_page

_DAMAGE = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    OSError,
    RuntimeError,
    TemplateError,
)


def make_app(root: Path, rules: Rules, labeller: str = "") -> Starlette:
    app = Starlette(
        routes=[
            Route("/", runs_page),
            Route("/compare", compare_page),
            Route("/trend", trend_page),
            Route("/label", label_start),
            Route("/label/{run:path}", label_page),
            Route("/run/{run:path}/case/{n:int}/label", label_case, methods=["POST"]),
            Route("/run/{run:path}/case/{n:int}", case_page),
            Route("/run/{run:path}/live", live_page),
            Route("/run/{run:path}/events", live_events),
            Route("/run/{run:path}/file/{name:path}", run_file),
            Route("/run/{run:path}/export/{kind}", export_cases),
            Route("/run/{run:path}", run_page),
            Route("/sweep/{sweep:path}/file/{name:path}", sweep_file),
            Route("/sweep/{sweep:path}", sweep_page),
            Route("/favicon.ico", RedirectResponse("/static/icon.svg")),
            Mount(
                "/static",
                StaticFiles(
                    packages=[("answerkey.viewer", "static"), ("answerkey.reports", "static")]
                ),
            ),
        ],
        middleware=[Middleware(Guard, rules=rules)],
        exception_handlers=dict.fromkeys((AnswerkeyError, HTTPException, *_DAMAGE), _failed),
    )
    app.state.library = RunLibrary(root)
    app.state.labeller = labeller
    return app


def _failed(request: Request, error: Exception) -> Response:
    """One sentence about a request that cannot be answered. A damaged run or an odd address must not take the viewer down."""
    if isinstance(error, AnswerkeyError):
        return problem(request, str(error), 422 if isinstance(error, StorageError) else 404)
    if isinstance(error, HTTPException):
        found = "There is no such page." if error.status_code == 404 else str(error)
        return problem(request, found, error.status_code)
    detail = short_label(f"{type(error).__name__}: {error}", 200)
    return problem(
        request, f"This page cannot be shown; the files of the run may be damaged ({detail}).", 422
    )


PORT = 8765


def serve(
    root: Path, rules: Rules, port: int | None, ready: Callable[[str], None], labeller: str = ""
) -> None:
    """`ready` is called with the address once the socket listens. Without a port: 8765, otherwise any free one."""
    import uvicorn

    app = make_app(root, rules, labeller)
    listening = _listen(rules.host, port)
    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=1
    )
    # A page that is open when the server is stopped is no error.
    logging.getLogger("uvicorn.error").addFilter(
        lambda record: "graceful shutdown" not in record.getMessage()
    )
    threading.Thread(target=_prepare, args=(app.state.library,), daemon=True).start()
    ready(address(rules, listening.getsockname()[1]))
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()


def _prepare(library: RunLibrary) -> None:
    """Read the newest run, which is opened next, while the browser starts."""
    environment().get_template("run.html")
    with suppress(AnswerkeyError, *_DAMAGE):
        if newest := default_run(library):
            read_rows(newest)


def address(rules: Rules, port: int) -> str:
    name = "127.0.0.1" if rules.host in ("0.0.0.0", "::") else rules.host
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/{f'?token={quote(rules.token)}' if rules.token else ''}"


def _listen(host: str, port: int | None) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem = ""
    for wanted in [PORT, 0] if port is None else [port]:
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, wanted))
            listening.listen(128)
            return listening
        except OSError as error:
            listening.close()
            problem = error.strerror or str(error)
    hint = "" if is_loopback(host) else " and --host must be an address of this machine"
    raise SettingsError(
        f"cannot listen on {host}, port {port}: {problem}; choose another --port{hint}"
    )


_LATEST = 12
_WINDOW = 30.0


class LiveRun:
    """Reads only what is new at each look. A case scored twice counts once, as it was last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tail = JournalTail(folder)
        self._answered: set[int] = set()
        self._verdicts: dict[int, tuple[str, bool, float | None]] = {}
        self._latest: deque[dict[str, object]] = deque(maxlen=_LATEST)
        self._paces: deque[tuple[float, int]] = deque()

    def look(self) -> dict[str, object]:
        """The run as it stands now: `answered` and `done` (scored) cases, and the pace."""
        for n, removed in self._tail.answered():
            (self._answered.discard if removed else self._answered.add)(n)
        for n, case, verdict in self._tail.scored():
            self._verdicts[n] = (verdict.status, verdict.passed, verdict.score)
            # A line of the page is put there by script, so its text is made inert here.
            shown, why = short_label(verdict.status), short_label(verdict.justification, 160)
            self._latest.appendleft(
                {"id": short_label(case), "status": shown, "score": verdict.score, "why": why}
            )
        manifest = read_manifest(self.folder)
        done, of = len(self._verdicts), (manifest.count or 0) * manifest.settings.run.repeats
        scores = [score for _, _, score in self._verdicts.values() if score is not None]
        now, rate = time.monotonic(), None
        self._paces.append((now, done))
        while now - self._paces[0][0] > _WINDOW:
            self._paces.popleft()
        began, before = self._paces[0]
        if now > began and done > before:
            rate = (done - before) / (now - began)  # cases a second over the last half minute
        return {
            "name": short_label(manifest.name),
            "state": state_of(self.folder, manifest),
            "answered": len(self._answered),
            "done": done,
            "of": of,
            "passed": sum(passed for _, passed, _ in self._verdicts.values()),
            "statuses": dict(
                Counter(
                    short_label(status) for status, _, _ in self._verdicts.values()
                ).most_common()
            ),
            "mean_score": sum(scores) / len(scores) if scores else None,
            "scored": len(scores),
            "rate": rate,
            "seconds_left": (of - done) / rate if rate and of > done else None,
            "latest": list(self._latest),
        }


_EVERY = 0.5
_HEARTBEAT = 20  # looks without news after which a comment keeps the line open


def live_page(request: Request) -> Response:
    library, folder = requested_run(request)
    return respond(
        request, "live.html", {"run": library.key(folder), "live": LiveRun(folder).look()}
    )


async def live_events(request: Request) -> Response:
    _, folder = requested_run(request)
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(
        _events(request, folder), media_type="text/event-stream", headers=headers
    )


async def _events(request: Request, folder: Path) -> AsyncIterator[str]:
    """A message whenever something changed; `done` when the run is over, and then no more."""
    tail, before, quiet = LiveRun(folder), None, 0
    while not await request.is_disconnected():
        now = await run_in_threadpool(tail.look)
        message, news = json_line(now).decode(), (now["answered"], now["done"], now["state"])
        if news != before or quiet >= _HEARTBEAT:
            yield f"data: {message}\n\n"
            before, quiet = news, 0
        if now["state"] != "in progress":
            yield f"event: done\ndata: {message}\n\n"
            return
        quiet += 1
        await anyio.sleep(_EVERY)
