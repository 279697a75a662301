"""Results as Parquet: one file a chunk, with the columns of results.jsonl, every outcome in full, and a sketch to merge.

A part is written beside its place and renamed, so it is there whole or not at all: the parts are the checkpoint.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answerkey.errors import StorageError
from answerkey.runs.records import from_json, result_line, scores_from_json, scores_to_json, to_json
from answerkey.runs.summary import Summary
from answerkey.types import Case, Json, Outcome, Profile, Response, Verdict

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
_VERDICT_TEXTS = ("status", "band", "justification")
_VERDICT_NUMBERS = ("score", "quality", "route_score")
Numbered = tuple[int, Outcome]


@dataclass(frozen=True, slots=True)
class StoredPart:
    """What the foot of a part says: which chunk of which shard it is, how many outcomes it has, how many of them errors."""

    path: Path
    shard: int
    chunk: int
    rows: int
    errors: int


def part_path(folder: Path, shard: int, chunk: int) -> Path:
    return folder / PARTS / f"shard-{shard:05d}-chunk-{chunk:05d}.parquet"


def write_part(
    path: Path, place: tuple[int, int], names: tuple[str, ...], outcomes: Sequence[Numbered], sketch: Json
) -> None:
    """All outcomes of the chunk at `place` (shard, chunk), in order; `names` are the metrics of the run."""
    import pyarrow.parquet as parquet

    about = {"format": FORMAT, "shard": place[0], "chunk": place[1], "sketch": sketch}
    table = _table(outcomes, names).replace_schema_metadata({_KEY: json.dumps(about, allow_nan=False)})
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            parquet.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StorageError(
            f"{path}: cannot be written: {error.strerror or error}; nothing written before is lost: "
            "make room or allow writing, then go on with --resume"
        ) from None


def _table(outcomes: Sequence[Numbered], names: tuple[str, ...]) -> pyarrow.Table:
    import pyarrow

    lines = [result_line(outcome) for _, outcome in outcomes]
    for line in lines:
        line["expected_answer"] = _one_text(line["expected_answer"])
    columns: dict[str, list[Any]] = {name: [line[name] for line in lines] for name in lines[0]}
    columns |= {"n": [n for n, _ in outcomes], "outcome": [_encoded(outcome) for _, outcome in outcomes]}
    schema = _schema(names)
    try:
        return pyarrow.table(columns, schema)
    except (
        UnicodeEncodeError
    ):  # half of a surrogate pair: the columns show it replaced, `outcome` has it as it was
        return pyarrow.table(_storable(columns), schema)


@cache
def _schema(names: tuple[str, ...]) -> pyarrow.Schema:
    """That of results.jsonl, with the position before it and the whole outcome as JSON behind."""
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


def _one_text(expected: str | list[str] | None) -> str | None:
    """A column has one type: several expected answers are a JSON list."""
    return json.dumps(expected, ensure_ascii=False) if isinstance(expected, list) else expected


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {name: _storable(item) for name, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list) else value


def _encoded(outcome: Outcome) -> str:
    record = {
        "case": to_json(outcome.case),
        "response": to_json(outcome.response),
        "scores": scores_to_json(outcome.scores),
        "verdict": to_json(outcome.verdict),
    }
    return json.dumps(record, allow_nan=False, separators=(",", ":"), default=str)


def _decoded(record: Json) -> Outcome:
    return Outcome(
        case=from_json(Case, record["case"]),
        response=from_json(Response, record["response"]),
        scores=scores_from_json(record["scores"]),
        verdict=from_json(Verdict, record["verdict"]),
    )


def list_parts(folder: Path) -> list[Path]:
    """The files of all parts, in case order."""
    return sorted((folder / PARTS).glob("shard-*.parquet"))


def read_part(path: Path) -> StoredPart:
    """What a part is; its rows are not read, and the sketch is not held: a long run has many parts."""
    rows, about = _foot(path)
    errors = about["sketch"]["all"]["statuses"].get("ERROR", 0)
    return StoredPart(path, about["shard"], about["chunk"], rows, errors)


def _foot(path: Path) -> tuple[int, Json]:
    """The number of rows, and what was written about them with their sketch."""
    import pyarrow
    import pyarrow.parquet as parquet

    try:
        foot = parquet.read_metadata(path)
        about: Json = json.loads((foot.metadata or {})[_KEY])
    except (pyarrow.ArrowException, OSError, KeyError, ValueError) as error:
        raise StorageError(
            f"{path}: damaged ({str(error).splitlines()[0]}); remove it, then go on with --resume"
        ) from None
    if about.get("format") != FORMAT:
        raise StorageError(
            f"{path}: format {about.get('format')!r}, this version reads {FORMAT}; use the version that wrote it"
        )
    return foot.num_rows, about


def merged(folder: Path, profile: Profile | None) -> Summary:
    """The summary of all parts, from their sketches alone: no row is read."""
    summary = Summary(profile)
    for path in list_parts(folder):
        summary.merge(Summary.from_json(_foot(path)[1]["sketch"]))
    return summary


def records_in(path: Path, wanted: frozenset[int] | None = None) -> Iterator[tuple[int, Json]]:
    """What was stored of each outcome of one part, with its position; of all, or of those wanted."""
    import pyarrow.parquet as parquet

    table = parquet.ParquetFile(path).read(columns=["n", "outcome"])
    for n, text in zip(table.column("n").to_pylist(), table.column("outcome").to_pylist(), strict=True):
        if wanted is None or n in wanted:
            yield n, json.loads(text)


def outcomes_in(path: Path, wanted: frozenset[int] | None = None) -> Iterator[Numbered]:
    return ((n, _decoded(record)) for n, record in records_in(path, wanted))


def worst_positions(folder: Path, most: int) -> list[int]:
    """The failed cases, worst first: an error before the lowest score. Only three columns are read."""
    import duckdb

    found = duckdb.execute(
        """SELECT n FROM read_parquet(?) WHERE NOT verdict.passed AND verdict.status <> 'SCORED'
        ORDER BY coalesce(verdict.score, -1), n LIMIT ?""",
        [[str(path) for path in list_parts(folder)], most],
    )
    return [n for (n,) in found.fetchall()]


class PartsIndex:
    """Finds outcomes in the parts of a run, as `JournalIndex` does in its journals. Every outcome there is scored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def outcomes(self, *, unscored: bool = False) -> Iterator[Outcome]:
        return (outcome for _, outcome in self.numbered())

    def numbered(self, *, unscored: bool = False) -> Iterator[Numbered]:
        for path in list_parts(self.folder):
            yield from outcomes_in(path)

    def at(self, positions: Iterable[int]) -> Iterator[Outcome]:
        """In the order asked for; they are all held, so ask for few."""
        asked = list(positions)
        wanted = frozenset(asked)
        found: dict[int, Outcome] = {}
        for path in _holding(list_parts(self.folder), wanted):
            found.update(outcomes_in(path, wanted))
        return (found[n] for n in asked)


def _holding(paths: Iterable[Path], wanted: frozenset[int]) -> Iterator[Path]:
    """The parts that may hold these positions, by the least and greatest of each."""
    import pyarrow.parquet as parquet

    for path in paths:
        foot = parquet.read_metadata(path)
        spans = [foot.row_group(group).column(0).statistics for group in range(foot.num_row_groups)]
        if any(span is None or any(span.min <= n <= span.max for n in wanted) for span in spans):
            yield path
