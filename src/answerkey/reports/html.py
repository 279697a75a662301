"""report.html and the plots."""

from __future__ import annotations

from pathlib import Path

from answerkey.types import Json


def write_page(folder: Path, figures: Json) -> None:
    """Filled in by the report page."""
