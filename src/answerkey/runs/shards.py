"""A run in shards: ranges of its cases that other processes run at the same time.

A shard is an ordinary run in a folder of its own, with its cases beside it. It is resumed where its
process is lost. The run takes over the rows of its shards in the order of the cases, so that its
own database never depends on how it was divided.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import msgspec

from answerkey.files import json_line, read_as, write_file
from answerkey.runs.ask import Numbered
from answerkey.runs.control import GroupCounts, Stop
from answerkey.runs.manifest import Manifest, write_manifest
from answerkey.runs.records import to_json
from answerkey.runs.repair import prepare_resume
from answerkey.runs.state import Progress, RunState
from answerkey.runs.store import FolderStore, is_run, lock_run
from answerkey.types import Case

SHARDS = "shards"
CASES = "cases.jsonl"
STOP = "stop"
# Cases of a shard, at most. It is what a progress bar moves by, and creating a shard's database
# takes about as long as scoring 20 cases.
_LARGEST = 4_096
_LARGEST_LIVE = 64
# Shards per process, at least: with fewer, all but one would wait for the last shard.
_PER_PROCESS = 4
# Shards that are written before a process is free for them.
_AHEAD = 1
_MOST_LOSSES = 3  # of processes, without a new outcome of the shard in between


class _ShardCase(msgspec.Struct):
    """A line of the cases of a shard: a case with its place in the run."""

    place: int
    case: Case


@dataclass(frozen=True, slots=True)
class ShardEnd:
    """How a shard ended: the counts of its outcomes, their cost, and a reason to stop the run."""

    counts: GroupCounts
    cost: float = 0.0
    stop: str = ""


class ShardPool(Protocol):
    """Runs shards in other processes, `count` of them at the same time.

    `close` ends those that run; their shards can be resumed.
    """

    count: int

    def start(self, shard: Path) -> None: ...

    def wait(self) -> list[tuple[Path, ShardEnd | None]]:
        """The shards that have ended; None where the process was lost before the end.

        Empty after a moment without news.
        """
        ...

    def close(self) -> None: ...


@dataclass(slots=True)
class _StartedShard:
    folder: Path
    end: ShardEnd | None = None
    losses: int = 0
    stored: int = 0  # outcomes at the last loss


@dataclass(frozen=True, slots=True)
class ShardedRun:
    """A run that is divided: its settings, where its shards are, and what happens when one ends."""

    manifest: Manifest
    home: Path
    stop: Stop
    merge: Callable[[Path], None]
    report: Callable[[ShardEnd], None]
    note: Callable[[str], None]

    def execute(self, pool: ShardPool, parts: Iterable[list[Numbered]]) -> None:
        """Run each part of the cases as a shard; merge them in order."""
        shards = (self._write(number, part) for number, part in enumerate(parts))
        started: deque[_StartedShard] = deque()
        try:
            # Both sides are needed: after a stop nothing starts, but started shards still end.
            while self._start_some(pool, shards, started) or started:
                for folder, end in pool.wait():
                    shard = next(each for each in started if each.folder == folder)
                    if end is None:
                        self._start_again(pool, shard)
                        continue
                    shard.end = end
                    self.report(end)
                # In the order of the cases, as a shard may end before the one in front of it.
                while started and started[0].end is not None:
                    self._take_over(started.popleft().folder)
        finally:
            # Processes that still run see the file and stop.
            (self.home / STOP).touch()

    def _write(self, number: int, part: list[Numbered]) -> Path:
        # Padded, so that names sort in the order of the cases.
        folder = self.home / f"{number:06d}"
        folder.mkdir()
        lines = [json_line({"place": place, "case": _whole_case(case)}) for place, case in part]
        write_file(folder / CASES, b"\n".join(lines))
        # Last: a folder with run.json is a complete shard.
        count = len({place // self.manifest.repeats.times for place, _ in part})
        manifest = replace(self.manifest, count=count).as_begun()
        write_manifest(folder, manifest)
        return folder

    def _start_some(
        self, pool: ShardPool, shards: Iterator[Path], started: deque[_StartedShard]
    ) -> bool:
        """Start shards while there are processes for them; whether any was started."""
        if self.stop:
            (self.home / STOP).touch()
            return False
        any_started = False
        while sum(shard.end is None for shard in started) < pool.count + _AHEAD:
            folder = next(shards, None)
            if folder is None:
                break
            started.append(_StartedShard(folder))
            pool.start(folder)
            any_started = True
        return any_started

    def _start_again(self, pool: ShardPool, shard: _StartedShard) -> None:
        """Continue a shard whose process was lost; stop the run where that does not help."""
        stored = _repair_shard(shard.folder).count(Progress.FINISHED)
        # A shard that moves forward between two losses is not what kills its process.
        shard.losses = 1 if stored > shard.stored else shard.losses + 1
        shard.stored = stored
        if shard.losses >= _MOST_LOSSES:
            first = next(read_shard(shard.folder))[1].id
            self.stop.set(
                f"{shard.losses} processes ended unexpectedly in the shard that begins with the "
                f"case {first}; check the memory of this machine, then continue with --resume"
            )
        if self.stop:
            shard.end = ShardEnd(GroupCounts())
            return
        self.note(f"a process was lost; another one continues its shard after {stored} cases")
        pool.start(shard.folder)

    def _take_over(self, shard: Path) -> None:
        self.merge(shard)
        # Only after the merge is durable, so that a kill between the two loses nothing.
        shutil.rmtree(shard)


def cut(
    cases: Iterable[Numbered], size: int, times: int, *, live: bool
) -> Iterator[list[Numbered]]:
    """Cases in parts of `size`. The repeats of a case stay together, and the turns of a live chat."""
    part: list[Numbered] = []
    for place, case in cases:
        if len(part) >= size and not _belongs_to_last(part[-1], (place, case), times, live):
            yield part
            part = []
        part.append((place, case))
    if part:
        yield part


def _belongs_to_last(last: Numbered, following: Numbered, times: int, live: bool) -> bool:
    if last[0] // times == following[0] // times:
        return True
    conversation = following[1].extra.get("conversation")
    return live and conversation is not None and conversation == last[1].extra.get("conversation")


def shard_size(answers: int, processes: int, batch: int, *, live: bool) -> int:
    """How many answers a shard has.

    Recorded answers are scored in the same batches as without shards: a model may give other last
    digits in another batch.
    """
    share = -(-answers // (processes * _PER_PROCESS))
    if live:
        return max(1, min(share, _LARGEST_LIVE))
    batches = max(1, min(-(-share // batch), _LARGEST // batch))
    return batches * batch


def _whole_case(case: Case) -> dict[str, object]:
    """A case as JSON, with its recorded answer, which `to_json` leaves out."""
    line = to_json(case)
    if case.recorded is not None:
        line["recorded"] = to_json(case.recorded)
    return line


def read_shard(shard: Path) -> Iterator[Numbered]:
    """The cases of a shard with their places."""
    with (shard / CASES).open("rb") as lines:
        for line in lines:
            stored = read_as(line, _ShardCase)
            yield stored.place, stored.case


def _repair_shard(shard: Path) -> RunState:
    """The state of a shard; a database that is damaged, or was not created to its end, is repaired."""
    return prepare_resume(shard, (place for place, _ in read_shard(shard)))


@contextmanager
def shards_folder(folder: Path | None) -> Generator[Path]:
    """Where the shards of a run are; without a folder in a temporary one.

    After an error they stay in the folder of the run, for its resume.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="answerkey-") as temporary:
            yield Path(temporary)
        return
    home = folder / SHARDS
    home.mkdir(exist_ok=True)
    yield home
    shutil.rmtree(home)


def take_over_shards(folder: Path, manifest: Manifest) -> None:
    """Merge the shards that a killed run left behind, and remove them."""
    home = folder / SHARDS
    if not home.is_dir():
        return
    with closing(FolderStore(folder, manifest)) as store:
        for shard in sorted(path for path in home.iterdir() if is_run(path)):
            # The processes of a killed run end within a moment.
            with lock_run(shard, patience=10.0):
                _repair_shard(shard)
                store.merge(shard)
    shutil.rmtree(home)
