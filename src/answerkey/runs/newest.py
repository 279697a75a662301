"""The run that a folder or a suite stands for: its newest complete one.

A run of a part of the cases, as `--test` and `--limit` make it, is never the newest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from answerkey.errors import AnswerkeyError, InputError
from answerkey.runs.manifest import MANIFEST, Manifest, stored_manifest
from answerkey.runs.store import is_run
from answerkey.runs.suite import load_suite

_DEFAULT_FOLDER = "results"


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run folder and its run.json."""

    folder: Path
    manifest: Manifest

    @property
    def is_whole(self) -> bool:
        return not self.manifest.partial and self.manifest.settings.selection.whole


def find_run(path: Path) -> Path:
    """The run folder that a path names: itself, or the newest complete run in a folder or of a suite."""
    if is_run(path):
        return path
    return _whole_runs(path)[0].folder


def find_two_runs(path: Path) -> tuple[Path, Path]:
    """The two newest complete runs of one suite, the older one first."""
    newest, *older = _whole_runs(path)
    for run in older:
        if run.manifest.name == newest.manifest.name:
            return run.folder, newest.folder
    raise InputError(
        f"{path}: only one complete run of {newest.manifest.name} ({newest.folder.name}); "
        "run the suite again, then compare"
    )


def _whole_runs(path: Path) -> list[FoundRun]:
    """The complete runs in a folder or of a suite, newest first; at least one."""
    runs = list(_runs_at(path))
    whole = [run for run in runs if run.is_whole]
    if not whole:
        reason = "not a run folder, and there is none in it"
        if runs:
            reason = f"{len(runs)} runs in it, but none is complete with all cases"
        elif not path.exists():
            reason = "no such file or folder"
        raise InputError(
            f"{path}: {reason}; expected a run folder, such as results/<suite>_<time>, "
            "a folder of runs, or a suite"
        )
    return sorted(whole, key=lambda run: (run.manifest.created, run.folder.name), reverse=True)


def _runs_at(path: Path) -> Iterator[FoundRun]:
    if path.suffix == ".toml" and path.is_file():
        suite = load_suite(path)
        runs = _runs_in(suite.folder / suite.run.out)
        yield from (run for run in runs if run.manifest.name == suite.name)
        return
    yield from _runs_in(path)
    # A project folder stands for the runs in its `results`.
    yield from _runs_in(path / _DEFAULT_FOLDER)


def _runs_in(folder: Path) -> Iterator[FoundRun]:
    if not folder.is_dir():
        return
    for child in sorted(folder.iterdir()):
        if (child / MANIFEST).is_file():
            try:
                yield FoundRun(child, stored_manifest(child))
            except AnswerkeyError:
                continue  # a damaged run is named when it is asked for itself
