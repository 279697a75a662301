"""A run as one file for other programs: JSON lines, CSV, Parquet or SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

from answerkey.errors import InputError, MissingPackage, StorageError
from answerkey.files import json_line, replace_file
from answerkey.reports.csv import ResultsCsv
from answerkey.reports.result_columns import ResultColumns
from answerkey.runs.manifest import stored_manifest
from answerkey.runs.outcome_table import outcome_schema, outcome_table
from answerkey.runs.records import result_line
from answerkey.runs.run_reader import NumberedOutcome
from answerkey.runs.score import in_chunks
from answerkey.runs.store import open_reader, read_manifest

_AT_ONCE = 2_048  # cases in memory, and in a row group of Parquet


class ExportFormat(StrEnum):
    """The kinds of files; the value is the ending of the name."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    SQLITE = "sqlite"


def export_run(folder: Path, kind: ExportFormat, path: Path) -> int:
    """Write the cases of a run to a new file, and return their number."""
    # Refuses a folder that is no run before anything is written.
    read_manifest(folder)
    # An export never overwrites a file of the user's.
    if path.exists():
        raise InputError(f"{path}: exists already; choose another name with --out")
    reader = open_reader(folder)
    if kind == ExportFormat.SQLITE:
        reader.copy_to(path)
        return len(reader)
    outcomes = reader.numbered_outcomes(stopped=True)
    if kind == ExportFormat.PARQUET:
        return _write_parquet(folder, path, outcomes)
    count = 0
    with replace_file(path) as file:
        columns = ResultColumns.of_manifest(stored_manifest(folder))
        if kind == ExportFormat.CSV:
            table = ResultsCsv(file, columns)
        else:
            table = None
        for _, outcome in outcomes:
            count += 1
            if table:
                table.add(outcome)
            else:
                file.write(json_line(result_line(outcome)).decode() + "\n")
    return count


def _write_parquet(folder: Path, path: Path, outcomes: Iterator[NumberedOutcome]) -> int:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingPackage("pyarrow", "parquet") from None
    metrics = stored_manifest(folder).metrics
    # Written aside and renamed, so that no reader sees half a file.
    aside = path.with_name(f".{path.name}.part")
    count = 0
    try:
        # An open file: pyarrow takes a path such as "http:/x" for an address.
        with aside.open("wb") as file:
            schema = outcome_schema(metrics)
            writer: Any = parquet.ParquetWriter(file, schema, compression="zstd")
            with writer:
                for chunk in in_chunks(outcomes, _AT_ONCE):
                    writer.write_table(outcome_table(metrics, chunk))
                    count += len(chunk)
        aside.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            aside.unlink()
    return count
