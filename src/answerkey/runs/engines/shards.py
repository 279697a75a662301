"""Cases divided into shards, so that several workers can read one file: Parquet by rows, JSON lines by bytes, others whole.

A case has the position that it has when everything is read in order, so a sharded and a local run agree. `begin` says
which shards are left: at first all of them, later those that the parts on disk do not cover.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from answerkey.cases.check import check_cases
from answerkey.cases.loader import case_files, read_file, relative_name
from answerkey.cases.logs import is_read_whole
from answerkey.cases.shapes import cases_of_rows
from answerkey.cases.traces.reader import holds_spans
from answerkey.coerce.decode import encoding_of
from answerkey.coerce.json_rows import rows_of_lines
from answerkey.coerce.parquet_rows import parquet_rows
from answerkey.errors import SettingsError
from answerkey.runs.control import Selection
from answerkey.runs.engines.merge import merge_parts, remove_merged
from answerkey.runs.engines.parts import StoredPart, list_parts, read_part
from answerkey.runs.manifest import IN_PROGRESS, Manifest, Sharding, write_manifest
from answerkey.runs.prepare import Prepared
from answerkey.runs.records import changed_parts, digest_of
from answerkey.runs.resume import AlreadyFinished, belongs_to, check_repeats, new_manifest
from answerkey.runs.store import read_manifest, sealed
from answerkey.runs.suite import Suite
from answerkey.targets.resolve import kind_of
from answerkey.types import Case


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of one file, from `start` to `stop`: bytes of JSON lines, rows of Parquet; a whole file has no bounds.
    `lines` and `rows` of the file and `first` cases of the suite come before it. Of its cases `count` are selected, all
    of them at positions below `end`."""

    number: int
    path: Path
    name: str
    kind: Literal["lines", "rows", "file"]
    start: int = 0
    stop: int = 0
    encoding: str = "utf-8"
    lines: int = 0
    rows: int = 0
    first: int = 0
    count: int = 0
    end: int = 0


def cut(patterns: Sequence[str], folder: Path, size: int) -> list[Shard]:
    """The shards of a suite's case files, in order; the positions of their cases are not known yet."""
    pieces = [
        piece for path in case_files(patterns, folder) for piece in _pieces(path, folder, size)
    ]
    return [replace(piece, number=number) for number, piece in enumerate(pieces)]


def _pieces(path: Path, folder: Path, size: int) -> Iterator[Shard]:
    whole = Shard(0, path, relative_name(path, folder), "file")
    ending = path.suffix.lower()
    # The spans of a trace may stand anywhere in its file.
    if (
        path.is_dir()
        or path.stat().st_size == 0
        or holds_spans(path, whole.name)
        or is_read_whole(path, whole.name)
    ):
        yield whole
    elif ending == ".parquet":
        import pyarrow
        import pyarrow.parquet as parquet

        try:
            rows = cast("int", parquet.ParquetFile(path).metadata.num_rows)
        except (pyarrow.ArrowException, OSError):
            rows = 1  # the error comes when it is read as a shard
        for start in range(0, rows, size):
            yield replace(whole, kind="rows", start=start, stop=min(start + size, rows))
    elif ending in {".jsonl", ".ndjson"} and (encoding := encoding_of(path)) != "utf-16":
        for lines, start, stop in _line_bounds(path, size):
            # A byte-order mark can only stand at the beginning.
            if start == 0:
                known = encoding
            else:
                known = encoding.removesuffix("-sig")
            yield replace(whole, kind="lines", start=start, stop=stop, encoding=known, lines=lines)
    else:
        yield whole


def _line_bounds(path: Path, size: int) -> Iterator[tuple[int, int, int]]:
    """Lines before, first byte and end of each run of `size` lines."""
    start = end = before = 0
    number = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            end += len(line)
            if number % size == 0:
                yield before, start, end
                before = number
                start = end
    if end > start:
        yield before, start, end


def read_shard(shard: Shard) -> Iterator[Case]:
    """The cases of a shard, all of them, unchecked."""
    if shard.kind == "rows":
        rows = parquet_rows(shard.path, shard.name, shard.start, shard.stop)
        return cases_of_rows(rows, shard.path, shard.rows)
    if shard.kind == "lines":
        return cases_of_rows(rows_of_lines(_lines(shard), shard.name), shard.path, shard.rows)
    return read_file(shard.path, shard.name)


def _lines(shard: Shard) -> Iterator[tuple[int, str]]:
    with shard.path.open("rb") as file:
        file.seek(shard.start)
        left = shard.stop - shard.start
        number = shard.lines
        while left > 0 and (raw := file.readline()):
            left -= len(raw)
            number += 1
            if line := raw.decode(shard.encoding, "replace").strip():
                yield number, line


def selected_of(shard: Shard, selection: Selection) -> Iterator[tuple[int, Case]]:
    """The selected cases of a shard with their positions."""
    for n, case in enumerate(read_shard(shard), start=shard.first):
        if n >= shard.end:
            return
        if selection.wants(case):
            yield n, case


class Sharded:
    """The selected cases of all shards, checked as a whole; `shards` has their positions once all were read."""

    def __init__(self, shards: Sequence[Shard], selection: Selection, where: str) -> None:
        self._cut = shards
        self._selection = selection
        self._where = where
        self.shards: list[Shard] = []

    def __call__(self) -> Iterator[tuple[int, Case]]:
        self.shards = []
        wanted = 0
        for n, case in enumerate(check_cases(self._in_order(), self._where)):
            if not self._selection.wants(case):
                continue
            wanted += 1
            last = self.shards[-1]
            self.shards[-1] = replace(last, count=last.count + 1, end=n + 1)
            yield n, case
            if wanted == self._selection.limit:
                break
        self.shards = [shard for shard in self.shards if shard.count]

    def _in_order(self) -> Iterator[Case]:
        path = None
        rows = 0
        first = 0
        for shard in self._cut:
            rows = rows if shard.path == path else 0
            path = shard.path
            placed = replace(shard, rows=rows, first=first)
            self.shards.append(placed)
            for case in read_shard(placed):
                rows += 1
                first += 1
                yield case

    def digest(self) -> str:
        """Changes whenever a case would be looked for in another place."""
        return digest_of(
            [(s.number, s.name, s.kind, s.start, s.stop, s.first, s.count) for s in self.shards]
        )


# A shard is a multiple of what is scored at once, so that batches are those of a local run. A chunk is what a killed
# worker repeats at most: live questions cost more than recorded ones.
SHARD = 16_384
RECORDED_CHUNK = 2_048
LIVE_CHUNK = 64


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many cases a shard has, and a chunk of it; fixed for the whole run."""

    shard: int
    chunk: int


def sizes_of(suite: Suite, resumed: Path | None) -> Sizes:
    if resumed:
        stored = read_manifest(resumed).shards
    else:
        stored = None
    if stored:
        return Sizes(stored.size, stored.chunk)
    return Sizes(SHARD, RECORDED_CHUNK if kind_of(suite.target) == "recorded" else LIVE_CHUNK)


@dataclass(frozen=True, slots=True)
class Todo:
    """A shard with its chunks that are written (`done`), and those of them with errors to try again (`again`)."""

    shard: Shard
    done: frozenset[int] = frozenset()
    again: frozenset[int] = frozenset()
    left: int = 0
    deaths: int = 0

    def after_a_death(self, parts: Iterable[StoredPart]) -> Todo:
        """The same shard for another worker; the limit on deaths is per chunk, not per shard."""
        known = list(parts)
        done = frozenset(part.chunk for part in known)
        again = self.again & {part.chunk for part in known if part.errors}
        moved = len(done) > len(self.done) or len(again) < len(self.again)
        return replace(self, done=done, again=again, deaths=1 if moved else self.deaths + 1)


def parts_of(folder: Path, shard: int | None = None) -> list[StoredPart]:
    """All parts of a run, or those of one shard."""
    return [read_part(path) for path in list_parts(folder, shard)]


def begin(
    folder: Path, prepared: Prepared, source: Sharded, sizes: Sizes, *, new: bool
) -> tuple[Manifest, list[Todo]]:
    """run.json and the shards to do, of a `new` run or of one that is resumed."""
    if new:
        shards = Sharding(sizes.shard, sizes.chunk, source.digest())
        manifest = replace(new_manifest(prepared, folder), engine="ray", shards=shards)
        return manifest, [Todo(shard, left=shard.count) for shard in source.shards]
    manifest = read_manifest(folder)
    _check_same(folder, manifest, prepared, source)
    written = parts_of(folder)
    todo = list[Todo]()
    for shard in source.shards:
        mine = [part for part in written if part.shard == shard.number]
        if left := shard.count - sum(part.rows - part.errors for part in mine):
            again = frozenset(part.chunk for part in mine if part.errors)
            todo.append(Todo(shard, frozenset(part.chunk for part in mine), again, left))
    if not todo:  # the run may have been killed before it wrote this
        merge_parts(folder, manifest)
        write_manifest(folder, sealed(folder, replace(manifest, partial="")))
        raise AlreadyFinished(folder, prepared.count)
    remove_merged(folder)
    return replace(manifest, partial=IN_PROGRESS), todo


def _check_same(folder: Path, manifest: Manifest, prepared: Prepared, source: Sharded) -> None:
    if manifest.engine != "ray" or manifest.shards is None:
        raise SettingsError(
            f"{folder}: this run was started without --engine ray; resume it without --engine ray"
        )
    if not belongs_to(manifest, folder, prepared.suite):
        raise SettingsError(
            f"{folder}: a run of another suite, {manifest.suite}; start a new run without --resume"
        )
    check_repeats(folder, manifest, prepared)
    different = changed_parts(manifest.fingerprint, prepared.fingerprint)
    if not different and manifest.shards.digest != source.digest():
        different = ["order of the cases"]
    if different:
        raise SettingsError(
            f"{folder}: the {', '.join(different)} changed since this run began; start a new run, "
            f"or score its answers again with `answerkey rescore {folder}`"
        )
