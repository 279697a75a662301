"""Every page from one plain value: as HTML for people, and with `?format=json` as JSON for programs."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from answerkey.reports.html import CHART_LOOKS, VEGA, environment
from answerkey.text import printable
from answerkey.types import Json


def respond(request: Request, template: str, data: Json, status: int = 200, **looks: Any) -> Response:
    """`looks` are the values that only the template needs."""
    if wants_json(request):
        return Response(json.dumps(data, allow_nan=False, default=str), status, media_type="application/json")
    kept = [(k, v) for k, v in request.query_params.multi_items() if k != "format"]
    address = f"?{urlencode([*kept, ('format', 'json')], errors='replace')}"
    templates = environment()
    templates.filters.setdefault("breakable", _breakable)
    templates.filters.setdefault("path", _path)
    page = templates.get_template(template)
    html = page.render(**data, **looks, json_address=address, chart_looks=CHART_LOOKS, vega_scripts=VEGA)
    return HTMLResponse(html, status)


def wants_json(request: Request) -> bool:
    return request.query_params.get("format") == "json"


def problem(request: Request, message: str, status: int) -> Response:
    return respond(request, "problem.html", {"problem": printable(message), "status": status}, status)


def _path(text: Any) -> str:
    """The name of a run as part of an address; its slashes stay."""
    return quote(str(text), safe="/", errors="replace")


def _breakable(text: str) -> Markup:
    """A long name that may wrap after its underscores."""
    return Markup("_<wbr>").join(escape(part) for part in text.split("_"))
