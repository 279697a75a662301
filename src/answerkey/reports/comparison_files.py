"""Writes comparison.txt, .md, .json and .html."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from answerkey.comparison.comparison import CaseChange, Comparison
from answerkey.comparison.record import comparison_json
from answerkey.errors import StorageError
from answerkey.files import json_text, remove_strays, write_file
from answerkey.reports.comparison import (
    SHOWN_CASES,
    case_lists,
    comparison_markdown,
    comparison_text,
    comparison_values,
    flip_lists,
)
from answerkey.reports.comparison_charts import comparison_charts
from answerkey.reports.plots import can_draw, write_plots
from answerkey.reports.word_marks import word_diff
from answerkey.runs.case_list import CaseFilter, list_positions
from answerkey.runs.store import is_run, open_reader
from answerkey.text import excerpt


def write_comparison(comparison: Comparison, folder: Path, cases: int = SHOWN_CASES) -> list[Path]:
    """Write the comparison, and plots/*.png if the extra `charts` is installed; returns the paths."""
    files = {
        "comparison.txt": comparison_text(comparison, cases),
        "comparison.md": comparison_markdown(comparison, cases),
        "comparison.json": json_text(comparison_json(comparison, cases)),
        "comparison.html": comparison_page(comparison, cases),
    }
    plots: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Temporary files that a killed process left behind.
        remove_strays(folder)
        for name, content in files.items():
            write_file(folder / name, content)
        if can_draw():
            plots = write_plots(folder / "plots", comparison_charts(comparison))
    except (OSError, StorageError) as error:
        raise StorageError(f"{error}; choose another folder with --out") from None
    return [*(folder / name for name in files), *plots]


def comparison_page(comparison: Comparison, cases: int = SHOWN_CASES) -> str:
    """comparison.html; at most `cases` of the improved and of the degraded cases are listed."""
    from answerkey.reports.page import render_page  # the templates take a moment to load

    lists = flip_lists(comparison)
    # Then the cases whose score moved without another verdict.
    lists += [(f"{title}, same verdict", moves) for title, moves in case_lists(comparison)]
    shown = [
        (title, len(moves), _with_answers(comparison, moves[:cases])) for title, moves in lists
    ]
    values = comparison_values(comparison)
    return render_page("comparison.html", c=comparison, **values, lists=shown)


def _with_answers(comparison: Comparison, moves: Sequence[CaseChange]) -> list[Sequence[object]]:
    """Each case with the beginnings of both answers, marked where they differ."""
    run_a = Path(comparison.name_a)
    run_b = Path(comparison.name_b)
    return [
        (move, *word_diff(_answer_of(run_a, move.id), _answer_of(run_b, move.id))) for move in moves
    ]


def _answer_of(run: Path, case: str) -> str:
    """The beginning of the answer; empty for a run that is gone."""
    # The other run may have been moved or deleted since.
    if not is_run(run):
        return ""
    reader = open_reader(run)
    positions = list_positions(reader, CaseFilter(ids=(case,), sort="order"), 1)
    for outcome in reader.at(positions):
        response = outcome.response
        return excerpt(response.answer or response.error or "")
    return ""
