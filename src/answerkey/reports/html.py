"""report.html, and the template environment that the viewer shares."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from answerkey import __version__
from answerkey.errors import StorageError
from answerkey.files import write_file
from answerkey.profiles.decide import share_of
from answerkey.reports.charts.run_charts import run_charts
from answerkey.reports.charts.style import Spec, dark_twin, data_address, png, svg
from answerkey.reports.explain import explain
from answerkey.reports.inert import label, shown_value
from answerkey.reports.rows import Rows, read_outcome, read_rows, worst_first
from answerkey.reports.text import figure
from answerkey.runs.store import open_run
from answerkey.runs.summary import SATISFYING
from answerkey.types import Criterion, Json, Profile

_TONES = {
    "PERFECT": "good", "PASSED": "good", "ACCEPTABLE": "fair", "FAILED": "bad", "ERROR": "broken",
    "UNSCORED": "plain", "SCORED": "plain",
}  # fmt: skip


def environment(*packages: str) -> Environment:
    """The templates of the reports, with those of other rooms before them."""
    loader = ChoiceLoader([PackageLoader(package) for package in (*packages, "answerkey.reports")])
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "count": count, "figure": figure, "heat": heat, "label": _label, "percent": percent, "seconds": seconds,
        "share_tone": share_tone, "tone": tone,
    }  # fmt: skip
    made.filters.update(filters)
    return made


def tone(status: str) -> str:
    return _TONES.get(status, "warn")


def share_tone(share: float) -> str:
    return "good" if share >= 0.8 else "fair" if share >= 0.6 else "warn" if share >= 0.4 else "bad"


def directions(profile: Profile | None) -> dict[str, Criterion]:
    """What the profile weighs: only there is it known which values are good."""
    if profile is None:
        return {}
    known = {
        c.metric: c
        for ruler in (profile.rules, *profile.group_rules.values())
        for c in ruler.criteria
        if c.weight
    }
    return {**known, "route_score": Criterion("route_score")} if profile.route_weight else known


def satisfying(profile: Profile | None) -> str:
    """The statuses that count as satisfied, of those the profile gives: `perfect or acceptable`, `passed`."""
    rulers = (profile.rules, *profile.group_rules.values()) if profile else ()
    given = {band.status for ruler in rulers for band in ruler.bands}
    return (
        " or ".join(status.lower() for status in SATISFYING if status in given) or "no status of the profile"
    )


def heat(value: float | None, criterion: Criterion | None) -> str:
    """A tint from bad to good; none for a metric that is not weighed."""
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


def _label(text: Any, longest: int = 60) -> str:
    return label(str(text), longest)


MOST_CASES = 200
LONGEST = 4000
_SIZE = re.compile(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"')


def write_page(folder: Path, figures: Json) -> None:
    """Write report.html with the worst cases inside, and plots/*.png."""
    rows, profile = read_rows(folder), open_run(folder).profile
    charts = run_charts(figures, rows, profile)
    drawn = {name: svg(spec) for name, spec in charts.items()}
    _write_plots(folder / "plots", {name: png(picture) for name, picture in drawn.items()})
    pictures = [_picture(charts[name], picture) for name, picture in drawn.items()]
    write_file(folder / "report.html", page(folder, figures, rows, profile, pictures))


def page(folder: Path, figures: Json, rows: Rows, profile: Profile | None, pictures: list[Json]) -> str:
    """The page as text. Its own style and script are named by hash, so that no other can run."""
    style, script = _asset("page.css") + _asset("report.css"), _asset("report.js")
    worst = worst_first(rows)[:MOST_CASES]
    cases = [explain(read_outcome(folder, rows, n), profile, LONGEST) for n in worst]
    return environment().get_template("report.html").render(
        s=figures,
        cases=cases,
        total=len(rows),
        statuses=sorted({case["verdict"]["status"] for case in cases}),
        pictures=pictures,
        weighed=directions(profile),
        satisfying=satisfying(profile),
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        version=__version__,
    )  # fmt: skip


def _write_plots(folder: Path, plots: dict[str, bytes]) -> None:
    """Those of this run only: a plot that no longer has data is removed."""
    try:
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.png"):
            if old.stem not in plots:
                old.unlink()
        for name, data in plots.items():
            (folder / f"{name}.png").write_bytes(data)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from None


def _picture(spec: Spec, drawn: str) -> Json:
    title = spec["title"]
    size = _SIZE.match(drawn)
    return {
        "light": data_address(drawn),
        "dark": data_address(dark_twin(drawn)),
        "told": f"{title['text']}: {title.get('subtitle', '')}",
        "width": round(float(size[1])) if size else None,
        "height": round(float(size[2])) if size else None,
    }


def _asset(name: str) -> str:
    return resources.files("answerkey.reports").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a Content-Security-Policy names an inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
