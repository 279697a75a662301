"""Tables from files: the reader for each ending of a file.

Cases, FAQs, labels and rankings are all read with these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from answerkey.coerce.csv_rows import csv_rows
from answerkey.coerce.json_rows import json_rows, jsonl_rows
from answerkey.coerce.parquet_rows import parquet_rows
from answerkey.coerce.rows import Row
from answerkey.errors import InputError

RowReader = Callable[[Path, str], Iterator[Row]]
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
    ending = path.suffix.lower()
    if ending not in ROW_READERS or ending not in endings:
        kind = path.suffix or "nameless"
        raise InputError(f"{name}: found a {kind} file, expected {', '.join(endings)}")
    return ROW_READERS[ending](path, name)
