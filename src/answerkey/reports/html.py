"""report.html and the plots: one page that needs nothing beside it, and the same charts as PNG."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources
from pathlib import Path

from markupsafe import Markup

from answerkey import __version__
from answerkey.errors import StorageError
from answerkey.files import write_file
from answerkey.reports.charts.run import run_charts
from answerkey.reports.charts.style import Spec, dark_twin, data_address, png, svg
from answerkey.reports.explain import explain
from answerkey.reports.pages import directions, environment, satisfying
from answerkey.reports.rows import Rows, read_outcome, read_rows, worst_first
from answerkey.runs.store import open_run
from answerkey.types import Json, Profile

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
