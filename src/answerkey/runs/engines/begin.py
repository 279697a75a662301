"""Which shards are left: at the beginning all, later what the parts on disk do not cover."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from answerkey.errors import SettingsError
from answerkey.runs.engines.parts import PARTS, Part, list_parts, read_part
from answerkey.runs.engines.shards import Shard, Sharded
from answerkey.runs.fingerprint import changed
from answerkey.runs.folder import read_manifest
from answerkey.runs.prepare import Prepared, manifest_of
from answerkey.runs.resume import AlreadyFinished
from answerkey.runs.suite import Suite
from answerkey.targets.resolve import kind_of
from answerkey.types import Json

# A shard is a multiple of what is scored at once, so that batches are those of a local run. A chunk is what a killed
# worker repeats at most: live questions cost more than recorded ones.
SHARD, RECORDED_CHUNK, LIVE_CHUNK = 16_384, 2_048, 64


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many cases a shard holds, and a chunk of it: a run keeps them to its end."""

    shard: int
    chunk: int


def sizes_of(suite: Suite, resumed: Path | None) -> Sizes:
    stored = read_manifest(resumed).get("shards") if resumed else None
    if stored:
        return Sizes(stored["size"], stored["chunk"])
    return Sizes(SHARD, RECORDED_CHUNK if kind_of(suite.target) == "recorded" else LIVE_CHUNK)


@dataclass(frozen=True, slots=True)
class Todo:
    """A shard with the chunks of it that are written, and those of them that hold errors to be tried again."""

    shard: Shard
    done: frozenset[int] = frozenset()
    again: frozenset[int] = frozenset()
    left: int = 0
    deaths: int = 0

    def after_a_death(self, parts: Iterable[Part]) -> Todo:
        """The same shard for another worker; a death counts against the chunk, not against the shard."""
        known = list(parts)
        done = frozenset(part.chunk for part in known)
        again = self.again & {part.chunk for part in known if part.errors}
        moved = len(done) > len(self.done) or len(again) < len(self.again)
        return replace(self, done=done, again=again, deaths=1 if moved else self.deaths + 1)


def parts_of(folder: Path, shard: int | None = None) -> list[Part]:
    """All parts of a run, or those of one shard."""
    if shard is None:
        return [read_part(path) for path in list_parts(folder)]
    return [read_part(path) for path in sorted((folder / PARTS).glob(f"shard-{shard:05d}-*.parquet"))]


def begin(
    folder: Path, prepared: Prepared, source: Sharded, sizes: Sizes, created: str | None
) -> tuple[Json, list[Todo]]:
    """run.json and what is to be done, of a run that begins (`created` says when) or that goes on."""
    if created is not None:
        shards = {"size": sizes.shard, "chunk": sizes.chunk, "digest": source.digest()}
        manifest = {**manifest_of(prepared, created), "engine": "ray", "shards": shards}
        return manifest, [Todo(shard, left=shard.count) for shard in source.shards]
    manifest = read_manifest(folder)
    _check_same(folder, manifest, prepared, source)
    todo = _left(source.shards, parts_of(folder))
    if not todo:
        raise AlreadyFinished(
            f"{folder}: this run is finished, all {prepared.count} cases are done; nothing to resume"
        )
    return {**manifest, "partial": "in progress"}, todo


def _check_same(folder: Path, manifest: Json, prepared: Prepared, source: Sharded) -> None:
    if manifest.get("engine") != "ray":
        raise SettingsError(f"{folder}: this run was begun without --engine ray; go on with it the same way")
    different = changed(manifest["fingerprint"], prepared.fingerprint)
    if not different and manifest["shards"]["digest"] != source.digest():
        different = ["order of the cases"]
    if different:
        raise SettingsError(
            f"{folder}: the {', '.join(different)} changed since this run began; start a new run, "
            f"or measure its answers anew with `answerkey rescore {folder}`"
        )


def _left(shards: Iterable[Shard], parts: Iterable[Part]) -> list[Todo]:
    written: dict[int, list[Part]] = {}
    for part in parts:
        written.setdefault(part.shard, []).append(part)
    todo: list[Todo] = []
    for shard in shards:
        mine = written.get(shard.number, [])
        left = shard.count - sum(part.rows - part.errors for part in mine)
        if left:
            again = frozenset(part.chunk for part in mine if part.errors)
            todo.append(Todo(shard, frozenset(part.chunk for part in mine), again, left))
    return todo
