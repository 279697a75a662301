"""The run that a folder or a suite stands for: its newest complete one.

A run of a part of the cases, as `--test` and `--limit` make it, is never the newest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from answerkey.errors import AnswerkeyError, InputError, did_you_mean
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
        "run the suite again, then compare, or name two runs"
    )


def _whole_runs(path: Path) -> list[FoundRun]:
    """The complete runs in a folder or of a suite, newest first; at least one."""
    runs = list(_runs_at(path))
    whole = [run for run in runs if run.is_whole]
    if not whole:
        raise InputError(f"{path}: {_describe_absence(path, len(runs))}")
    # The name breaks ties of runs that began in the same second.
    return sorted(whole, key=lambda run: (run.manifest.created, run.folder.name), reverse=True)


def _describe_absence(path: Path, count: int) -> str:
    """Why there is no complete run, with the folder that is meant where one is near."""
    if count:
        reason = f"{count} runs in it, but none is complete with all cases"
    elif not path.exists():
        reason = "no such file or folder"
        suggestion = did_you_mean(path.name, [each.name for each in _folders_in(path.parent)])
        if suggestion:
            return f"{reason}{suggestion}"
    else:
        reason = "not a run folder, and there is none in it"
        nested = [child for child in _folders_in(path) if any(_runs_in(child))]
        if nested:
            return f"{reason}; did you mean {nested[0]}?"
    return (
        f"{reason}; expected a run folder, such as results/<suite>_<time>, a folder of runs, "
        "or a suite"
    )


def _folders_in(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return sorted(child for child in path.iterdir() if child.is_dir())


def _runs_at(path: Path) -> Iterator[FoundRun]:
    if path.suffix == ".toml" and path.is_file():
        suite = load_suite(path)
        runs = _runs_in(suite.folder / suite.run.out)
        # Several suites may share a results folder.
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
