"""HTML pages that need no other file, and the templates that reports and viewer share.

Charts are drawn in the browser by the vendored Vega, which a page holds compressed. Every script
and style of a page is named by its hash in the page's policy, so that no other can run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemBytecodeCache,
    PackageLoader,
    StrictUndefined,
)
from markupsafe import Markup

from answerkey import __version__
from answerkey.cache import cache_folder
from answerkey.reports.chart_style import Spec, chart_config
from answerkey.reports.filters import FILTERS
from answerkey.text import printable

CHART_LOOKS = {"light": chart_config(), "dark": chart_config(dark=True)}
VEGA = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")


@cache
def template_environment(*packages: str) -> Environment:
    """The templates of these packages, then those of the reports.

    Every value is escaped, made inert, and must exist. A template is compiled when it is first
    used, and kept in the cache folder for the next process.
    """
    kept = cache_folder() / "templates"
    # A folder that can't be made only costs the compiled templates.
    with suppress(OSError):
        kept.mkdir(parents=True, exist_ok=True)
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in (*packages, "answerkey.reports")]),
        bytecode_cache=FileSystemBytecodeCache(str(kept)) if kept.is_dir() else None,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_make_inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.filters["spec"] = _spec_text
    return environment


def _make_inert(value: Any) -> Any:
    """Applied to every expression of a template; our own markup stays as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value


def _spec_text(chart: Spec) -> str:
    """A chart's spec as JSON in plain ASCII, for an attribute."""
    # NaN is no JSON: the browser would refuse the whole chart.
    return json.dumps(chart, allow_nan=False, separators=(",", ":"))


def render_page(template: str, charts: Mapping[str, Spec], **values: Any) -> str:
    """The template with style, scripts, and the policy that allows only these."""
    style = _read_asset("page.css") + _read_asset("report.css")
    script = _read_asset("charts.js") + _read_asset("report.js")
    script_hashes = [_policy_hash(script)]
    vega = ""
    if charts:
        vega, vega_hash = packed_vega()
        script_hashes.append(vega_hash)
    # The hashes are the only scripts and styles that the page's policy allows: text of a bot that
    # escapes its quotes still cannot run.
    page = template_environment().get_template(template)
    return page.render(
        **values,
        charts=charts,
        chart_looks=CHART_LOOKS,
        style=Markup(style),
        style_hash=_policy_hash(style),
        script=Markup(script),
        script_hashes=script_hashes,
        vega=Markup(vega),
        version=__version__,
    )


@cache
def packed_vega() -> tuple[str, str]:
    """The scripts that draw charts, compressed for a page, and their hash."""
    vega = "\n".join(_read_asset(f"vendor/{name}") for name in VEGA)
    return base64.b64encode(zlib.compress(vega.encode(), 4)).decode(), _policy_hash(vega)


def _read_asset(name: str) -> str:
    return resources.files("answerkey.reports").joinpath("static", name).read_text(encoding="utf-8")


def _policy_hash(text: str) -> str:
    """The name of an inline style or script in a Content-Security-Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
