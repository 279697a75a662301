"""The viewer as an ASGI application: its addresses, its guard, and its error page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from answerkey.errors import AnswerkeyError, StorageError
from answerkey.text import short_label
from answerkey.viewer.audit_page import audit_page, decide_finding
from answerkey.viewer.case_page import case_page, correct_expected, keep_regression_case
from answerkey.viewer.compare_page import compare_page
from answerkey.viewer.downloads import export_cases, run_file, sweep_file
from answerkey.viewer.guard import Guard, Rules
from answerkey.viewer.home_page import home_page
from answerkey.viewer.label_page import label_case, label_page, label_start, set_labeller
from answerkey.viewer.library import RunLibrary
from answerkey.viewer.live_page import live_events, live_page
from answerkey.viewer.many_page import many_page
from answerkey.viewer.render import respond_problem
from answerkey.viewer.run_page import run_page, set_note
from answerkey.viewer.sweep_page import sweep_page
from answerkey.viewer.trend_page import trend_page
from answerkey.viewer.watch_page import watch_page

# What reading a damaged run or a strange address may raise.
DAMAGE = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    OSError,
    RuntimeError,
    TemplateError,
)
_ROUTES = [
    Route("/", home_page),
    Route("/compare", compare_page),
    Route("/many", many_page),
    Route("/trend", trend_page),
    Route("/watch", watch_page),
    Route("/label", label_start),
    Route("/label/{run:path}/name", set_labeller, methods=["POST"]),
    Route("/label/{run:path}", label_page),
    Route("/run/{run:path}/case/{n:int}/label", label_case, methods=["POST"]),
    Route("/run/{run:path}/case/{n:int}/expected", correct_expected, methods=["POST"]),
    Route("/run/{run:path}/case/{n:int}/regression", keep_regression_case, methods=["POST"]),
    Route("/run/{run:path}/case/{n:int}", case_page),
    Route("/run/{run:path}/note", set_note, methods=["POST"]),
    Route("/run/{run:path}/live", live_page),
    Route("/run/{run:path}/events", live_events),
    Route("/run/{run:path}/file/{name:path}", run_file),
    Route("/run/{run:path}/export/{kind}", export_cases),
    Route("/run/{run:path}", run_page),
    Route("/audit/{audit:path}/finding/{n:int}", decide_finding, methods=["POST"]),
    Route("/audit/{audit:path}", audit_page),
    Route("/sweep/{sweep:path}/file/{name:path}", sweep_file),
    Route("/sweep/{sweep:path}", sweep_page),
    Route("/favicon.ico", RedirectResponse("/static/icon.svg")),
]


def make_app(root: Path, rules: Rules, labeller: str = "") -> Starlette:
    """The application for the runs below `root`; `labeller` is the name for labels given here."""
    static = StaticFiles(packages=[("answerkey.viewer", "static"), ("answerkey.reports", "static")])
    handlers: dict[Any, Any] = dict.fromkeys(
        (AnswerkeyError, HTTPException, *DAMAGE), _show_problem
    )
    handlers[ClientDisconnect] = _drop_request
    app = Starlette(
        routes=[*_ROUTES, Mount("/static", static)],
        middleware=[Middleware(Guard, rules=rules)],
        exception_handlers=handlers,
    )
    app.state.library = RunLibrary(root)
    app.state.labeller = labeller
    return app


def _show_problem(request: Request, error: Exception) -> Response:
    """One sentence about a request that cannot be answered.

    A damaged run or a strange address must not take the viewer down.
    """
    if isinstance(error, StorageError):
        return respond_problem(request, str(error), 422)
    if isinstance(error, AnswerkeyError):
        return respond_problem(request, str(error), 404)
    if isinstance(error, HTTPException):
        if error.status_code == 404:
            message = "There is no such page."
        else:
            message = str(error)
        return respond_problem(request, message, error.status_code)
    detail = short_label(f"{type(error).__name__}: {error}", 200)
    message = f"This page cannot be shown; the files of the run may be damaged ({detail})."
    return respond_problem(request, message, 422)


def _drop_request(request: Request, error: Exception) -> Response:
    """The browser went away while it sent a form: nobody reads a reply, and nothing is kept."""
    return Response(status_code=400)
