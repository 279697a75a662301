"""A row of a file, or the reply of a live bot, as a `Response`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from answerkey.coerce.columns import LIVE_ANSWERS, RESPONSE_COLUMNS, canonical_columns
from answerkey.coerce.labels import as_ids
from answerkey.coerce.passages import as_passages, as_sources
from answerkey.coerce.tool_calls import as_tool_calls
from answerkey.coerce.values import (
    LIVE,
    Place,
    as_amount,
    as_count,
    as_name,
    as_text,
    parse_literal,
    plain_json,
    table_of,
    valid_text,
)
from answerkey.errors import InputError
from answerkey.types import Response, ToolCall

Cells = Mapping[str, object]
CellReader = Callable[[object, str, Place], Any]

# The names of token counts inside a `usage` object.
_TOKEN_NAMES = {
    "prompt_tokens": ("prompt_tokens", "prompt", "input_tokens"),
    "completion_tokens": ("completion_tokens", "completion", "output_tokens"),
}
# Fields of `Response` that have another name than their column.
ROUTE_ONLY = "route_only"
_FIELD_NAMES = {"contexts": "passages", "response_time": "seconds"}


def response_of_row(row: Cells, place: Place) -> Response:
    """The response that a row with canonical names records.

    No answer column, a null answer and NaN are no answer. A row with a route and no answer column is
    marked, because a route can be scored without an answer; a null answer is an error.
    """
    answer = row.get("answer")
    if isinstance(answer, float) and not math.isfinite(answer):
        answer = None
    if place.live and isinstance(answer, str) and valid_text(answer) != answer:
        raise InputError("the answer is not valid text: it has half a character (a lone surrogate)")
    if answer is None:
        text = None
    else:
        text = as_text(answer, "answer", place)
    # Columns of the row win over counts inside `usage`.
    cells = {**_tokens_of(row.get("usage"), place), **row}
    response = Response(text, **read_cells(_RESPONSE_READERS, cells, place, _FIELD_NAMES))
    if "answer" not in row and response.route is not None and not place.live:
        return replace(response, extra={**response.extra, ROUTE_ONLY: True})
    return response


def _tokens_of(usage: object, place: Place) -> dict[str, object]:
    if isinstance(usage, str):
        usage = parse_literal(usage, "usage", place)
    counts = table_of(usage)
    tokens: dict[str, object] = {}
    for column, names in _TOKEN_NAMES.items():
        tokens[column] = next((counts[name] for name in names if name in counts), None)
    return tokens


def response_of_reply(reply: Mapping[str, object]) -> Response:
    """The response of a live bot's dict; fields that have no name of ours go into `extra`."""
    fields = {str(key): value for key, value in reply.items()}
    columns = canonical_columns(list(fields))
    row: dict[str, object] = {}
    rest: dict[str, object] = {}
    for name, value in fields.items():
        if columns[name] not in RESPONSE_COLUMNS:
            rest[name] = value
        elif value is not None:
            row[columns[name]] = value
    for name in LIVE_ANSWERS:
        # Objects under such a name ("result") are something else.
        if "answer" not in row and isinstance(rest.get(name), (str, int, float)):
            row["answer"] = rest.pop(name)
    return replace(response_of_row(row, LIVE), extra=plain_json(rest))


def read_cells(
    readers: Mapping[str, CellReader], row: Cells, place: Place, field_names: Mapping[str, str]
) -> dict[str, Any]:
    """The fields that a row gives a value for, each by its own reader."""
    fields: dict[str, Any] = {}
    for column, cell in row.items():
        if cell is not None and column in readers:
            fields[field_names.get(column, column)] = readers[column](cell, column, place)
    return fields


def _as_error(value: object, column: str, place: Place) -> str | None:
    if not place.live:
        return as_name(value, column, place)
    if not value:
        return None
    return valid_text(str(value)).strip() or None


def _as_calls(value: object, column: str, place: Place) -> tuple[ToolCall, ...] | None:
    """The tool calls. A field of a live bot that only has this name is not read."""
    try:
        return as_tool_calls(value, column, place)
    except InputError:
        if place.live:
            return None
        raise


_RESPONSE_READERS: Mapping[str, CellReader] = {
    "contexts": as_passages,
    "route": as_name,
    "sources": as_sources,
    "retrieved": as_ids,
    "response_time": as_amount,
    "prompt_tokens": as_count,
    "completion_tokens": as_count,
    "cost": as_amount,
    "error": _as_error,
    "tools": _as_calls,
}
