"""failures.txt: each failed case with all that led to it, worst first; no file where nothing failed."""

from __future__ import annotations

from collections.abc import Sequence

from answerkey.reports.failure_screen import failure_screen
from answerkey.runs.engines.parts import PARTS, PartsIndex
from answerkey.runs.store import JournalIndex
from answerkey.types import Profile


def write_failures(
    index: JournalIndex | PartsIndex, worst_first: Sequence[int], total: int, profile: Profile | None
) -> None:
    """`worst_first` are the places of the failed cases, or of the worst of `total` where there are very many."""
    path = index.folder / "failures.txt"
    if not worst_first:
        path.unlink(missing_ok=True)
        return
    with path.open("w", encoding="utf-8", errors="replace") as file:
        file.write(f"{total} failed, worst first\n")
        if total > len(worst_first):
            file.write(
                f"the {len(worst_first)} worst are shown; every one is in the Parquet files of {PARTS}/\n"
            )
        for outcome in index.at(worst_first):
            file.write(f"\n{'=' * 88}\n{failure_screen(outcome, profile)}\n")
