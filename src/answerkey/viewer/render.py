"""Every page from one plain value: as HTML for people, and with `?format=json` as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec
from jinja2 import Template
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from answerkey.files import json_line
from answerkey.reports.page import CHART_LOOKS, VEGA, template_environment
from answerkey.text import printable

PageData = Mapping[str, object]


def respond(
    request: Request, template: str, data: PageData, status: int = 200, **looks: object
) -> Response:
    """`data` has the values of the page, and is its JSON; only the template needs `looks`."""
    if wants_json(request):
        content = json_line(msgspec.to_builtins(data, enc_hook=str))
        return Response(content, status, media_type="application/json")
    other = [(k, v) for k, v in request.query_params.multi_items() if k != "format"]
    json_address = f"?{urlencode([*other, ('format', 'json')], errors='replace')}"
    html = page_template(template).render(
        **data, **looks, json_address=json_address, chart_looks=CHART_LOOKS, vega_scripts=VEGA
    )
    return HTMLResponse(html, status)


def page_template(name: str) -> Template:
    return template_environment("answerkey.viewer").get_template(name)


def load_templates() -> None:
    """Compile all templates, or read them compiled from the cache folder."""
    environment = template_environment("answerkey.viewer")
    for name in environment.list_templates(extensions=["html"]):
        environment.get_template(name)


def wants_json(request: Request) -> bool:
    return request.query_params.get("format") == "json"


def respond_problem(request: Request, message: str, status: int) -> Response:
    data = {"problem": printable(message), "status": status}
    return respond(request, "problem.html", data, status)
