"""The viewer's pages, as an ASGI application."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from answerkey.errors import AnswerkeyError, StorageError
from answerkey.viewer.guard import Guard, Rules
from answerkey.viewer.page_case import case_page, label_case
from answerkey.viewer.page_compare import compare_page
from answerkey.viewer.page_live import live_events, live_page
from answerkey.viewer.page_run import run_file, run_page
from answerkey.viewer.page_runs import runs_page
from answerkey.viewer.page_sweep import sweep_file, sweep_page
from answerkey.viewer.respond import problem, templates
from answerkey.viewer.shelf import Shelf


def make_app(root: Path, rules: Rules) -> Starlette:
    app = Starlette(
        routes=[
            Route("/", runs_page),
            Route("/compare", compare_page),
            Route("/run/{run:path}/case/{n:int}/label", label_case, methods=["POST"]),
            Route("/run/{run:path}/case/{n:int}", case_page),
            Route("/run/{run:path}/live", live_page),
            Route("/run/{run:path}/events", live_events),
            Route("/run/{run:path}/file/{name:path}", run_file),
            Route("/run/{run:path}", run_page),
            Route("/sweep/{sweep:path}/file/{name:path}", sweep_file),
            Route("/sweep/{sweep:path}", sweep_page),
            Route("/page.css", page_style),
            Route("/favicon.ico", lambda _: RedirectResponse("/static/icon.svg")),
            Mount("/static", StaticFiles(packages=[("answerkey.viewer", "static")])),
        ],
        middleware=[Middleware(Guard, rules=rules)],
        exception_handlers={AnswerkeyError: _wrong, HTTPException: _http},
    )
    app.state.shelf = Shelf(root)
    templates()
    return app


def page_style(_: Request) -> Response:
    """The look that the report page has too."""
    style = resources.files("answerkey.reports").joinpath("templates", "page.css").read_text(encoding="utf-8")
    return Response(style, media_type="text/css", headers={"Cache-Control": "no-cache"})


def _wrong(request: Request, error: Exception) -> Response:
    """A wish that cannot be met, in one sentence; only what could not be read or written is the server's fault."""
    return problem(request, str(error), 500 if isinstance(error, StorageError) else 404)


def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return problem(request, "There is no such page." if status == 404 else str(error), status)
