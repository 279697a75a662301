"""The viewer as an ASGI application, and the server that runs it."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from jinja2 import TemplateError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from answerkey.errors import AnswerkeyError, SettingsError, StorageError
from answerkey.reports.html import environment
from answerkey.reports.rows import read_rows
from answerkey.text import short_label
from answerkey.viewer.case_page import case_page, default_run, label_case, label_page, label_start
from answerkey.viewer.compare_page import compare_page
from answerkey.viewer.guard import Guard, Rules, is_loopback
from answerkey.viewer.library import RunLibrary
from answerkey.viewer.list_page import runs_page, sweep_file, sweep_page, trend_page
from answerkey.viewer.live_page import live_events, live_page
from answerkey.viewer.render import problem
from answerkey.viewer.run_page import export_cases, run_file, run_page

_DAMAGE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, OSError, RuntimeError, TemplateError)


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
            Route("/favicon.ico", icon),
            Mount("/static", StaticFiles(packages=[("answerkey.viewer", "static"), ("answerkey.reports", "static")])),
        ],
        middleware=[Middleware(Guard, rules=rules)],
        exception_handlers={AnswerkeyError: _failed, HTTPException: _http, **dict.fromkeys(_DAMAGE, _unreadable)},
    )
    app.state.library = RunLibrary(root)
    app.state.labeller = labeller
    return app


def icon(_: Request) -> Response:
    return RedirectResponse("/static/icon.svg")


def _failed(request: Request, error: Exception) -> Response:
    """One sentence about a request that cannot be answered."""
    return problem(request, str(error), 422 if isinstance(error, StorageError) else 404)


def _unreadable(request: Request, error: Exception) -> Response:
    """A damaged run or an odd address must not take the viewer down: the page says what is wrong."""
    detail = short_label(f"{type(error).__name__}: {error}", 200)
    return problem(request, f"This page cannot be shown; the files of the run may be damaged ({detail}).", 422)


def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return problem(request, "There is no such page." if status == 404 else str(error), status)


PORT = 8765


def serve(root: Path, rules: Rules, port: int | None, ready: Callable[[str], None], labeller: str = "") -> None:
    """`ready` is called with the address once the socket listens. Without a port: 8765, otherwise any free one."""
    import uvicorn

    app = make_app(root, rules, labeller)
    listening = _listen(rules.host, port)
    config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=1)
    # A page that is open when the server is stopped is no error.
    logging.getLogger("uvicorn.error").addFilter(lambda record: "graceful shutdown" not in record.getMessage())
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
    raise SettingsError(f"cannot listen on {host}, port {port}: {problem}; choose another --port{hint}")
