"""failures.txt: each failed case with all that led to it, worst first; no file where nothing failed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from answerkey.reports.failure_screen import failure_screen
from answerkey.runs.folder import Index
from answerkey.types import Profile


def write_failures(folder: Path, index: Index, worst_first: Sequence[int], profile: Profile | None) -> None:
    path = folder / "failures.txt"
    if not worst_first:
        path.unlink(missing_ok=True)
        return
    with path.open("w", encoding="utf-8", errors="replace") as file:
        file.write(f"{len(worst_first)} failed, worst first\n")
        for outcome in index.at(worst_first):
            file.write(f"\n{'=' * 88}\n{failure_screen(outcome, profile)}\n")
