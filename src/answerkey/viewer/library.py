"""The runs and sweeps below a folder, and the figures of each."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request

from answerkey.coerce.values import is_list
from answerkey.config.declare import TomlTable
from answerkey.errors import AnswerkeyError, InputError
from answerkey.files import read_json
from answerkey.runs.control import Selection
from answerkey.runs.database import DATABASE
from answerkey.runs.manifest import MANIFEST, Completeness, Manifest
from answerkey.runs.store import (
    LOCK,
    file_state,
    is_run,
    profile_of,
    read_manifest,
    read_outcomes,
)
from answerkey.runs.summary import RunInfo, Summary, summarise
from answerkey.testsets.audit.saved_audit import SAVED_AUDIT
from answerkey.viewer.run_notes import read_note
from answerkey.watch.state import STATE_FILE

SWEEP = "sweep.json"
_DEPTH = 4  # from the folder above a bot's own: mybot/results/<run>/run.json
_TREND_LENGTH = 12  # runs of a suite in its small chart
_QUIET = 30.0  # seconds without a new line after which a run no longer counts as in progress


class RunLibrary:
    """Everything is looked up again at each request: a run may have ended since."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise InputError(
                f"{root}: no such folder; give one that contains runs, such as results"
            )
        self.root = root.resolve()
        # The folder of one run: its neighbours are shown too.
        if is_run(self.root) or (self.root / SWEEP).is_file():
            self.root = self.root.parent

    def runs(self) -> list[Path]:
        return self._below(MANIFEST)

    def sweeps(self) -> list[Path]:
        return self._below(SWEEP)

    def audits(self) -> list[Path]:
        return self._below(SAVED_AUDIT)

    def watches(self) -> list[Path]:
        """The state folders of `answerkey watch`."""
        return self._below(STATE_FILE)

    def _below(self, name: str) -> list[Path]:
        folders = {
            path.parent for depth in range(_DEPTH) for path in self.root.glob("*/" * depth + name)
        }
        return sorted(folders, key=lambda folder: folder.stat().st_mtime, reverse=True)

    def key(self, folder: Path) -> str:
        return folder.relative_to(self.root).as_posix()

    def run(self, key: str) -> Path:
        return self._inside(key, MANIFEST, "run")

    def sweep(self, key: str) -> Path:
        return self._inside(key, SWEEP, "sweep")

    def audit(self, key: str) -> Path:
        return self._inside(key, SAVED_AUDIT, "audit")

    def _inside(self, key: str, name: str, what: str) -> Path:
        """Only a folder of that kind below the root, whatever the key contains."""
        with suppress(OSError, ValueError):
            folder = (self.root / key).resolve()
            if folder.is_relative_to(self.root) and (folder / name).is_file():
                return folder
        raise InputError(f'no {what} "{key}" here')

    def entries(self) -> list[RunEntry]:
        """One entry per run, newest first by its own time; a run that cannot be read has a `problem`."""
        entries: list[RunEntry] = []
        for folder in self.runs():
            try:
                entries.append(self._entry(folder))
            except (
                AnswerkeyError,
                LookupError,
                TypeError,
                ValueError,
                AttributeError,
                OSError,
            ) as error:
                if isinstance(error, AnswerkeyError):
                    problem = str(error)
                else:
                    problem = f"cannot be read: {type(error).__name__}: {error}"
                entries.append(RunEntry(self.key(folder), problem=problem))
        # Runs of the same second are ordered by name: their files change when a page is opened.
        entries.sort(key=lambda run: (run.created, run.run), reverse=True)
        _add_history(entries)
        return entries

    def readable(self) -> list[RunEntry]:
        return [entry for entry in self.entries() if not entry.problem]

    def newest_run(self) -> Path | None:
        """The newest run that can be read."""
        readable = self.readable()
        if readable:
            return self.run(readable[0].run)
        return None

    def _entry(self, folder: Path) -> RunEntry:
        manifest = read_manifest(folder)
        summary = read_summary(folder)
        profile = (manifest.profile or {}).get("name")
        note = read_note(folder)
        entry = RunEntry(
            self.key(folder),
            manifest.name,
            manifest.created,
            state_of(folder, manifest),
            manifest.partial,
            target_name(manifest.settings.target),
            profile,
            manifest.fingerprint,
            manifest.settings.metrics,
            manifest.count,
            selection=describe_selection(manifest.settings.selection),
            judge=judge_name(manifest.settings.judge),
            suite_file=manifest.suite or "",
            notes=manifest.notes,
            note=note.note,
            tags=note.tags,
            commit=manifest.commit or "",
            started_by=manifest.started_by or "",
        )
        if summary is None:
            return entry
        figures = summary.figures
        gates = [gate.passed for gate in summary.gates]
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
            kinds=_count_kinds(summary),
        )


@dataclass(slots=True)
class RunEntry:
    """A run in the list. `previous` is the run of its suite before it, `changed` the parts of the setup that differ from
    that one, `trend` the pass rates of the suite up to it; `marks` per metric: `best`, or a `tie` with the best run.
    `notes` are what the run itself noted, `note` and `tags` what a reader wrote about it."""

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
    previous_rate: float | None = None
    changed: list[str] = field(default_factory=list[str])
    trend: list[float] = field(default_factory=list[float])
    marks: dict[str, str] = field(default_factory=dict[str, str])
    problem: str = ""
    selection: str = ""
    judge: str = ""
    suite_file: str = ""
    notes: tuple[str, ...] = ()
    note: str = ""
    tags: tuple[str, ...] = ()
    commit: str = ""
    started_by: str = ""
    kinds: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    @property
    def is_full(self) -> bool:
        """Whether the run is finished and has all cases of its suite, so that it counts in trends."""
        return not self.selection and self.state == "finished"


def _count_kinds(summary: Summary) -> list[tuple[str, int]]:
    """The kinds of failure with their number of cases, most frequent first."""
    counts: Counter[str] = Counter()
    for group in summary.failures:
        counts[group.kind] += group.count
    return counts.most_common()


def target_name(target: TomlTable | None) -> str:
    """The name, function, address or command that the suite gives its target, else its kind."""
    for key in ("name", "call", "url", "command", "model", "kind"):
        value = (target or {}).get(key)
        if value:
            if is_list(value):
                return " ".join(map(str, value))
            return str(value)
    return ""


def judge_name(judge: str | TomlTable | None) -> str:
    """The preset and model of the judge; empty without one."""
    if not isinstance(judge, dict):
        return judge or ""
    return ", ".join(str(judge[key]) for key in ("preset", "model") if judge.get(key))


def describe_selection(selection: Selection) -> str:
    """`limit 5`, `only q1`: what was run of a suite; empty for all of it."""
    parts = {
        "limit": selection.limit,
        "only": selection.only,
        "file": selection.file,
        "collection": selection.collection,
        "per type": selection.per_type,
    }
    return ", ".join(f"{name} {value}" for name, value in parts.items() if value is not None)


def _add_history(entries: list[RunEntry]) -> None:
    """Fills in `previous`, `changed` and `trend`, oldest run first; only full runs count."""
    last: dict[str, RunEntry] = {}
    rates: dict[str, list[float]] = {}
    for entry in reversed(entries):
        if entry.problem:
            continue
        before = last.get(entry.name)
        if before:
            entry.previous = before.run
            entry.previous_rate = before.pass_rate
            entry.changed = _changed_parts(before.fingerprint, entry.fingerprint)
        if not entry.is_full:
            continue
        if entry.pass_rate is not None:
            rates.setdefault(entry.name, []).append(entry.pass_rate)
        entry.trend = rates.get(entry.name, [])[-_TREND_LENGTH:]
        last[entry.name] = entry


def _changed_parts(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """The parts of the setup that differ; answers and settings differ in most runs."""
    changed = [part for part, value in new.items() if old.get(part) != value]
    return [part for part in changed if part not in ("answers", "settings")]


IN_PROGRESS = "in progress"


def state_of(folder: Path, manifest: Manifest) -> str:
    """`finished`, `partial`, `in progress`, or `interrupted` where a run ended without recording it."""
    if manifest.completeness is Completeness.COMPLETE:
        return "finished"
    if manifest.completeness is not Completeness.IN_PROGRESS:
        return "partial"
    # Whether a process holds the lock, from the system's list: trying to lock could get in its way.
    with suppress(OSError):
        inode = f":{(folder / LOCK).stat().st_ino} "
        if any(
            inode in line and "FLOCK" in line
            for line in Path("/proc/locks").read_text().splitlines()
        ):
            return IN_PROGRESS
    files = [folder / name for name in (DATABASE, f"{DATABASE}-wal")]
    written = max((path.stat().st_mtime for path in files if path.is_file()), default=0.0)
    if time.time() - written < _QUIET:
        return IN_PROGRESS
    return "interrupted"


def read_summary(folder: Path) -> Summary | None:
    """summary.json, where the run has its reports, of this version."""
    with suppress(OSError):
        return _parse_summary(folder / "summary.json", (folder / "summary.json").stat().st_mtime_ns)
    return None


# The home page shows the summary of every run: without the cache each visit would parse them all.
@lru_cache(maxsize=512)
def _parse_summary(path: Path, changed: int) -> Summary | None:
    with suppress(ValueError, LookupError, TypeError, AttributeError):
        return Summary.of_json(read_json(path.read_bytes()))
    return None


def summary_of_run(folder: Path, manifest: Manifest) -> Summary:
    """The summary of a run; counted now for one without reports."""
    summary = read_summary(folder) or _count_summary(folder, file_state(folder))
    run = replace(summary.run, partial=manifest.partial, damage=manifest.damage)
    return replace(summary, run=run)


@lru_cache(maxsize=16)
def _count_summary(folder: Path, state: str) -> Summary:
    return summarise(
        read_outcomes(folder), profile_of(folder), RunInfo.of_manifest(read_manifest(folder))
    )


def requested_run(request: Request) -> tuple[RunLibrary, Path]:
    """All runs, and the folder of the one in the address."""
    library: RunLibrary = request.app.state.library
    return library, library.run(request.path_params["run"])
