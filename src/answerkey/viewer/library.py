"""The runs and sweeps below a folder, newest first, and what each says of itself."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from answerkey.errors import InputError
from answerkey.runs.engines.parts import list_parts
from answerkey.runs.store import LOCK, MANIFEST, RESPONSES, SCORES, is_run, read_manifest, read_outcomes
from answerkey.runs.summary import summarise
from answerkey.types import Json, Profile

SWEEP = "sweep.json"
_DEPTH = 4  # from the folder above a bot's own: mybot/results/<run>/run.json
_QUIET = 30.0  # seconds without a new line after which a run is no longer taken to be going on


class RunLibrary:
    """Everything is looked up again at each request: a run may have ended since."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise InputError(f"{root}: no such folder; give one that holds runs, such as results")
        self.root = root.resolve()
        if (
            is_run(self.root) or (self.root / SWEEP).is_file()
        ):  # one run's own folder: its neighbours are of use too
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
        """Only a folder of that kind below the root, whatever the key says."""
        with suppress(OSError, ValueError):
            folder = (self.root / key).resolve()
            if folder.is_relative_to(self.root) and (folder / name).is_file():
                return folder
        raise InputError(f'no {what} "{key}" here')


def entry(library: RunLibrary, folder: Path) -> Json:
    """A line of the list of runs."""
    manifest = read_manifest(folder)
    summary = read_summary(folder)
    return {
        "run": library.key(folder),
        "name": manifest["name"],
        "created": manifest.get("created", ""),
        "state": state_of(folder, manifest),
        "partial": manifest.get("partial", ""),
        "profile": (manifest.get("profile") or {}).get("name"),
        "count": manifest.get("count"),
        "cases": summary["totals"]["cases"] if summary else None,
        "pass_rate": summary["pass_rate"] if summary else None,
        "pass_rate_ci95": summary["pass_rate_ci95"] if summary else None,
        "score": summary["score"]["mean"] if summary else None,
        "scale": summary["profile"].get("scale", 1) if summary else 1,
        "errors": summary["totals"]["errors"] if summary else None,
        "gates": [gate["passed"] for gate in summary.get("gates", [])] if summary else [],
    }


def state_of(folder: Path, manifest: Json) -> str:
    """`finished`, `partial`, `in progress`, or `interrupted` where a run ended without saying so."""
    partial = manifest.get("partial", "")
    if not partial:
        return "finished"
    if partial != "in progress":
        return "partial"
    return "in progress" if _held(folder / LOCK) or _grew_lately(folder) else "interrupted"


def _held(lock: Path) -> bool:
    """Whether a process holds the run's lock, read from the system's list: to try it could itself stand in the way."""
    with suppress(OSError):
        inode = f":{lock.stat().st_ino} "
        return any(inode in line and "FLOCK" in line for line in Path("/proc/locks").read_text().splitlines())
    return False


def _grew_lately(folder: Path) -> bool:
    newest = 0.0
    for name in (RESPONSES, SCORES):
        with suppress(OSError):
            newest = max(newest, (folder / name).stat().st_mtime)
    return time.time() - newest < _QUIET


def read_summary(folder: Path) -> Json | None:
    """summary.json, where the run has its reports."""
    with suppress(OSError):
        return _parsed(folder / "summary.json", (folder / "summary.json").stat().st_mtime_ns)
    return None


@lru_cache(maxsize=512)
def _parsed(path: Path, changed: int) -> Json | None:
    with suppress(ValueError):
        return json.loads(path.read_text(encoding="utf-8"))
    return None


def figures_of(folder: Path, manifest: Json, profile: Profile | None) -> Json:
    """The summary of a run; counted now for one that has no reports yet."""
    known = read_summary(folder)
    if known is not None:
        return known
    files = (folder / RESPONSES, folder / SCORES, *list_parts(folder))
    grown = tuple(p.stat().st_size for p in files if p.is_file())
    about = {
        "name": manifest["name"],
        "created": manifest.get("created", ""),
        "partial": manifest.get("partial", ""),
        "selected": manifest.get("count"),
        "profile": {
            "name": profile.name if profile else None,
            "version": profile.version if profile else None,
            "digest": profile.digest if profile else None,
            "scale": profile.scale if profile else 1,
        },
        "notes": manifest.get("notes", []),
        "fingerprint": manifest.get("fingerprint", {}),
        "gates": [],
    }
    return {**_counted(folder, grown, profile), **about}


_kept: dict[Path, tuple[tuple[int, ...], Json]] = {}


def _counted(folder: Path, grown: tuple[int, ...], profile: Profile | None) -> Json:
    if folder not in _kept or _kept[folder][0] != grown:
        _kept[folder] = grown, summarise(read_outcomes(folder), profile).to_json()
    return _kept[folder][1]
