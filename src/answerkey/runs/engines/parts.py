"""Results as Parquet: one file per chunk, with the columns of results.jsonl, every outcome in full, and its tally.

A part is written to a temporary name and renamed, so it is complete or absent: the parts are the checkpoint.
"""

# pyarrow ships no types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

import io
import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from answerkey.errors import StorageError
from answerkey.files import json_line, read_json, write_file
from answerkey.runs.journal_index import LightCase
from answerkey.runs.records import StoredOutcome, judged_json, result_line, to_json
from answerkey.types import Json, Outcome, Status

if TYPE_CHECKING:
    import pyarrow

PARTS = "parts"
FORMAT = 1
_KEY = b"answerkey"
_TEXTS = (
    "id",
    "question",
    "expected_answer",
    "answer",
    "route",
    "expected_route",
    "type",
    "source_file",
    "error",
)
_VERDICT_TEXTS = ("status", "band", "justification", "why", "kind", "cause")
_VERDICT_NUMBERS = ("score", "quality", "route_score")
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
    import pyarrow
    import pyarrow.parquet as parquet

    lines, whole, schema = (
        [result_line(outcome) for _, outcome in outcomes],
        list[str](),
        _schema(names),
    )
    for line, (_, outcome) in zip(lines, outcomes, strict=True):
        if isinstance(
            expected := line["expected_answer"], list
        ):  # a column has one type: several are a JSON list
            line["expected_answer"] = json.dumps(expected, ensure_ascii=False)
        record = {
            "case": to_json(outcome.case),
            "response": to_json(outcome.response),
            **judged_json(outcome),
        }
        whole.append(json_line(record).decode())
    columns: dict[str, list[Any]] = {name: [line[name] for line in lines] for name in lines[0]}
    columns |= {"n": [n for n, _ in outcomes], "outcome": whole}
    try:
        table = pyarrow.table(columns, schema)
    except UnicodeEncodeError:  # half a surrogate pair: replaced in the columns, kept in `outcome`
        table = pyarrow.table(_storable(columns), schema)
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


@cache
def _schema(names: tuple[str, ...]) -> pyarrow.Schema:
    """The columns of results.jsonl between the position and the whole outcome as JSON."""
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    score = pa.struct({"value": number, "reason": text, "error": text})
    verdict = {
        **dict.fromkeys(_VERDICT_TEXTS, text),
        **dict.fromkeys(_VERDICT_NUMBERS, number),
        "passed": pa.bool_(),
    }
    return pa.schema(
        {
            "n": pa.int64(),
            **dict.fromkeys(_TEXTS, text),
            "sources": pa.list_(text),
            "contexts": pa.list_(text),
            "question_num": pa.int64(),
            "response_time": number,
            "scores": pa.struct(dict.fromkeys(names, score)),
            "verdict": pa.struct(verdict),
            "outcome": text,
        }
    )


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {name: _storable(item) for name, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list) else value


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


def outcomes_in(path: Path, wanted: frozenset[int] | None = None) -> Iterator[NumberedOutcome]:
    """The outcomes of one part with their positions, all or some."""
    import pyarrow.parquet as parquet

    with _readable(path):
        table = parquet.ParquetFile(path).read(columns=["n", "outcome"])
        for n, text in zip(
            table.column("n").to_pylist(), table.column("outcome").to_pylist(), strict=True
        ):
            if wanted is None or n in wanted:
                stored = msgspec.convert(read_json(text), StoredOutcome)
                yield n, stored.outcome(stored.case, stored.response)


class PartsIndex:
    """Finds outcomes in the parts of a run, as `JournalIndex` does in journals. Every outcome in a part is scored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __len__(self) -> int:
        """How many cases the parts have."""
        return sum(_foot(path)[0] for path in list_parts(self.folder))

    def light(self) -> Iterator[LightCase]:
        """Every case, in case order."""
        return (LightCase.of(outcome, n, n) for n, outcome in self.numbered())

    def outcomes(self, *, unscored: bool = False) -> Iterator[Outcome]:
        return (outcome for _, outcome in self.numbered())

    def numbered(
        self, *, unscored: bool = False, stopped: bool = False
    ) -> Iterator[NumberedOutcome]:
        for path in list_parts(self.folder):
            yield from outcomes_in(path)

    def at(self, positions: Iterable[int]) -> Iterator[Outcome]:
        """In the order given; all of them are kept in memory, so ask for few."""
        import pyarrow.parquet as parquet

        asked = list(positions)
        wanted, found = frozenset(asked), dict[int, Outcome]()
        for path in list_parts(self.folder):
            with _readable(
                path
            ):  # the smallest and largest position of each part say which may contain them
                foot = parquet.read_metadata(path)
                spans = [
                    foot.row_group(group).column(0).statistics
                    for group in range(foot.num_row_groups)
                ]
            if any(
                span is None or any(span.min <= n <= span.max for n in wanted) for span in spans
            ):
                found.update(outcomes_in(path, wanted))
        return (found[n] for n in asked if n in found)
