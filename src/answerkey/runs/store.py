"""One folder a run: what made it (run.json), what was answered and what was scored (two journals), one lock."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from answerkey.errors import InputError, StorageError
from answerkey.files import json_text, write_file
from answerkey.profiles import load_profile
from answerkey.profiles.decide import ERROR
from answerkey.runs.journal import decoded, positions, read_journal
from answerkey.runs.records import from_json, of_value, scores_from_json, to_json
from answerkey.types import Case, Json, Outcome, Response, Run, Verdict

if TYPE_CHECKING:
    from answerkey.runs.engines.parts import PartsIndex


MANIFEST, RESPONSES, SCORES, LOCK = "run.json", "responses.jsonl", "scores.jsonl", "run.lock"


def new_folder(out: Path, name: str) -> Path:
    """`<out>/<name>_YYYYMMDD_HHMMSS`, made now; a second run within the same second gets a suffix."""
    stamp = datetime.now().strftime("%Y%m%d_%H%M%S")
    for attempt in range(1, 1000):
        folder = out / (f"{name}_{stamp}" if attempt == 1 else f"{name}_{stamp}_{attempt}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            continue
        except OSError as error:
            raise StorageError(
                f"{folder}: cannot be made: {error.strerror}; choose another place with --out"
            ) from None
    raise StorageError(f"{out}: no free name for a new run folder")


def latest_run(out: Path, name: str) -> Path | None:
    """The newest run of that suite, by the time in its name."""
    found = [
        p.parent for p in out.glob(f"{name}_*/{MANIFEST}") if not p.parent.name.startswith(f"{name}_sweep_")
    ]
    return max(found, key=lambda p: (p.name, p.stat().st_mtime), default=None)


def is_run(path: Path) -> bool:
    return (path / MANIFEST).is_file()


def read_manifest(folder: Path) -> Json:
    try:
        return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"{folder}: not a run folder; expected one that holds {MANIFEST}, such as results/<suite>_<time>"
        ) from None
    except (OSError, ValueError) as error:
        raise StorageError(f"{folder / MANIFEST}: cannot be read: {error}") from None


def write_manifest(folder: Path, manifest: Json) -> None:
    """Replace the manifest."""
    write_file(folder / MANIFEST, json_text(manifest))


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """While it holds, no other process can write this run. The system frees it when the process ends, however it ends."""
    try:
        file = (folder / LOCK).open("a+")
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be written: {error.strerror}; allow writing, or choose another place with --out"
        ) from None
    with file:
        _lock(file, folder)
        yield


def _lock(file: IO[str], folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows, where an open file is not shared for writing anyway
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise StorageError(f"{folder}: another process is writing this run; wait for it or stop it") from None


def open_run(path: str | Path) -> Run:
    folder = Path(path)
    manifest = read_manifest(folder)
    return Run(
        folder=str(folder),
        name=manifest["name"],
        profile=load_profile(manifest["profile"]) if manifest.get("profile") else None,
        fingerprint=manifest.get("fingerprint", {}),
        settings=manifest.get("settings", {}),
        created=manifest.get("created", ""),
    )


class JournalIndex:
    """Where the newest response and score of each case stand, by position: 16 bytes a case."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.responses, self.scores = array("q"), array("q")
        for name, offsets in ((RESPONSES, self.responses), (SCORES, self.scores)):
            for n, offset in positions(folder / name):
                if n >= len(offsets):
                    offsets.extend([-1] * (n + 1 - len(offsets)))
                offsets[n] = offset

    def pair(self, n: int) -> tuple[Case, Response]:
        """The case at a position with its newest response."""
        with (self.folder / RESPONSES).open("rb") as responses:
            record = _record(responses, self.responses[n])
        return from_json(Case, record["case"]), from_json(Response, record["response"])

    def outcomes(self, *, unscored: bool = False) -> Iterator[Outcome]:
        """In case order. A case that was stopped at or has no score yet comes only if `unscored` asks for it."""
        return (outcome for _, outcome in self.numbered(unscored=unscored))

    def numbered(self, *, unscored: bool = False) -> Iterator[tuple[int, Outcome]]:
        """The outcomes with their positions, by which `at` finds them again."""
        with _open(self.folder / RESPONSES) as responses, _open(self.folder / SCORES) as scores:
            for n, at in enumerate(self.responses):
                if at < 0:
                    continue
                scored = self.scores[n] if n < len(self.scores) else -1
                judged = _record(scores, scored) if scored >= 0 else None
                if (judged is None or judged.get("stopped")) and not unscored:
                    continue
                yield n, _outcome(_record(responses, at), judged)

    def at(self, positions: Iterable[int]) -> Iterator[Outcome]:
        with (self.folder / RESPONSES).open("rb") as responses, _open(self.folder / SCORES) as scores:
            for n in positions:
                yield _outcome(_record(responses, self.responses[n]), _record(scores, self.scores[n]))


def read_outcomes(path: str | Path) -> Iterator[Outcome]:
    """Every finished outcome of a run, streamed in case order."""
    folder = Path(path)
    read_manifest(folder)
    yield from open_index(folder).outcomes()


def in_parts(folder: Path) -> bool:
    """Whether the results are Parquet parts, as a cluster writes them, instead of journals."""
    return (folder / "parts").is_dir()


def open_index(folder: Path) -> JournalIndex | PartsIndex:
    """What finds the outcomes of a run, however they are stored."""
    if not in_parts(folder):
        return JournalIndex(folder)
    from answerkey.runs.engines.parts import PartsIndex

    return PartsIndex(folder)


def last_stop(folder: Path) -> Outcome | None:
    """The case that stop-on-fail stopped at last, if it was not passed since."""
    stopped: dict[int, int] = {}
    for offset, record in read_journal(folder / SCORES):
        stopped.pop(record["n"], None)
        if record.get("stopped"):
            stopped[record["n"]] = offset
    if not stopped:
        return None
    return next(JournalIndex(folder).at([min(stopped)]))


def _outcome(answered: Json, judged: Json | None) -> Outcome:
    return Outcome(
        case=from_json(Case, answered["case"]),
        response=from_json(Response, answered["response"]),
        scores=scores_from_json(judged["scores"]) if judged else {},
        verdict=from_json(Verdict, judged["verdict"]) if judged else Verdict("UNSCORED"),
    )


def _open(path: Path) -> IO[bytes]:
    return path.open("rb") if path.is_file() else open(os.devnull, "rb")


def _record(file: IO[bytes], at: int) -> Json:
    if file.tell() != at:
        file.seek(at)
    return decoded(file.readline(), file.name)


ASK, ANSWERED, FINISHED, STOPPED, REMOVED = range(5)


class State:
    """One byte a case. An answer without a usable score is scored again; an error is asked again."""

    def __init__(self, folder: Path | None = None) -> None:
        self._codes = bytearray()
        if folder is None:
            return
        for _, record in read_journal(folder / RESPONSES):
            failed = record.get("removed") or record["response"].get("error")
            self[record["n"]] = REMOVED if record.get("removed") else ASK if failed else ANSWERED
        for _, record in read_journal(folder / SCORES):
            n = record["n"]
            if record.get("stopped"):
                self[n] = STOPPED
            elif self[n] in (ANSWERED, STOPPED) and record["verdict"]["status"] != ERROR:
                self[n] = FINISHED

    def __getitem__(self, n: int) -> int:
        return self._codes[n] if n < len(self._codes) else ASK

    def __setitem__(self, n: int, code: int) -> None:
        if n >= len(self._codes):
            self._codes.extend(bytes(n + 1 - len(self._codes)))
        self._codes[n] = code

    def count(self, code: int) -> int:
        return self._codes.count(code)

    def __len__(self) -> int:
        return len(self._codes)

    def score_again(self) -> None:
        """The ruler changed: every answer is measured anew, and nobody is asked."""
        self._codes = self._codes.replace(bytes([FINISHED]), bytes([ANSWERED]))


def places_of(folder: Path) -> dict[str, tuple[int, str]]:
    """Each case that the journal knows: its position and a hash of what it was. Read only when cases changed."""
    places: dict[str, tuple[int, str]] = {}
    for _, record in read_journal(folder / RESPONSES):
        if record.get("removed"):
            places.pop(record["id"], None)
        else:
            places[record["id"]] = record["n"], of_value(record["case"])
    return places


def replaced(
    cases: Iterator[Case], places: dict[str, tuple[int, str]], state: State
) -> Iterator[tuple[int, Case]]:
    """Cases with the positions they have in the journal; new ones behind; those that were edited are asked again."""
    behind = max((n for n, _ in places.values()), default=-1) + 1
    for case in cases:
        n, digest = places.get(case.id, (behind, ""))
        if n == behind:
            behind += 1
        elif digest != of_value(to_json(case)):
            state[n] = ASK
        yield n, case
