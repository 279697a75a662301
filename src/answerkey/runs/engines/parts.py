"""Results as Parquet: one file per chunk, with the columns of results.jsonl, every outcome in full, and its tally.

A part is written to a temporary name and renamed, so it is complete or absent: the parts are the checkpoint.
"""

# pyarrow ships no types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

import io
import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from answerkey.errors import StorageError
from answerkey.files import read_json, write_file
from answerkey.runs.format1 import PARTS
from answerkey.runs.outcome_table import outcome_table
from answerkey.runs.records import StoredOutcome
from answerkey.types import Json, Outcome, Status

if TYPE_CHECKING:
    pass

FORMAT = 1
_KEY = b"answerkey"
NumberedOutcome = tuple[int, Outcome]


@dataclass(frozen=True, slots=True)
class StoredPart:
    """The footer of a part: which chunk of which shard it is, its number of outcomes, and of errors among them."""

    path: Path
    shard: int
    chunk: int
    rows: int
    errors: int


def part_path(folder: Path, shard: int, chunk: int) -> Path:
    return folder / PARTS / f"shard-{shard:05d}-chunk-{chunk:05d}.parquet"


def write_part(
    path: Path,
    place: tuple[int, int],
    names: tuple[str, ...],
    outcomes: Sequence[NumberedOutcome],
) -> None:
    """All outcomes of the chunk at `place` (shard, chunk), in order; `names` are the metrics of the run."""
    import pyarrow.parquet as parquet

    table = outcome_table(names, outcomes)
    errors = sum(outcome.verdict.status == Status.ERROR for _, outcome in outcomes)
    about = {"format": FORMAT, "shard": place[0], "chunk": place[1], "errors": errors}
    try:
        buffer = io.BytesIO()
        table = table.replace_schema_metadata({_KEY: json.dumps(about, allow_nan=False)})
        parquet.write_table(table, buffer, compression="zstd")
        write_file(path, buffer.getvalue())
    except StorageError as error:
        raise StorageError(
            f"{error}; nothing written before is lost: free some space or allow writing, then continue with --resume"
        ) from None


def list_parts(folder: Path, shard: int | None = None) -> list[Path]:
    """The files of all parts, or of those of one shard, in case order."""
    return sorted(
        (folder / PARTS).glob(
            "shard-*.parquet" if shard is None else f"shard-{shard:05d}-*.parquet"
        )
    )


def read_part(path: Path) -> StoredPart:
    """The footer of a part; neither its rows nor its tally are kept, because a long run has many parts."""
    rows, about = _foot(path)
    return StoredPart(path, about["shard"], about["chunk"], rows, about["errors"])


def _foot(path: Path) -> tuple[int, Json]:
    """The number of rows, and the metadata."""
    import pyarrow.parquet as parquet

    with _readable(path):
        foot = parquet.read_metadata(path)
        about: Json = read_json((foot.metadata or {})[_KEY])
        if about.get("format") != FORMAT:
            fix = f"this version reads {FORMAT}; use the version that wrote it"
            raise StorageError(f"{path}: format {about.get('format')!r}, {fix}")
        if "errors" not in about:  # a part of an earlier version has all its figures there
            about["errors"] = about["sketch"]["all"]["statuses"].get(Status.ERROR, 0)
        return foot.num_rows, about


@contextmanager
def _readable(path: Path) -> Generator[None]:
    """What goes wrong in a part names it."""
    import pyarrow

    try:
        yield
    except (
        pyarrow.ArrowException,
        OSError,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
    ) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise StorageError(
            f"{path}: damaged ({reason}); remove it, then continue with --resume"
        ) from None


def outcomes_in(path: Path) -> Iterator[NumberedOutcome]:
    """The outcomes of one part with their positions."""
    import pyarrow.parquet as parquet

    with _readable(path):
        table = parquet.ParquetFile(path).read(columns=["n", "outcome"])
        for n, text in zip(
            table.column("n").to_pylist(), table.column("outcome").to_pylist(), strict=True
        ):
            stored = msgspec.convert(read_json(text), StoredOutcome)
            yield n, stored.outcome(stored.case, stored.response)
