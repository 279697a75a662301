"""The runs and sweeps below a folder, and the figures of each."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request

from answerkey.coerce.values import is_list
from answerkey.config.declare import TomlTable
from answerkey.errors import AnswerkeyError, InputError
from answerkey.files import read_json
from answerkey.reports.rows import journal_state
from answerkey.runs.journal import RESPONSES, SCORES
from answerkey.runs.manifest import MANIFEST, Manifest
from answerkey.runs.store import LOCK, is_run, profile_of, read_manifest, read_outcomes
from answerkey.runs.summary import RunInfo, Summary, summarise

SWEEP = "sweep.json"
_DEPTH = 4  # from the folder above a bot's own: mybot/results/<run>/run.json
_QUIET = 30.0  # seconds without a new line after which a run no longer counts as in progress


class RunLibrary:
    """Everything is looked up again at each request: a run may have ended since."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise InputError(
                f"{root}: no such folder; give one that contains runs, such as results"
            )
        self.root = root.resolve()
        if (
            is_run(self.root) or (self.root / SWEEP).is_file()
        ):  # the folder of one run: show its neighbours too
            self.root = self.root.parent

    def runs(self) -> list[Path]:
        return self._below(MANIFEST)

    def sweeps(self) -> list[Path]:
        return self._below(SWEEP)

    def _below(self, name: str) -> list[Path]:
        found = {p.parent for depth in range(_DEPTH) for p in self.root.glob("*/" * depth + name)}
        return sorted(found, key=lambda folder: folder.stat().st_mtime, reverse=True)

    def key(self, folder: Path) -> str:
        return folder.relative_to(self.root).as_posix()

    def run(self, key: str) -> Path:
        return self._inside(key, MANIFEST, "run")

    def sweep(self, key: str) -> Path:
        return self._inside(key, SWEEP, "sweep")

    def _inside(self, key: str, name: str, what: str) -> Path:
        """Only a folder of that kind below the root, whatever the key contains."""
        with suppress(OSError, ValueError):
            folder = (self.root / key).resolve()
            if folder.is_relative_to(self.root) and (folder / name).is_file():
                return folder
        raise InputError(f'no {what} "{key}" here')

    def entries(self) -> list[RunEntry]:
        """One entry per run, newest first by its own time; a run that cannot be read has a `problem`."""
        found: list[RunEntry] = []
        for folder in self.runs():
            try:
                found.append(self._entry(folder))
            except (
                AnswerkeyError,
                LookupError,
                TypeError,
                ValueError,
                AttributeError,
                OSError,
            ) as error:
                known = isinstance(error, AnswerkeyError)
                problem = (
                    str(error) if known else f"cannot be read: {type(error).__name__}: {error}"
                )
                found.append(RunEntry(self.key(folder), problem=problem))
        found.sort(key=lambda run: run.created, reverse=True)
        _add_history(found)
        return found

    def readable(self) -> list[RunEntry]:
        return [entry for entry in self.entries() if not entry.problem]

    def newest_run(self) -> Path | None:
        """The newest run that can be read."""
        readable = self.readable()
        return self.run(readable[0].run) if readable else None

    def _entry(self, folder: Path) -> RunEntry:
        manifest, summary = read_manifest(folder), read_summary(folder)
        target, profile = manifest.settings.target or {}, (manifest.profile or {}).get("name")
        # What the suite calls its target: a name, a function, an address or a command, else its kind.
        bot = next(
            (
                target[key]
                for key in ("name", "call", "url", "command", "model", "kind")
                if target.get(key)
            ),
            "",
        )
        bot = " ".join(map(str, bot)) if is_list(bot) else str(bot)
        entry = RunEntry(
            self.key(folder),
            manifest.name,
            manifest.created,
            state_of(folder, manifest),
            manifest.partial,
            bot,
            profile,
            manifest.fingerprint,
            manifest.settings.metrics,
            manifest.count,
        )
        if summary is None:
            return entry
        figures, gates = summary.figures, [gate.passed for gate in summary.gates]
        return replace(
            entry,
            cases=figures.totals.cases,
            pass_rate=figures.pass_rate,
            pass_rate_ci95=figures.pass_rate_ci95,
            score=figures.score.mean,
            scale=summary.run.profile.scale,
            errors=figures.totals.errors,
            gates=gates,
            means=dict(summary.mean),
        )


@dataclass(slots=True)
class RunEntry:
    """A run in the list. `previous` is the run of its suite before it, `changed` the parts of the setup that differ from
    that one, `trend` the pass rates of the suite up to it; `marks` per metric: `best`, or a `tie` with the best run."""

    run: str
    name: str = ""
    created: str = ""
    state: str = ""
    partial: str = ""
    bot: str = ""
    profile: str | None = None
    fingerprint: dict[str, str] = field(default_factory=dict[str, str])
    metric_settings: TomlTable = field(default_factory=TomlTable)
    count: int | None = None
    cases: int | None = None
    pass_rate: float | None = None
    pass_rate_ci95: tuple[float, float] | None = None
    score: float | None = None
    scale: float = 1
    errors: int | None = None
    gates: list[bool] = field(default_factory=list[bool])
    means: dict[str, float | None] = field(default_factory=dict[str, float | None])
    previous: str | None = None
    changed: list[str] = field(default_factory=list[str])
    trend: list[float] = field(default_factory=list[float])
    marks: dict[str, str] = field(default_factory=dict[str, str])
    problem: str = ""


def _add_history(entries: list[RunEntry]) -> None:
    """Fills in `previous`, `changed` and `trend`, oldest run first."""
    last: dict[str, RunEntry] = {}
    rates: dict[str, list[float]] = {}
    for entry in reversed(entries):
        if entry.problem:
            continue
        if before := last.get(entry.name):
            entry.previous = before.run
            old = before.fingerprint
            parts = [part for part, value in entry.fingerprint.items() if old.get(part) != value]
            entry.changed = [part for part in parts if part not in ("answers", "settings")]
        if entry.pass_rate is not None:
            rates.setdefault(entry.name, []).append(entry.pass_rate)
        entry.trend = rates.get(entry.name, [])[-12:]
        last[entry.name] = entry


def state_of(folder: Path, manifest: Manifest) -> str:
    """`finished`, `partial`, `in progress`, or `interrupted` where a run ended without recording it."""
    partial = manifest.partial
    if not partial:
        return "finished"
    if partial != "in progress":
        return "partial"
    with suppress(
        OSError
    ):  # whether a process holds the lock, from the system's list: trying to lock could get in its way
        inode = f":{(folder / LOCK).stat().st_ino} "
        if any(
            inode in line and "FLOCK" in line
            for line in Path("/proc/locks").read_text().splitlines()
        ):
            return "in progress"
    times = [
        (folder / name).stat().st_mtime for name in (RESPONSES, SCORES) if (folder / name).is_file()
    ]
    return "in progress" if time.time() - max(times, default=0.0) < _QUIET else "interrupted"


def read_summary(folder: Path) -> Summary | None:
    """summary.json, where the run has its reports, of this version."""
    with suppress(OSError):
        return _parsed(folder / "summary.json", (folder / "summary.json").stat().st_mtime_ns)
    return None


@lru_cache(maxsize=512)
def _parsed(path: Path, changed: int) -> Summary | None:
    with suppress(ValueError, LookupError, TypeError, AttributeError):
        return Summary.of_json(read_json(path.read_bytes()))
    return None


def summary_of_run(folder: Path, manifest: Manifest) -> Summary:
    """The summary of a run; counted now for one without reports."""
    known = read_summary(folder) or _counted(folder, journal_state(folder))
    return replace(known, run=replace(known.run, partial=manifest.partial))


@lru_cache(maxsize=16)
def _counted(folder: Path, state: str) -> Summary:
    return summarise(
        read_outcomes(folder), profile_of(folder), RunInfo.of_manifest(read_manifest(folder))
    )


def requested_run(request: Request) -> tuple[RunLibrary, Path]:
    """All runs, and the folder of the one in the address."""
    library: RunLibrary = request.app.state.library
    return library, library.run(request.path_params["run"])
