"""Data as people have it in Python, read by shape: no data frame library is imported here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

from answerkey.cases import load_cases
from answerkey.cases.loader import checked
from answerkey.cases.shapes import cases_of_rows
from answerkey.coerce.tables import renamed
from answerkey.coerce.values import Place
from answerkey.errors import InputError
from answerkey.types import Case

NAME = "data"  # of rows that come from no file, in messages and default ids


def cases_of(data: Any, limit: int | None = None) -> list[Case]:
    """The cases of rows, a data frame, a data set, a path or a glob; checked as those of a file are.

    >>> cases_of([{"question": "How long?", "expected": "30 days"}])[0].id
    'data#1'
    """
    if isinstance(data, (str, Path)):
        return list(islice(load_cases([data]), limit))
    rows = islice(_rows(data), limit)
    return list(checked(_cases(rows), NAME))


def _cases(rows: Iterator[Any]) -> Iterator[Case]:
    """Cases as they are, and everything else row by row."""
    for number, row in enumerate(rows, start=1):
        if isinstance(row, Case):
            yield row
        else:
            place = Place(NAME, number, "row")
            yield from cases_of_rows(renamed([(_plain_row(row, place), place)]), Path(NAME), number - 1)


def _plain_row(row: Any, place: Place) -> dict[str, Any]:
    if isinstance(row, Mapping):
        return {str(name): _cell(value) for name, value in cast("Mapping[Any, Any]", row).items()}
    if hasattr(row, "model_dump"):  # pydantic, as ragas samples are
        return _plain_row(row.model_dump(), place)
    if is_dataclass(row) and not isinstance(row, type):  # as deepeval test cases are
        return _plain_row(asdict(row), place)
    raise InputError(f"{place}: found {type(row).__name__}, expected a dict or a Case")


def _cell(value: Any) -> Any:
    """A cell as plain data: NaN and the missing values of pandas are None, arrays are lists."""
    if isinstance(value, (str, int, list, dict, tuple, type(None))):
        return cast("Any", value)
    if isinstance(value, float):
        return None if value != value else value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return value.tolist() if hasattr(value, "tolist") else value


def _rows(data: Any) -> Iterator[Any]:
    """The rows of anything that has them."""
    if isinstance(data, Mapping):
        return _rows_of_mapping(cast("Mapping[Any, Any]", data))
    if hasattr(data, "collect") and hasattr(data, "collect_schema"):  # a lazy frame of polars
        data = data.collect()
    if hasattr(data, "iter_rows"):  # polars
        return iter(data.iter_rows(named=True))
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas
        columns = [str(name) for name in data.columns]
        return (dict(zip(columns, row, strict=True)) for row in data.itertuples(index=False, name=None))
    if hasattr(data, "to_pylist"):  # an Arrow table
        return iter(data.to_pylist())
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):  # lists, and data sets of Hugging Face
        return iter(cast("Iterable[Any]", data))
    kind = type(data).__name__
    raise InputError(
        f"{NAME}: found {kind}, expected a list of dicts or of Case, a data frame, a data set, a path or a glob"
    )


def _rows_of_mapping(data: Mapping[Any, Any]) -> Iterator[Any]:
    """`{"question": [...], "answer": [...]}` by column, or one row; a dict of data sets needs a choice."""
    values = list(data.values())
    if values and all(hasattr(value, "column_names") for value in values):
        names = ", ".join(map(str, data))
        raise InputError(f'{NAME}: found several data sets ({names}); choose one, as in data["{next(iter(data))}"]')
    columns: dict[Any, Sequence[Any]] = {
        name: cast("Sequence[Any]", value)
        for name, value in data.items()
        if isinstance(value, (list, tuple)) or hasattr(value, "tolist")
    }
    if len(columns) < len(data) or not columns or not isinstance(data.get("question", []), (list, tuple)):
        return iter([data])
    lengths = {str(name): len(value) for name, value in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"{NAME}: columns of different lengths: {lengths}")
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
