"""report.html and comparison.html: pages that need no other file, and the templates that the viewer shares.

Charts are drawn in the browser by the vendored Vega, which a page holds compressed. Every script and style of a page
is named by its hash in the page's policy, so that no other can run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from answerkey import __version__
from answerkey.cache import cache_folder
from answerkey.comparison.comparison import CaseChange, Comparison
from answerkey.files import write_file
from answerkey.metrics.judge.card import card_lines
from answerkey.profiles.decide import share_of
from answerkey.reports.chart_style import Spec, config
from answerkey.reports.comparison import (
    SHOWN_CASES,
    case_lists,
    comparison_values,
    flip_lists,
    move_status,
)
from answerkey.reports.explain import explain, word_diff
from answerkey.reports.rows import Rows, excerpt, read_outcome, read_rows, worst_first
from answerkey.reports.run_charts import run_charts
from answerkey.reports.text import figure, figure_notes
from answerkey.runs.store import is_run, profile_of
from answerkey.runs.summary import Summary
from answerkey.text import capitalised, printable, short_label
from answerkey.types import Criterion, Profile

MOST_CASES = 200
LONGEST = 4000
CHART_LOOKS = {"light": config(), "dark": config(dark=True)}
VEGA = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")
_TONES = {
    "PERFECT": "good",
    "PASSED": "good",
    "ACCEPTABLE": "fair",
    "FAILED": "bad",
    "ERROR": "failed",
    "UNSCORED": "plain",
    "SCORED": "plain",
}


def write_run_page(folder: Path, summary: Summary) -> None:
    """Write report.html with the worst cases inside."""
    rows, profile = read_rows(folder), profile_of(folder)
    worst = worst_first(rows)[:MOST_CASES]
    page = _page(
        "report.html",
        run_charts(summary, rows, profile),
        s=summary.to_json(),
        card=card_lines(summary.judge) if summary.judge else [],
        cases=[explain(read_outcome(folder, rows, n), profile, LONGEST) for n in worst],
        total=len(rows),
        reasons=Counter(reason for reason in rows.reason if reason).most_common(8),
        statuses=sorted({rows.status[n] for n in worst}),
        weighed=weighed_criteria(profile),
        facts=figure_notes(summary),
    )
    write_file(folder / "report.html", page)


def comparison_page(comparison: Comparison, cases: int = SHOWN_CASES) -> str:
    """comparison.html; at most `cases` of the improved and of the degraded cases are listed."""
    flips = flip_lists(comparison)
    listed = {flip.id for _, found in flips for flip in found}
    lists: list[tuple[str, Sequence[CaseChange]]] = [
        *flips
    ]  # then the cases that moved without another verdict
    for title, moves in case_lists(comparison):
        if others := [move for move in moves if move.id not in listed]:
            lists.append((f"{title}, same verdict", others))
    shown = [
        (title, len(moves), _with_answers(comparison, moves[:cases])) for title, moves in lists
    ]
    return _page("comparison.html", c=comparison, **comparison_values(comparison), lists=shown)


def _with_answers(comparison: Comparison, moves: Sequence[CaseChange]) -> list[Sequence[object]]:
    """Each case with the beginnings of both answers, marked where they differ; empty for a run that is gone."""
    a, b = (
        [_answer_of(Path(name), move.id) for move in moves]
        for name in (comparison.name_a, comparison.name_b)
    )
    return [(move, *word_diff(*answers)) for move, *answers in zip(moves, a, b, strict=True)]


def _answer_of(run: Path, case: str) -> str:
    rows = read_rows(run) if is_run(run) else Rows()
    if case not in rows.id:
        return ""
    response = read_outcome(run, rows, rows.id.index(case)).response
    return excerpt(response.answer or response.error or "")


@cache
def packed_vega() -> tuple[str, str]:
    """The scripts that draw charts, compressed for a page, and their hash."""
    vega = "\n".join(_asset(f"vendor/{name}") for name in VEGA)
    return base64.b64encode(zlib.compress(vega.encode(), 4)).decode(), _hash(vega)


def _page(template: str, charts: Mapping[str, Spec], **values: Any) -> str:
    """The template with style, scripts and the policy that allows only these."""
    style = _asset("page.css") + _asset("report.css")
    script = _asset("charts.js") + _asset("report.js")
    packed, allowed = packed_vega() if charts else ("", "")
    return (
        environment()
        .get_template(template)
        .render(
            **values,
            charts=charts,
            chart_looks=CHART_LOOKS,
            style=Markup(style),
            style_hash=_hash(style),
            script=Markup(script),
            script_hashes=[_hash(script), *([allowed] if charts else [])],
            vega=Markup(packed),
            version=__version__,
        )
    )


@cache
def environment() -> Environment:
    """The templates of reports and viewer: every value is escaped, made inert, and must exist.

    A template is compiled when it is first used, and kept in the cache folder for the next process.
    """
    kept = cache_folder() / "templates"
    with suppress(OSError):
        kept.mkdir(parents=True, exist_ok=True)
    made = Environment(
        loader=PackageLoader("answerkey.reports"),
        bytecode_cache=FileSystemBytecodeCache(str(kept)) if kept.is_dir() else None,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "breakable": _breakable,
        "count": count,
        "figure": figure,
        "heat": heat,
        "label": _label,
        "moment": moment,
        "move_status": move_status,
        "path": _path,
        "sentence": capitalised,
        "percent": percent,
        "seconds": seconds,
        "share_tone": share_tone,
        "spec": _spec,
        "tone": tone,
    }
    made.filters.update(filters)
    return made


def _inert(value: Any) -> Any:
    """For a template's every expression: text made inert, our own markup and other values as they are."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _label(text: Any, longest: int = 60) -> str:
    return short_label(str(text), longest)


def _spec(chart: Spec) -> str:
    """A chart's spec as JSON in plain ASCII, for an attribute."""
    return json.dumps(chart, allow_nan=False, separators=(",", ":"))


def _path(text: Any) -> str:
    """The name of a run as part of an address; its slashes stay."""
    return quote(str(text), safe="/", errors="replace")


def _breakable(text: str) -> Markup:
    """A long name that may wrap after its underscores."""
    return Markup("_<wbr>").join(escape(part) for part in text.split("_"))


def moment(created: str) -> str:
    """The time of a run: `2026-01-02 03:04 UTC`."""
    zone = " UTC" if created.endswith(("+00:00", "Z")) else ""
    return f"{created[:16].replace('T', ' ')}{zone}"


def tone(status: str) -> str:
    return _TONES.get(status, "warn")


def share_tone(share: float) -> str:
    return "good" if share >= 0.8 else "fair" if share >= 0.6 else "warn" if share >= 0.4 else "bad"


def weighed_criteria(profile: Profile | None) -> dict[str, Criterion]:
    """The metrics that the profile weighs, by name: only for these is it known which values are good."""
    if profile is None:
        return {}
    known = {criterion.metric: criterion for criterion in profile.criteria if criterion.weight}
    return {**known, "route_score": Criterion("route_score")} if profile.route_weight else known


def heat(value: float | None, criterion: Criterion | None) -> str:
    """The class of a tint from bad to good; empty for a metric that is not weighed."""
    if value is None or criterion is None:
        return ""
    return f"heat-{sum(share_of(criterion, value) >= edge for edge in (0.4, 0.6, 0.7, 0.85))}"


def percent(share: float | None) -> str:
    if share is None:
        return "-"
    return f"{share:.0%}" if abs(share * 100 - round(share * 100)) < 1e-9 else f"{share:.1%}"


def count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.3g} s"


def _asset(name: str) -> str:
    return resources.files("answerkey.reports").joinpath("static", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a Content-Security-Policy names an inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
