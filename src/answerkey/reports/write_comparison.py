"""A comparison's files: comparison.txt, .md, .html, .json and the plots, in one folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from answerkey.compare.comparison import Comparison, comparison_json
from answerkey.errors import StorageError
from answerkey.reports.charts.compare import case_chart, metric_chart
from answerkey.reports.charts.style import data_address, png, svg
from answerkey.reports.comparison import SHOWN_CASES, comparison_markdown, comparison_page, comparison_text


def write_comparison(comparison: Comparison, folder: Path, cases: int = SHOWN_CASES) -> list[Path]:
    """Write them all and return their paths."""
    drawn = pictures(comparison)
    data = comparison_json(comparison, cases)
    files: dict[str, str | bytes] = {
        "comparison.txt": comparison_text(comparison, cases),
        "comparison.md": comparison_markdown(comparison, cases),
        "comparison.json": json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n",
        "comparison.html": page(comparison, drawn, cases),
        **{f"plots/{name}.png": png(picture) for name, picture in drawn.items()},
    }
    try:
        (folder / "plots").mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            plain = content.encode("utf-8", "replace") if isinstance(content, str) else content
            (folder / name).write_bytes(plain)
    except OSError as error:
        problem = error.strerror or error
        raise StorageError(
            f"{folder}: cannot be written: {problem}; choose another place with --out"
        ) from None
    return [folder / name for name in files]


def pictures(comparison: Comparison) -> dict[str, str]:
    """The charts as SVG, by name; those with nothing to show are left out."""
    charts = {"compare_cases": case_chart(comparison), "compare_metrics": metric_chart(comparison)}
    return {name: svg(spec) for name, spec in charts.items() if spec is not None}


def page(comparison: Comparison, drawn: Mapping[str, str], cases: int = SHOWN_CASES) -> str:
    """The page with its pictures inside."""
    titles = {"compare_cases": "Case by case", "compare_metrics": "Metric by metric"}
    inside = [(titles[name], data_address(picture)) for name, picture in drawn.items()]
    return comparison_page(comparison, inside, cases)
