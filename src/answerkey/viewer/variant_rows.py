"""The figures of variants of the questions, as the page of a run shows them."""

from __future__ import annotations

import json
from pathlib import Path

from answerkey.coerce.values import is_list, is_mapping, is_number, table_of
from answerkey.percentages import format_percent
from answerkey.text import short_label

_FILE = "variants.json"
_LARGEST = 5_000_000
_SHOWN = 8

VariantRow = dict[str, str]


def read_variant_rows(folder: Path) -> list[VariantRow]:
    """A row per kind of variant; none where the run has no variants or the file cannot be read."""
    path = folder / _FILE
    try:
        if path.stat().st_size > _LARGEST:
            return []
        kinds = table_of(json.loads(path.read_text(encoding="utf-8"))).get("kinds")
    except (OSError, ValueError, RecursionError):
        return []
    return [_row(str(kind), table_of(figures)) for kind, figures in table_of(kinds).items()]


def _row(kind: str, figures: object) -> VariantRow:
    table = table_of(figures)
    failing = table.get("newly_failing")
    if is_list(failing):
        ids = [short_label(str(each), 40) for each in failing]
    else:
        ids = []
    shown = ", ".join(ids[:_SHOWN])
    if len(ids) > _SHOWN:
        shown += f" and {len(ids) - _SHOWN} more"
    return {
        "kind": short_label(kind),
        "pairs": _count(table.get("pairs")),
        "before": _share(table.get("pass_rate_original")),
        "after": _share(table.get("pass_rate_variant")),
        "drop": _drop(table.get("drop"), table.get("drop_ci95")),
        "p": _number(table.get("p")),
        "consistency": _number(_mean(table.get("consistency"))),
        "overlap": _number(_mean(table.get("retrieval_overlap"))),
        "failing": shown,
    }


def _mean(value: object) -> object:
    if is_mapping(value):
        return value.get("mean")
    return None


def _count(value: object) -> str:
    return f"{value:,.0f}" if is_number(value) else "–"


def _share(value: object) -> str:
    if is_number(value):
        return format_percent(value)
    return "–"


def _number(value: object) -> str:
    return f"{value:.2g}" if is_number(value) else "–"


def _drop(value: object, ends: object) -> str:
    if not is_number(value):
        return "–"
    text = f"{100 * value:.0f} points"
    if is_list(ends) and len(ends) == 2 and is_number(ends[0]) and is_number(ends[1]):
        text += f" ({100 * ends[0]:.0f} to {100 * ends[1]:.0f})"
    return text
