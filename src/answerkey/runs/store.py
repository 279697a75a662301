"""A run folder: run.json, run.sqlite and a lock. Everything else in it is made from these.

`FolderStore` and `MemoryStore` have the same methods; a run writes to either.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from glob import escape
from pathlib import Path
from typing import IO

from answerkey.errors import StorageError
from answerkey.files import remove_strays
from answerkey.runs.ask import Answered
from answerkey.runs.database import (
    DATABASE,
    DamagedDatabase,
    close_written,
    is_network_folder,
    naming_file,
    open_to_read,
    open_to_write,
    temporary_database,
)
from answerkey.runs.format1 import PARTS, RESPONSES, SCORES, import_run, is_format1
from answerkey.runs.manifest import (
    MANIFEST,
    Completeness,
    Manifest,
    stored_in,
    stored_manifest,
)
from answerkey.runs.repair import copy_readable, is_damaged
from answerkey.runs.run_reader import RunReader
from answerkey.runs.run_writer import RowRules, RunWriter, Scored, mark_finished
from answerkey.runs.state import Progress, RunState
from answerkey.types import Outcome, Profile

LOCK = "run.lock"
_FILES = (MANIFEST, DATABASE, f"{DATABASE}-wal", RESPONSES, SCORES, PARTS)


class FolderStore:
    """The writing end of a run folder. Everything is on disk when the call that adds it returns.

    Answers are added by the thread that asks, outcomes by the thread that scores.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        state: RunState | None = None,
        *,
        debug: bool = False,
    ) -> None:
        self.folder = folder
        self.state = RunState() if state is None else state
        self._path = folder / DATABASE
        self._lock = threading.Lock()
        self._connection = open_to_write(folder)
        with naming_file(self._path, writing=True):
            rules = RowRules.of_manifest(manifest, debug=debug)
            self._writer = RunWriter(self._connection, rules)
            self._reader = RunReader(self._connection, rules.repeats, self._path)

    @property
    def note(self) -> str:
        """What the user should know about this folder; empty if nothing."""
        if is_network_folder(self.folder):
            return "the run folder is on a network: writing is slower there"
        return ""

    def add_answers(self, answered: Sequence[Answered]) -> None:
        with self._lock, naming_file(self._path, writing=True):
            self._writer.add_answers(answered)

    def add_scores(self, scored: Sequence[Scored], *, with_answers: bool = False) -> None:
        """Add outcomes; `with_answers` where their answers are not stored yet."""
        with self._lock, naming_file(self._path, writing=True):
            self._writer.add_scores(scored, with_answers=with_answers)
        # Only after the write: a failed one must not count as finished.
        mark_finished(self.state, scored)

    def add_outcomes(self, outcomes: Iterable[tuple[int, Outcome]]) -> None:
        """Add whole outcomes at their positions."""
        with self._lock, naming_file(self._path, writing=True):
            self._writer.add_outcomes(outcomes)

    def merge(self, shard: Path) -> None:
        """Take over everything that another run has stored, at the same places."""
        if not (shard / DATABASE).exists():
            return  # it was never begun
        with self._lock, naming_file(self._path, writing=True):
            for place in self._writer.merge(shard / DATABASE):
                self.state[place] = Progress.FINISHED

    def answers(self, places: Iterable[int] | None = None) -> Iterator[Answered]:
        return self._reader.answers(places)

    def outcomes(self) -> Iterator[Outcome]:
        return self._reader.outcomes()

    def remove(self, places: Sequence[int]) -> None:
        with self._lock, naming_file(self._path, writing=True):
            self._writer.remove(places)

    def replace_labels(self, labels: Iterable[tuple[str, float]]) -> None:
        with self._lock, naming_file(self._path, writing=True):
            self._writer.replace_labels(labels)

    def close(self) -> None:
        # A reader of this process would keep the journal beside the database.
        _open_reader.cache_clear()
        with self._lock:
            close_written(self._connection)


def new_folder(out: Path, name: str) -> Path:
    """Creates `<out>/<name>_YYYYMMDD_HHMMSS`; a second run within the same second gets a suffix."""
    stamp = datetime.now().strftime("%Y%m%d_%H%M%S")
    for attempt in range(1, 1000):
        suffix = "" if attempt == 1 else f"_{attempt}"
        folder = out / f"{name}_{stamp}{suffix}"
        try:
            # `mkdir` decides: of two runs that start at once only one gets the name.
            folder.mkdir(parents=True)
            _clean_abandoned(out, name)
            return folder
        except FileExistsError:
            continue
        except OSError as error:
            fix = "choose another folder with --out"
            raise StorageError(f"{folder}: cannot be created: {error.strerror}; {fix}") from None
    raise StorageError(f"{out}: no free name for a new run folder")


def _clean_abandoned(out: Path, name: str) -> None:
    """Remove what runs of the same name left that were killed while they wrote their first file.

    Such a folder has no run.json, so that nobody resumes it.
    """
    # A suite's name may hold signs that a glob would read as a pattern.
    for folder in out.glob(f"{escape(name)}_*"):
        if folder.is_dir() and not is_run(folder):
            remove_strays(folder)


def is_run(path: Path) -> bool:
    return (path / MANIFEST).is_file()


def read_manifest(folder: Path) -> Manifest:
    """run.json. A run that lacks something it recorded at its end is partial, and says what."""
    manifest = stored_manifest(folder)
    loss = _describe_loss(folder, file_state(folder))
    if loss:
        return manifest.with_damage(loss)
    return manifest


def file_state(folder: Path) -> str:
    """Changes whenever a file of the run does."""
    parts: list[str] = []
    for name in _FILES:
        with suppress(OSError):
            stat = (folder / name).stat()
            parts.append(f"{name} {stat.st_size} {stat.st_mtime_ns}")
    return "; ".join(parts)


# The viewer's list of runs asks this of every run, for every page.
@lru_cache(maxsize=512)
def _describe_loss(folder: Path, state: str) -> str:
    """What a run lacks, compared with what it recorded when it ended; empty if nothing."""
    manifest = stored_manifest(folder)
    # A run in progress has recorded nothing to compare with.
    if manifest.completeness is Completeness.IN_PROGRESS:
        return ""
    try:
        return _compare_with_manifest(folder, manifest)
    except DamagedDatabase as error:
        return f"{DATABASE} cannot be read: {error.reason}"


def _compare_with_manifest(folder: Path, manifest: Manifest) -> str:
    count = manifest.count
    recorded = manifest.records
    if recorded is None:  # a run of an earlier version
        if manifest.partial or count is None:
            return ""
        stored = len(open_reader(folder))
        if stored >= count:
            return ""
        return f"{stored} of {count} cases are stored"
    if not manifest.partial and count != recorded["cases"]:
        return f"run.json names {count} cases, {recorded['cases']} were recorded"
    return _compare_records(folder, recorded)


def _compare_records(folder: Path, recorded: dict[str, int]) -> str:
    records = open_reader(folder).records
    losses: list[str] = []
    for name, count in recorded.items():
        stored = records.get(name, 0)
        if stored == count:
            continue
        if name in (RESPONSES, SCORES):
            losses.append(f"{name} has {stored} of {count} records")
        else:
            losses.append(f"{DATABASE} has {stored} of {count} {name}")
    return ", ".join(losses[-2:])


def with_record_counts(folder: Path, manifest: Manifest) -> Manifest:
    """run.json of a run that ends now: with the number of its records, so that a loss is noticed."""
    return replace(manifest, records=open_reader(folder).records)


@contextmanager
def lock_run(folder: Path, *, patience: float = 0.0) -> Generator[None]:
    """Keeps other processes from writing this run; waits `patience` seconds for one that does.

    The system releases the lock when the process ends, in any way.
    """
    try:
        # Appending creates the file and never empties it, whoever holds the lock.
        file = (folder / LOCK).open("a+")
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be written: {error.strerror}; "
            "allow writing, or choose another folder with --out"
        ) from None
    with file:
        end = time.monotonic() + patience
        while not _has_lock(file):
            if time.monotonic() >= end:
                raise StorageError(
                    f"{folder}: another process is writing this run; wait for it or stop it"
                )
            time.sleep(0.05)
        # With the lock held, nobody else can be writing these files.
        remove_strays(folder)
        yield


def _has_lock(file: IO[str]) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows, where an open file is not shared for writing anyway
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def profile_of(folder: Path) -> Profile | None:
    """The profile that scored a run."""
    manifest = read_manifest(folder)
    with stored_in(folder):
        return manifest.load_profile()


def read_outcomes(path: str | Path) -> Iterator[Outcome]:
    """Every finished outcome of a run, streamed in case order."""
    folder = Path(path)
    read_manifest(folder)
    yield from open_reader(folder).outcomes()


def open_reader(folder: Path) -> RunReader:
    """Reads the outcomes of a run, however they are stored; opened once per state of its files."""
    return _open_reader(folder.absolute(), file_state(folder))


class _OwnReader(RunReader):
    """Closes its database when nobody uses it any more."""

    def __del__(self) -> None:
        self.close()


# Few: each keeps a database open. A comparison reads two runs.
@lru_cache(maxsize=4)
def _open_reader(folder: Path, state: str) -> RunReader:
    manifest = stored_manifest(folder)
    path = folder / DATABASE
    if is_format1(folder):
        with stored_in(folder):
            rules = RowRules.of_manifest(manifest)
        connection = temporary_database()
        writer = RunWriter(connection, rules)
        records = import_run(folder, connection, writer)
        return _OwnReader(connection, rules.repeats, path, records or None)
    if not path.exists():
        return _OwnReader(temporary_database(), manifest.repeats, path)
    connection = open_to_read(folder)
    # A run that is still written changes all the time; SQLite takes care of that file.
    is_closed = not path.with_name(f"{DATABASE}-wal").exists()
    if is_closed and _is_damaged(folder, state):
        connection = copy_readable(connection, manifest)
    return _OwnReader(connection, manifest.repeats, path)


# The check takes as long as reading the run; a table of twenty runs would repeat it for each.
@lru_cache(maxsize=512)
def _is_damaged(folder: Path, state: str) -> bool:
    with closing(open_to_read(folder)) as connection:
        return is_damaged(folder / DATABASE, connection, stored_manifest(folder).repeats)


def store_labels(folder: Path, labels: Mapping[str, float]) -> None:
    """Copy the labels of people into the database, where it can be written."""
    if not labels or not (folder / DATABASE).exists():
        return
    with (
        suppress(StorageError),
        # A run that is being written keeps its lock; its labels are copied another time.
        lock_run(folder),
        closing(FolderStore(folder, stored_manifest(folder))) as store,
    ):
        store.replace_labels(labels.items())
