"""Data as people have it, read by shape: lists, data frames, data sets, files.

No data frame library is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

from answerkey.cases import read_cases
from answerkey.cases.check import check_cases
from answerkey.cases.shapes import cases_of_rows
from answerkey.coerce.rows import Row, rename_columns
from answerkey.coerce.values import Place, is_list, is_mapping
from answerkey.errors import InputError
from answerkey.types import Case

NAME = "data"  # of rows that come from no file, in messages and default ids


def cases_of(data: object, limit: int | None = None) -> list[Case]:
    """The cases of rows, a data frame, a data set, a path or a glob; checked as those of a file are.

    >>> cases_of([{"question": "How long?", "expected": "30 days"}])[0].id
    'data#1'
    """
    if isinstance(data, (str, Path)):
        return list(islice(read_cases([data]), limit))
    return list(check_cases(_cases(islice(_rows(data), limit)), NAME))


def _cases(rows: Iterator[object]) -> Iterator[Case]:
    """The cases of all rows in one go: the messages of a session may be many rows."""
    first = next(rows, None)
    if first is None:
        return iter(())
    if isinstance(first, Case):
        return _only_cases(chain([first], rows))
    named_rows = rename_columns(_placed_rows(chain([first], rows)))
    return cases_of_rows(_fill_answers(named_rows), Path(NAME))


def _fill_answers(rows: Iterable[Row]) -> Iterator[Row]:
    """A missing answer is an empty one, as an empty cell of a CSV file is.

    `df.to_dict("records")` has NaN or None there, and must give what `df` itself gives.
    """
    for row, place in rows:
        if "answer" in row and row["answer"] is None:
            row["answer"] = ""
        yield row, place


def _only_cases(rows: Iterable[object]) -> Iterator[Case]:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Case):
            kind = type(row).__name__
            raise InputError(f"{NAME}, row {number}: found {kind}, expected a Case, as before")
        yield row


def _placed_rows(rows: Iterable[object]) -> Iterator[tuple[object, Place]]:
    for number, row in enumerate(rows, start=1):
        place = Place(NAME, number, "row")
        yield _plain_row(row, place), place


def _plain_row(row: object, place: Place) -> dict[str, object]:
    if is_mapping(row):
        return {str(name): _cell(value) for name, value in row.items()}
    if dump := getattr(row, "model_dump", None):  # pydantic, as ragas samples are
        return _plain_row(dump(), place)
    if is_dataclass(row) and not isinstance(row, type):  # as deepeval test cases are
        return _plain_row(asdict(row), place)
    raise InputError(f"{place}: found {type(row).__name__}, expected a dict or a Case")


def _cell(value: object) -> object:
    """A cell as plain data: NaN and the missing values of pandas are None, arrays are lists."""
    if value is None or isinstance(value, str):
        return value
    # By name: pandas is not imported for data that does not use it.
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    as_list = getattr(value, "tolist", None)
    if as_list:
        value = as_list()
    is_nan = isinstance(value, float) and value != value
    return None if is_nan else value


def _rows(data: Any) -> Iterator[object]:
    if is_list(data):
        return iter(data)
    if is_mapping(data):
        return _rows_of_mapping(data)
    if hasattr(data, "collect") and hasattr(data, "collect_schema"):  # a lazy frame of polars
        data = data.collect()
    if hasattr(data, "iter_rows"):  # polars
        return iter(data.iter_rows(named=True))
    if is_pandas(data):
        columns = [str(name) for name in data.columns]
        rows = data.itertuples(index=False, name=None)
        return (dict(zip(columns, row, strict=True)) for row in rows)
    if hasattr(data, "to_pylist"):  # an Arrow table
        return iter(data.to_pylist())
    # Other iterables, and data sets of Hugging Face.
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):
        return iter(cast("Iterable[object]", data))
    kind = type(data).__name__
    expected = "a list of dicts or of Case, a data frame, a data set, a path or a glob"
    raise InputError(f"{NAME}: found {kind}, expected {expected}")


def is_pandas(data: object) -> bool:
    """Whether the data are a pandas DataFrame."""
    return hasattr(data, "itertuples")


@dataclass(frozen=True, slots=True)
class UserFrame:
    """The rows of a pandas DataFrame that were read, and the id of the case that each became."""

    rows: Any
    ids: Sequence[str]


def user_frame(data: Any, cases: Sequence[Case], limit: int | None) -> UserFrame | None:
    """The user's frame; None for other data, and where a row is not a case.

    A row with a conversation becomes several cases, and the messages of a session become fewer.
    """
    if not is_pandas(data):
        return None
    rows = data.iloc[:limit]
    if len(rows) != len(cases):
        return None
    return UserFrame(rows, [case.id for case in cases])


def _rows_of_mapping(data: Mapping[str, object]) -> Iterator[object]:
    """`{"question": [...], "answer": [...]}` by column, or one row; a dict of data sets needs a choice."""
    values = list(data.values())
    if values and all(hasattr(value, "column_names") for value in values):
        names = ", ".join(map(str, data))
        choice = f'choose one, as in data["{next(iter(data))}"]'
        raise InputError(f"{NAME}: found several data sets ({names}); {choice}")
    columns = [
        cast("Sequence[object]", value)
        for value in values
        if is_list(value) or hasattr(value, "tolist")
    ]
    # A single row may have lists as well, such as contexts; its question is a text.
    if len(columns) < len(data) or not columns or not is_list(data.get("question", [])):
        return iter([data])
    lengths = {str(name): len(value) for name, value in zip(data, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        raise InputError(f"{NAME}: columns of different lengths: {lengths}")
    return (dict(zip(data, row, strict=True)) for row in zip(*columns, strict=True))
