"""The parts of a run on a cluster become its database when the run ends, so that it is read like any other."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from answerkey.runs.database import DATABASE
from answerkey.runs.engines.parts import list_parts, outcomes_in
from answerkey.runs.manifest import Manifest
from answerkey.runs.store import FolderStore


def remove_merged(folder: Path) -> None:
    """Remove run.sqlite, which lacks the parts that are written from now on."""
    for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"):
        (folder / name).unlink(missing_ok=True)


def merge_parts(folder: Path, manifest: Manifest) -> None:
    """Write run.sqlite from all parts. They stay: --resume continues with them."""
    remove_merged(folder)
    with closing(FolderStore(folder, manifest)) as store:
        for path in list_parts(folder):
            store.add_outcomes(outcomes_in(path))
