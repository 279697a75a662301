"""Rows of JSON files and JSON lines, and of the values that other readers parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from answerkey.coerce.columns import canonical_columns, is_column, plain_name
from answerkey.coerce.decode import parse_json, read_lines, read_text
from answerkey.coerce.rows import Row, rename_columns
from answerkey.coerce.values import Place, is_list, is_mapping
from answerkey.errors import InputError

# The keys under which files hold their list of rows; the first of them that is there counts.
LIST_KEYS = (
    "cases",
    "data",
    "rows",
    "examples",
    "test_cases",
    "questions",
    "results",
    "samples",
    "items",
    "records",
    "entries",
    "queries",
    "evaluations",
    "conversations",
    "qa_pairs",
)
_GROUND_TRUTH_KEYS = frozenset({"value", "expected_value", "answer", "expected"})


def json_rows(path: Path, name: str) -> Iterator[Row]:
    return rows_of_value(read_json_file(path, name), name)


def jsonl_rows(path: Path, name: str) -> Iterator[Row]:
    # A JSON array with the ending .jsonl is a usual mistake.
    _, first = next(read_lines(path), (1, ""))
    if first.startswith("["):
        return json_rows(path, name)
    return rows_of_lines(read_lines(path), name)


def rows_of_lines(lines: Iterable[tuple[int, str]], name: str) -> Iterator[Row]:
    values = ((parse_json(line, f"{name}, line {n}", in_line=True), n) for n, line in lines)
    return rename_columns((value, Place(name, n)) for value, n in values)


def read_json_file(path: Path, name: str) -> object:
    """The value of a JSON file; JSON lines in a file of that name are a list."""
    text = read_text(path).strip()
    first, _, rest = text.partition("\n")
    # Two objects on two lines: either JSON lines, or one object that begins with a nested one.
    if first.startswith("{") and rest.lstrip().startswith("{"):
        try:
            parse_json(first, name)
        except InputError:
            return parse_json(text, name)
        return [parse_json(line, f"{name}, line {n}", in_line=True) for n, line in read_lines(path)]
    return parse_json(text, name)


def is_table(data: Mapping[str, object]) -> bool:
    """Whether an object holds a list of rows under a usual key."""
    lists = (data.get(key) for key in LIST_KEYS)
    return any(isinstance(rows, list) and (not rows or isinstance(rows[0], dict)) for rows in lists)


def rows_of_value(data: object, name: str) -> Iterator[Row]:
    """The rows of a parsed value: a list of objects, an object that holds one, or `{id: row}`."""
    rows = _list_rows(data)
    if not is_list(rows):
        raise InputError(f"{name}: found {type(rows).__name__}, expected a list of cases")
    return rename_columns((row, Place(name, n, "item")) for n, row in enumerate(rows, start=1))


def _list_rows(data: object) -> object:
    if not is_mapping(data):
        return data
    inner = unwrap_rows(data)
    if not is_mapping(inner):
        return inner
    return _rows_by_column(inner) or _rows_by_id(inner) or [inner]


def unwrap_rows(data: object) -> object:
    """The inner value of `{"results": …}`, `{"data": {"cases": …}}` and the like, or the data."""
    while is_mapping(data):
        if _is_split_frame(data):
            return _rows_of_split_frame(data)
        tables = _inner_tables(data)
        if not tables:
            return data
        data = tables[0]
    return data


def _inner_tables(data: Mapping[str, object]) -> list[object]:
    """The values under the usual keys that may be the table; lists first."""
    by_name = {plain_name(str(key)): value for key, value in data.items()}
    values = [by_name[key] for key in LIST_KEYS if key in by_name]
    data_is_row = _is_row(data)
    lists = [
        value
        for value in values
        # A row may hold a list under such a key ("results") without being a table.
        if is_list(value) and (not data_is_row or any(_is_row(item) for item in value))
    ]
    if lists or data_is_row:
        return list[object](lists)
    return [value for value in values if is_mapping(value)]


def _is_split_frame(data: Mapping[str, object]) -> bool:
    """Whether this is a data frame as `to_json(orient="split")` writes it."""
    rows = data.get("data")
    return is_list(data.get("columns")) and is_list(rows) and all(map(is_list, rows))


def _rows_of_split_frame(data: Mapping[str, Any]) -> list[dict[str, object]]:
    names = [str(name) for name in data["columns"]]
    return [dict(zip(names, row, strict=False)) for row in data["data"]]


def _is_row(data: object) -> bool:
    return is_mapping(data) and "question" in canonical_columns([str(key) for key in data]).values()


def _rows_by_column(data: Mapping[str, object]) -> list[dict[str, object]]:
    """The rows of `{"question": […], "answer": […]}` and of `{"question": {"0": …}}`, as data
    frames are written."""
    columns = canonical_columns(list(data))
    question = next((key for key, column in columns.items() if column == "question"), None)
    if question is None:
        return []
    keys = _row_keys(data, data[question])
    frame: Mapping[str, Any] = data
    return [{name: values[key] for name, values in frame.items()} for key in keys]


def _row_keys(data: Mapping[str, object], cells: object) -> Iterable[str | int]:
    """The key of each row in every column; empty if the columns are not those of one table."""
    if is_mapping(cells):
        is_frame = all(
            is_mapping(value) and value.keys() == cells.keys() for value in data.values()
        )
        # `{"0": …, "1": …}` is how pandas writes columns; other keys are ids of cases.
        if is_frame and len(data) > 1 and all(key.isdecimal() for key in cells):
            return cells
    elif is_list(cells):
        is_frame = all(is_list(value) and len(value) == len(cells) for value in data.values())
        if is_frame and all(isinstance(cell, str) for cell in cells):
            return range(len(cells))
    return ()


def _rows_by_id(data: Mapping[str, object]) -> list[dict[str, object]]:
    """The rows of `{id: {…}}` and of `{id: expected}`; none where the keys are names of columns."""
    if any(is_column(key) for key in data):
        return []
    if all(isinstance(value, str) for value in data.values()):
        return [{"id": key, "expected": value} for key, value in data.items()]
    rows = [{"id": key, **_truth_row(value)} for key, value in data.items() if is_mapping(value)]
    return rows if len(rows) == len(data) else []


def _truth_row(value: Mapping[str, object]) -> Mapping[str, object]:
    """Ground truth `{"value": 30}` as an expected answer, and as a number to come near to."""
    # Only a bare `value` is ground truth; beside another answer it is a column like any other.
    if "value" not in value or not _GROUND_TRUTH_KEYS.isdisjoint(value.keys() - {"value"}):
        return value
    if any(canonical == "expected" for canonical in canonical_columns(list(value)).values()):
        return value
    rest = {key: item for key, item in value.items() if key != "value"}
    truth = value["value"]
    row: dict[str, object] = {"expected": truth, **rest}
    # True is an int in Python, but no number to come near to.
    if isinstance(truth, (int, float)) and not isinstance(truth, bool):
        row.setdefault("answer_criteria", {"expected_value": truth})
    return row
