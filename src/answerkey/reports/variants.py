"""Variants of the questions in report.txt, report.md, report.html, and on the page of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from answerkey.percentages import format_percent
from answerkey.robustness.record import KindRecord, VariantsRecord
from answerkey.robustness.text import TITLE, format_variant_gate, left_out_lines, list_ids
from answerkey.text import short_label

COLUMNS = (
    "kind",
    "pairs",
    "originals pass",
    "variants pass",
    "drop (95 %)",
    "p",
    "agreement of the answers",
    "same passages",
    "newly failing",
)
_SHOWN = 8
_NONE = "–"


def variant_rows(record: VariantsRecord | None) -> list[list[str]]:
    """A row of cells per kind of variant, in the order of `COLUMNS`; none without variants."""
    if record is None:
        return []
    return [_row(kind, figures) for kind, figures in record.kinds.items()]


def variant_notes(record: VariantsRecord | None) -> list[str]:
    """The gates on variants, and what was left out."""
    if record is None:
        return []
    return [*map(format_variant_gate, record.gates), *left_out_lines(record)]


def variants_markdown(
    record: VariantsRecord | None, escape: Callable[[object], str]
) -> Sequence[str]:
    """The lines of a section of report.md; none without variants."""
    rows = variant_rows(record)
    if not rows:
        return ()
    lines = ["", f"**{TITLE}**", "", f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(map(escape, row))} |" for row in rows]
    notes = variant_notes(record)
    if notes:
        lines += ["", *(f"- {escape(note)}" for note in notes)]
    return lines


def _row(kind: str, figures: KindRecord) -> list[str]:
    ids = [short_label(each, 40) for each in figures.newly_failing]
    return [
        short_label(kind),
        f"{figures.pairs:,}",
        _share(figures.pass_rate_original),
        _share(figures.pass_rate_variant),
        _drop(figures),
        _number(figures.p),
        _number(figures.consistency.mean),
        _number(figures.retrieval_overlap.mean),
        list_ids(ids, _SHOWN),
    ]


def _share(value: float | None) -> str:
    return _NONE if value is None else format_percent(value)


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2g}"


def _drop(figures: KindRecord) -> str:
    if figures.drop is None:
        return _NONE
    text = f"{100 * figures.drop:.0f} points"
    if figures.drop_ci95 is None:
        return text
    low, high = figures.drop_ci95
    return f"{text} ({100 * low:.0f} to {100 * high:.0f})"
