"""Every page from one plain value: as HTML for people, and with `?format=json` as JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from answerkey.files import json_line
from answerkey.reports.html import CHART_LOOKS, VEGA, environment
from answerkey.text import printable

PageData = Mapping[str, object]


def respond(
    request: Request, template: str, data: PageData, status: int = 200, **looks: object
) -> Response:
    """`data` has the values of the page, and is its JSON; `looks` are values that only the template needs."""
    if wants_json(request):
        return Response(
            json_line(msgspec.to_builtins(data, enc_hook=str)),
            status,
            media_type="application/json",
        )
    kept = [(k, v) for k, v in request.query_params.multi_items() if k != "format"]
    address = f"?{urlencode([*kept, ('format', 'json')], errors='replace')}"
    page = environment().get_template(template)
    html = page.render(
        **data, **looks, json_address=address, chart_looks=CHART_LOOKS, vega_scripts=VEGA
    )
    return HTMLResponse(html, status)


def wants_json(request: Request) -> bool:
    return request.query_params.get("format") == "json"


def problem(request: Request, message: str, status: int) -> Response:
    return respond(
        request, "problem.html", {"problem": printable(message), "status": status}, status
    )
