"""A comparison's files: comparison.txt, .md, .html, .json and the plots, in one folder."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from answerkey.compare.comparison import Comparison
from answerkey.compare.export import comparison_json
from answerkey.errors import StorageError
from answerkey.reports.charts.compare import case_chart, metric_chart
from answerkey.reports.comparison import SHOWN_CASES, comparison_markdown, comparison_page, comparison_text


def write_comparison(comparison: Comparison, folder: Path, cases: int = SHOWN_CASES) -> list[Path]:
    """Write them all and return their paths."""
    data = comparison_json(comparison, cases)
    charts = {"compare_cases": case_chart(comparison), "compare_metrics": metric_chart(comparison)}
    pictures = {name: spec for name, spec in charts.items() if spec is not None}
    files: dict[str, str | bytes] = {
        "comparison.txt": comparison_text(comparison, cases),
        "comparison.md": comparison_markdown(comparison, cases),
        "comparison.json": json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n",
        "comparison.html": page(comparison, cases),
        **{f"plots/{name}.png": png(spec) for name, spec in pictures.items()},
    }
    try:
        (folder / "plots").mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            data_bytes = content.encode("utf-8", "replace") if isinstance(content, str) else content
            (folder / name).write_bytes(data_bytes)
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be written: {error.strerror or error}; choose another place with --out"
        ) from None
    return [folder / name for name in files]


def page(comparison: Comparison, cases: int = SHOWN_CASES) -> str:
    """The page with its pictures inside."""
    charts = {
        "Each case that moved": case_chart(comparison),
        "Each metric": metric_chart(comparison),
    }
    pictures = [(title, _inside(spec)) for title, spec in charts.items() if spec is not None]
    return comparison_page(comparison, pictures, cases)


def png(spec: dict[str, Any]) -> bytes:
    import vl_convert

    return vl_convert.vegalite_to_png(spec, scale=2)


def _inside(spec: dict[str, Any]) -> str:
    """As an image, where no script can run, whatever a case is called."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg(spec)
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
