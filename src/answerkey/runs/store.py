"""Where a run keeps its answers and outcomes: a folder (run.json, two journals, a lock), or memory.

`FolderStore` and `MemoryStore` have the same interface; `execute` writes to either.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from answerkey.errors import StorageError
from answerkey.files import remove_strays
from answerkey.runs import journal
from answerkey.runs.ask import Answered
from answerkey.runs.journal import RESPONSES, SCORES, Journal, RunState, read_journal
from answerkey.runs.journal_index import JournalIndex
from answerkey.runs.manifest import MANIFEST, Manifest, stored_in, stored_manifest
from answerkey.runs.records import judged_json
from answerkey.runs.repeats import Repeats
from answerkey.types import Outcome, Profile, Status

if TYPE_CHECKING:
    from answerkey.runs.engines.parts import PartsIndex

LOCK = "run.lock"
DAMAGED = "damaged: "  # begins the reason why a run is partial, where records are missing


class Scored(NamedTuple):
    """An outcome with its position; `stopped` where the run stops at it, so that it is asked again on resume."""

    n: int
    outcome: Outcome
    stopped: bool = False

    def record(self) -> dict[str, object]:
        stopped = {"stopped": True} if self.stopped else {}
        return {"n": self.n, "id": self.outcome.case.id, **judged_json(self.outcome), **stopped}


_ASKED_ONCE = Repeats()


class FolderStore:
    """A run folder. Every record is on disk before the call that adds it returns."""

    def __init__(
        self, folder: Path, state: RunState | None = None, repeats: Repeats = _ASKED_ONCE
    ) -> None:
        self.folder, self.state, self._repeats = folder, state or RunState(folder), repeats
        self._responses, self._scores = Journal(folder / RESPONSES), Journal(folder / SCORES)

    def add_answers(self, answered: Sequence[Answered]) -> None:
        self._responses.append([journal.response_record(*each) for each in answered])

    def add_scores(self, scored: Sequence[Scored]) -> None:
        self._scores.append([each.record() for each in scored])
        _mark_finished(self.state, scored)

    def add_lines(
        self, responses: Sequence[bytes], scores: Sequence[bytes], finished: Iterable[int]
    ) -> None:
        """Add records that another process has made; those of the cases at `finished` are not asked again."""
        self._responses.append_lines(responses)
        self._scores.append_lines(scores)
        for n in finished:
            self.state[n] = journal.FINISHED

    def answers(self, positions: Iterable[int] | None = None) -> Iterator[Answered]:
        return JournalIndex(self.folder).answers(positions)

    def outcomes(self) -> Iterator[Outcome]:
        return JournalIndex(self.folder, self._repeats).outcomes()

    def close(self) -> None:
        self._responses.close()
        self._scores.close()


class MemoryStore:
    """A run without a folder: everything is held, nothing is written. Its methods are those of `FolderStore`."""

    def __init__(self, repeats: Repeats = _ASKED_ONCE) -> None:
        self.state, self._repeats = RunState(), repeats
        self._answers: dict[int, Answered] = {}
        self._outcomes: dict[int, Outcome] = {}

    def add_answers(self, answered: Sequence[Answered]) -> None:
        self._answers.update({each[0]: each for each in answered})

    def add_scores(self, scored: Sequence[Scored]) -> None:
        self._outcomes.update({each.n: each.outcome for each in scored})
        _mark_finished(self.state, scored)

    def answers(self, positions: Iterable[int] | None = None) -> Iterator[Answered]:
        return (
            self._answers[n] for n in (sorted(self._answers) if positions is None else positions)
        )

    def outcomes(self) -> Iterator[Outcome]:
        attempts = ((n, self._outcomes[n]) for n in sorted(self._outcomes))
        return (outcome for _, outcome in self._repeats.combined(attempts))


def _mark_finished(state: RunState, scored: Iterable[Scored]) -> None:
    for each in scored:
        if not each.stopped and each.outcome.verdict.status != Status.ERROR:
            state[each.n] = journal.FINISHED


def new_folder(out: Path, name: str) -> Path:
    """Creates `<out>/<name>_YYYYMMDD_HHMMSS`; a second run within the same second gets a suffix."""
    stamp = datetime.now().strftime("%Y%m%d_%H%M%S")
    for attempt in range(1, 1000):
        folder = out / (f"{name}_{stamp}" if attempt == 1 else f"{name}_{stamp}_{attempt}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            continue
        except OSError as error:
            fix = "choose another folder with --out"
            raise StorageError(f"{folder}: cannot be created: {error.strerror}; {fix}") from None
    raise StorageError(f"{out}: no free name for a new run folder")


def is_run(path: Path) -> bool:
    return (path / MANIFEST).is_file()


def read_manifest(folder: Path) -> Manifest:
    """run.json: what made the run. A run that lacks something it recorded at its end is partial, and says what."""
    manifest = stored_manifest(folder)
    lost = _lost(folder, _file_state(folder, MANIFEST, RESPONSES, SCORES, "parts"))
    return replace(manifest, partial=f"{DAMAGED}{lost}") if lost else manifest


def _file_state(folder: Path, *names: str) -> tuple[tuple[int, int] | None, ...]:
    """Changes whenever one of the files does."""
    stats = [path.stat() if (path := folder / name).exists() else None for name in names]
    return tuple((stat.st_mtime_ns, stat.st_size) if stat else None for stat in stats)


@lru_cache(maxsize=512)
def _lost(folder: Path, state: object) -> str:
    """What the files of a run lack, compared with what it recorded when it ended; empty if nothing."""
    manifest = stored_manifest(folder)
    count, recorded = manifest.count, manifest.records
    if manifest.partial == "in progress":
        return ""
    if recorded is None:  # a run of an earlier version, or one that was saved from Python
        if manifest.partial or count is None or (found := len(read_index(folder))) >= count:
            return ""
        return f"{found} of {count} cases are stored"
    if not manifest.partial and count != recorded["cases"]:
        return f"run.json names {count} cases, {recorded['cases']} were recorded"
    found = _records(folder)
    changed = {name: n for name, n in recorded.items() if found.get(name, 0) != n}
    lost = [f"{name} has {found.get(name, 0)} of {n} records" for name, n in changed.items()]
    return ", ".join(lost[-2:])


def sealed(folder: Path, manifest: Manifest) -> Manifest:
    """run.json of a run that ends now: with the number of its records, so that a loss is noticed."""
    return replace(manifest, records=_records(folder))


def _records(folder: Path) -> dict[str, int]:
    index = read_index(folder)
    return {"cases": len(index), **(index.records if isinstance(index, JournalIndex) else {})}


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Keeps other processes from writing this run. The system releases the lock when the process ends, in any way."""
    try:
        file = (folder / LOCK).open("a+")
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be written: {error.strerror}; allow writing, or choose another folder with --out"
        ) from None
    with file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows, where an open file is not shared for writing anyway
            pass
        except OSError:
            raise StorageError(
                f"{folder}: another process is writing this run; wait for it or stop it"
            ) from None
        remove_strays(folder)
        yield


def profile_of(folder: Path) -> Profile | None:
    """The profile that scored a run."""
    manifest = read_manifest(folder)
    with stored_in(folder):
        return manifest.load_profile()


def read_outcomes(path: str | Path) -> Iterator[Outcome]:
    """Every finished outcome of a run, streamed in case order."""
    folder = Path(path)
    read_manifest(folder)
    yield from open_index(folder).outcomes()


def in_parts(folder: Path) -> bool:
    """Whether the results are Parquet parts, as a cluster writes them, instead of journals."""
    return (folder / "parts").is_dir()


def open_index(folder: Path) -> JournalIndex | PartsIndex:
    """Finds the outcomes of a run, however they are stored."""
    if not in_parts(folder):
        return JournalIndex(folder, stored_manifest(folder).repeats)
    from answerkey.runs.engines.parts import PartsIndex

    return PartsIndex(folder)


def read_index(folder: Path) -> JournalIndex | PartsIndex:
    """As `open_index`; read once as long as the journals do not change."""
    return _read_index(folder.absolute(), _file_state(folder, RESPONSES, SCORES, "parts"))


@lru_cache(maxsize=4)
def _read_index(folder: Path, state: object) -> JournalIndex | PartsIndex:
    return open_index(folder)


def last_asked(folder: Path, count: int) -> list[Outcome]:
    """The answers that were scored last, as outcomes, the latest one at the end."""
    if in_parts(folder):
        return []
    scored = [record.n for record in read_journal(folder / SCORES, journal.NumberedRecord)]
    latest = list(dict.fromkeys(reversed(scored)))
    index = JournalIndex(folder)
    return [index.attempt(n) for n in latest[:count][::-1]]


def last_stop(folder: Path) -> Outcome | None:
    """The case that stop-on-fail stopped at last, unless it passed since."""
    stopped: set[int] = set()
    for record in read_journal(folder / SCORES, journal.ScoreState):
        (stopped.add if record.stopped else stopped.discard)(record.n)
    index = JournalIndex(folder) if stopped else None
    n = min(stopped, default=-1)
    return (
        index.attempt(n) if index and n < len(index.responses) and index.responses[n] >= 0 else None
    )
