"""Every page from one plain value: as HTML for people, and with `?format=json` as it is, for programs."""

from __future__ import annotations

import json
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from answerkey.reports.charts.style import config
from answerkey.reports.html import environment
from answerkey.reports.inert import shown
from answerkey.types import Json

_CHART_LOOKS = {"light": config(), "dark": config(dark=True)}


@cache
def templates() -> Environment:
    """The pages, all compiled at once, so that the first reader does not wait for it."""
    made = environment("answerkey.viewer")
    filters: dict[str, Any] = {"breakable": _breakable, "path": _path}
    made.filters.update(filters)
    for name in PackageLoader("answerkey.viewer").list_templates():
        made.get_template(name)
    made.get_template("parts.html")
    return made


def respond(request: Request, template: str, data: Json, status: int = 200, **looks: Any) -> Response:
    """`looks` are what only the template needs."""
    if wants_json(request):
        return Response(json.dumps(data, allow_nan=False, default=str), status, media_type="application/json")
    kept = [(k, v) for k, v in request.query_params.multi_items() if k != "format"]
    page = templates().get_template(template)
    address = f"?{urlencode([*kept, ('format', 'json')], errors='replace')}"
    html = page.render(**data, **looks, json_address=address, chart_looks=_CHART_LOOKS)
    return HTMLResponse(html, status)


def wants_json(request: Request) -> bool:
    return request.query_params.get("format") == "json"


def problem(request: Request, message: str, status: int) -> Response:
    return respond(request, "problem.html", {"problem": shown(message), "status": status}, status)


def _path(text: Any) -> str:
    """A run's key as a part of an address; its slashes stay."""
    return quote(str(text), safe="/", errors="replace")


def _breakable(text: str) -> Markup:
    """A long name that may be broken behind its underscores."""
    return Markup("_<wbr>").join(escape(part) for part in text.split("_"))
