"""Tables from files: JSON, JSON lines, CSV and Parquet as rows with canonical column names, each with its place."""

from __future__ import annotations

import csv
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import accumulate, chain, pairwise
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from answerkey.coerce.columns import canonical_columns, is_column, notice, plain_name
from answerkey.coerce.decode import encoding_of, parse_json, read_lines, read_text
from answerkey.coerce.values import Place, is_list, is_mapping
from answerkey.errors import InputError, MissingPackage

log = logging.getLogger("answerkey.cases")

Row = tuple[dict[str, object], Place]
RowReader = Callable[[Path, str], Iterator[Row]]
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
_PARQUET_BATCH = 1024
_MOST_COLUMNS = 10_000
_MOST_BYTES = 1 << 30  # of a Parquet file when unpacked, unless it is a large file itself
_END = "\ue000end of file"
_SEPARATORS = ",;\t|"
_NULLS = frozenset(
    {"nan", "NaN", "null", "NULL", "<NA>"}
)  # as programs write a missing value; "None" may be an answer


def json_rows(path: Path, name: str) -> Iterator[Row]:
    return rows_of_value(read_json_file(path, name), name)


def read_json_file(path: Path, name: str) -> object:
    """The value of a JSON file; of JSON lines in a file of that name, a list."""
    text = read_text(path).strip()
    first, _, rest = text.partition("\n")
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
    """The rows of a parsed value: a list of objects, an object that holds one under a usual key, or `{id: row}`."""
    if is_mapping(data):
        inner = unwrap_rows(data)
        data = (
            _rows_by_column(inner) or _rows_by_id(inner) or [inner] if is_mapping(inner) else inner
        )
    if not is_list(data):
        raise InputError(f"{name}: found {type(data).__name__}, expected a list of cases")
    return rename_columns((row, Place(name, n, "item")) for n, row in enumerate(data, start=1))


def unwrap_rows(data: object) -> object:
    """What `{"results": …}`, `{"data": {"cases": …}}` and the like hold under the usual keys; anything else as it is."""
    while is_mapping(data):
        if (
            is_list(names := data.get("columns"))
            and is_list(rows := data.get("data"))
            and all(map(is_list, rows))
        ):
            return [
                dict(zip(map(str, names), row, strict=False)) for row in rows if is_list(row)
            ]  # a data frame
        plain = {plain_name(str(key)): value for key, value in data.items()}
        held = [plain[key] for key in LIST_KEYS if key in plain]
        lists = [
            value
            for value in held
            if is_list(value) and (not _is_row(data) or any(map(_is_row, value)))
        ]
        found = lists or [value for value in held if is_mapping(value) and not _is_row(data)]
        if not found:
            break
        data = found[0]
    return data


def _is_row(data: object) -> bool:
    return is_mapping(data) and "question" in canonical_columns([str(key) for key in data]).values()


def _rows_by_column(data: Mapping[str, object]) -> list[dict[str, object]]:
    """The rows of `{"question": […], "answer": […]}` and of `{"question": {"0": …}}`, as data frames are written."""
    question = next(
        (key for key, column in canonical_columns(list(data)).items() if column == "question"), None
    )
    cells = data.get(question) if question else None
    keys: Iterable[str | int] = ()
    if is_mapping(cells) and all(
        is_mapping(value) and value.keys() == cells.keys() for value in data.values()
    ):
        keys = cells if len(data) > 1 and all(key.isdecimal() for key in cells) else ()
    elif is_list(cells) and all(
        is_list(value) and len(value) == len(cells) for value in data.values()
    ):
        keys = range(len(cells)) if all(isinstance(cell, str) for cell in cells) else ()
    columns: Mapping[str, Any] = data
    return [{name: values[key] for name, values in columns.items()} for key in keys]


def _rows_by_id(data: Mapping[str, object]) -> list[dict[str, object]]:
    """The rows of `{id: {…}}`, and of `{id: expected}`; none where the keys are names of columns."""
    if any(is_column(key) for key in data):
        return []
    if all(isinstance(value, str) for value in data.values()):
        return [{"id": key, "expected": value} for key, value in data.items()]
    rows = [{"id": key, **value} for key, value in data.items() if is_mapping(value)]
    return rows if len(rows) == len(data) else []


def jsonl_rows(path: Path, name: str) -> Iterator[Row]:
    first = next(read_lines(path), (1, ""))[1]
    return json_rows(path, name) if first.startswith("[") else rows_of_lines(read_lines(path), name)


def rows_of_lines(lines: Iterable[tuple[int, str]], name: str) -> Iterator[Row]:
    return rename_columns(
        (parse_json(line, f"{name}, line {n}", in_line=True), Place(name, n)) for n, line in lines
    )


def csv_rows(path: Path, name: str) -> Iterator[Row]:
    csv.field_size_limit(1 << 30)
    with path.open(encoding=encoding_of(path), newline="") as file:
        separator, skipped = separator_of(file)
        lines: list[str] = []  # of the row that is read

        def read() -> Iterator[str]:
            for line in chain(
                file, [_END]
            ):  # a quote that is never closed swallows the last line, which is our own
                lines.append(line)
                yield line

        reader = csv.reader(read(), delimiter=separator)
        header = _unique(next(reader, [_END]))
        if header == (_END,):
            return
        columns = list(_columns(header, Place(name, 1 + skipped)).values())
        first = reader.line_num + skipped + 1
        lines.clear()
        try:
            for cells in reader:
                if cells == [_END]:
                    return
                if cells and cells[-1].endswith(_END):
                    quotes = [
                        n for n, line in enumerate(lines, first) for _ in range(line.count('"'))
                    ]
                    begins = f"{name}, line {(quotes[::2] or [first])[-1]}"  # every second quote opens a cell
                    raise InputError(
                        f"{begins}: a quoted cell begins here and does not end; close the quote"
                    )
                place = Place(name, reader.line_num + skipped)
                first = place.line + 1
                lines.clear()
                if not any(cell.strip() for cell in cells):
                    continue
                if not any(
                    cell.strip() for cell in cells[len(columns) :]
                ):  # separators at the end of a row
                    cells = cells[: len(columns)]
                if len(cells) != len(columns):
                    raise InputError(
                        f"{place}: found {len(cells)} cells, expected {len(columns)} as in the header; "
                        "quote cells that hold the separator or a line break"
                    )
                yield dict(_filled(columns, cells)), place
        except csv.Error as error:
            raise InputError(
                f"{name}, line {reader.line_num + skipped}: not valid CSV: {error}"
            ) from None


def separator_of(file: IO[str]) -> tuple[str, int]:
    """What separates the cells, and how many lines to skip: Excel may name the separator in a line `sep=;` of its own.
    Otherwise the one that the first line has most often outside quotes. The file is left where the header begins."""
    first = file.readline()
    if named := re.fullmatch(r'"?sep=(.)"?\s*', first):
        return named[1], 1
    file.seek(0)
    return max(_SEPARATORS, key=re.sub(r'"[^"]*"', "", first).count), 0


def _filled(columns: Iterable[str], cells: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """An empty cell is an absent value, except an answer: a bot may well have answered nothing; and a question needs one."""
    for column, cell in zip(columns, cells, strict=True):
        text = cell.strip()
        if column in ("answer", "question") or (text and text not in _NULLS):
            yield column, None if text in _NULLS else cell


def parquet_rows(path: Path, name: str, start: int = 0, stop: int | None = None) -> Iterator[Row]:
    """The rows from `start` up to `stop`; of the rest only what shares a row group with them is read."""
    pyarrow = import_pyarrow()
    failures: tuple[type[Exception], ...] = (
        pyarrow.ArrowException,
        OSError,
        MemoryError,
        UnicodeDecodeError,
    )
    try:
        file = pyarrow.parquet.ParquetFile(path)
        data, size = file.metadata, path.stat().st_size
        claimed = sum(data.row_group(group).total_byte_size for group in range(data.num_row_groups))
        if claimed > max(_MOST_BYTES, 1000 * size):
            raise InputError(
                f"{name}: a file of {size:,} bytes that claims {claimed / 1e9:.1f} GB is not read"
            )
        columns = _columns(tuple(file.schema_arrow.names), Place(name, 1, "row"))
        end = data.num_rows if stop is None else stop
        ends = list(
            accumulate(
                (data.row_group(group).num_rows for group in range(data.num_row_groups)), initial=0
            )
        )
        groups = [
            n for n, (first, last) in enumerate(pairwise(ends)) if first < end and last > start
        ]
        number = ends[groups[0]] if groups else 0  # rows before the first group that is read
        for batch in file.iter_batches(batch_size=_PARQUET_BATCH, row_groups=groups):
            first = max(start - number, 0)
            kept = batch.slice(first, max(min(end - number, len(batch)) - first, 0))
            for place, row in enumerate(kept.to_pylist(), start=number + first + 1):
                given: dict[str, object] = {
                    columns[k]: None if v != v else v for k, v in row.items()
                }  # NaN
                yield given, Place(name, place, "row")
            number += len(batch)
    except failures as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{name}: not a readable Parquet file: {reason}") from None


def import_pyarrow() -> ModuleType:
    """pyarrow with its `parquet` module, or an error with the command that installs it."""
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        raise MissingPackage("pyarrow", "parquet") from None
    return import_module("pyarrow")


def rename_columns(rows: Iterable[tuple[object, Place]]) -> Iterator[Row]:
    """Rows with canonical names; the mapping is computed once for each set of names."""
    for row, place in rows:
        if not is_mapping(row):
            example = '{"question": "…", "expected": "…"}'
            raise InputError(
                f"{place}: found {type(row).__name__}, expected an object such as {example}"
            )
        columns = _columns(tuple(row), place)
        yield {columns[key]: value for key, value in row.items()}, place


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """Names of which none comes twice: the second `score` is `score_2`; a column without a name has its number."""
    counts: Counter[str] = Counter()
    unique: list[str] = []
    for number, name in enumerate(names, start=1):
        counts[name] += 1
        again = name if counts[name] == 1 else f"{name}_{counts[name]}"
        unique.append(again if name.strip() else f"column_{number}")
    return tuple(unique)


_announced: dict[str, set[str]] = {}
_canonical = cache(canonical_columns)


def _columns(names: tuple[str, ...], place: Place) -> dict[str, str]:
    """The canonical names; what is carried along is announced, once per file and name."""
    if len(names) > _MOST_COLUMNS:
        raise InputError(
            f"{place}: found {len(names):,} columns, expected at most {_MOST_COLUMNS:,}"
        )
    columns = _canonical(names)
    known = _announced.setdefault(place.file, set())
    if not known.issuperset(names):
        if text := notice(
            {written: column for written, column in columns.items() if written not in known}
        ):
            log.warning("%s: %s", place.file, text)
        known.update(names)
    return columns


ROW_READERS: dict[str, RowReader] = {
    ".json": json_rows,
    ".jsonl": jsonl_rows,
    ".ndjson": jsonl_rows,
    ".csv": csv_rows,
    ".tsv": csv_rows,
    ".parquet": parquet_rows,
}


def read_table_rows(
    path: Path, name: str, endings: Sequence[str] = tuple(ROW_READERS)
) -> Iterator[Row]:
    """The rows of a file of one of these endings."""
    reader = ROW_READERS.get(path.suffix.lower())
    if reader is None or path.suffix.lower() not in endings:
        raise InputError(
            f"{name}: found a {path.suffix or 'nameless'} file, expected {', '.join(endings)}"
        )
    return reader(path, name)
