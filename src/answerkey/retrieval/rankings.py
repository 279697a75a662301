"""Recorded rankings and relevance labels from files: TREC, BEIR, CSV, JSON; ids are stripped text, compared whole."""

from __future__ import annotations

import ast
import csv
import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from answerkey.errors import InputError, did_you_mean
from answerkey.retrieval import trec

T = TypeVar("T")
Rankings = dict[str, list[str]]
Labels = dict[str, dict[str, float]]


def read_rankings(path: Path) -> Rankings:
    """For each query its ids, best first; repeats stay. Scores are turned into an order by the TREC rule."""
    return _read(path, _ranking, "retrieved", trec.read_run)


def read_labels(path: Path) -> Labels:
    """For each query the grade of each labelled id; a plain list of ids gives each the grade 1."""
    return _read(path, _grades, "relevant", trec.read_qrels)


def clean_id(value: object) -> str:
    """An id or page as text: `34`, `34.0` and `" 34"` are the page "34"."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, float) or not math.isfinite(value):
        raise ValueError(f"expected an id, got {_shown(value)}")
    return str(int(value)) if value.is_integer() else str(value)


def _read(
    path: Path, parse: Callable[[object], T], column: str, read_trec: Callable[[Path], dict[str, T]]
) -> dict[str, T]:
    ending = path.suffix.lower()
    if ending == ".json":
        return _from_pairs(path, _json_pairs(path), parse)
    if ending == ".csv":
        return _from_pairs(path, _csv_pairs(path, column), _in_column(column, parse))
    return read_trec(path)


def _in_column(column: str, parse: Callable[[object], T]) -> Callable[[object], T]:
    def parse_cell(cell: object) -> T:
        try:
            return parse(_cell(cell))
        except ValueError as error:
            raise ValueError(f'column "{column}": {error}') from None

    return parse_cell


def _from_pairs(
    path: Path, pairs: Iterable[tuple[str, object, object]], parse: Callable[[object], T]
) -> dict[str, T]:
    found: dict[str, T] = {}
    for where, query, value in pairs:
        try:
            name = clean_id(query)
            parsed = parse(value)
        except ValueError as error:
            raise InputError(f"{path}, {where}: {error}") from None
        if name in found:
            raise InputError(f'{path}, {where}: the query "{name}" comes twice; give each query once')
        found[name] = parsed
    if not found:
        raise InputError(f"{path} holds no query")
    return found


def _json_pairs(path: Path) -> Iterable[tuple[str, object, object]]:
    try:
        whole = json.loads(trec.read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}: not JSON ({error.msg})") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; brackets within brackets
        raise InputError(f"{path}: cannot be read as JSON ({error})") from None
    if not isinstance(whole, dict):
        raise InputError(f"{path}: expected an object {{query: [id, …]}}, got a {type(whole).__name__}")
    return ((f'query "{query}"', query, value) for query, value in whole.items())  # pyright: ignore


def _csv_pairs(path: Path, column: str) -> Iterable[tuple[str, object, object]]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(trec.read_text(path).splitlines(keepends=True))
    header = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = header
    for wanted in ("query_id", column):
        if wanted not in header:
            raise InputError(
                f'{path}: no column "{wanted}" among {", ".join(header) or "none"}{did_you_mean(wanted, header)}'
            )
    for row in reader:
        yield f"row {reader.line_num}", row["query_id"], row[column]


def _cell(text: object) -> object:
    """A list in a cell: JSON or a Python literal; a bare word or number is a list of one; empty is an empty list."""
    stripped = str(text or "").strip()
    if not stripped:
        return []
    if stripped[0] not in "[({":
        if "," in stripped or ";" in stripped:
            raise ValueError(f'expected a list such as ["34", "35"], got {stripped!r}')
        return [stripped]
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(stripped)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(f"expected a list, got {stripped[:60]!r}") from None


def _ranking(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return trec.in_order((clean_id(key), _number(score, "score")) for key, score in value.items())
    return [clean_id(item) for item in _items(value)]


def _grades(value: object) -> dict[str, float]:
    if isinstance(value, Mapping):
        return {clean_id(key): _number(grade, "grade") for key, grade in value.items()}
    if isinstance(value, set):  # of labels the order says nothing
        return dict.fromkeys(sorted(clean_id(item) for item in value), 1.0)  # pyright: ignore[reportUnknownVariableType]
    return dict.fromkeys((clean_id(item) for item in _items(value)), 1.0)


def _items(value: object) -> Iterable[Any]:
    if isinstance(value, (list, tuple)):
        return value  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, set):
        raise ValueError('a set such as {"34", "35"} has no order; write a list, ["34", "35"], best first')
    raise ValueError(f"expected a list of ids or an object {{id: number}}, got {_shown(value)}")


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"expected a number as {what}, got {_shown(value)}")
    return trec.as_number(value, what)


def _shown(value: object) -> str:
    """As it was written, cut; a set by its kind, as its order is another in each process."""
    return "a set" if isinstance(value, (set, frozenset)) else repr(value)[:60]
