"""failures.txt: each failed case in full, worst first."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from answerkey.files import replace_file
from answerkey.reports.failure_screen import failure_screen
from answerkey.runs.engines.parts import PARTS
from answerkey.types import Outcome, Profile

_RULE = "=" * 88


def badness(outcome: Outcome) -> float:
    """The key that sorts failures worst first: an error before the lowest score."""
    score = outcome.verdict.score
    return -1.0 if score is None else score


def write_failures(
    folder: Path, failed: Iterable[Outcome], shown: int, total: int, profile: Profile | None
) -> None:
    """Write the `shown` worst of `total` failed cases; without any, an old file is removed."""
    path = folder / "failures.txt"
    if not shown:
        path.unlink(missing_ok=True)
        return
    with replace_file(path) as file:
        file.write(f"{total} failed, worst first\n")
        if total > shown:
            file.write(f"the {shown} worst are shown; all are in the Parquet files of {PARTS}/\n")
        for outcome in failed:
            file.write(f"\n{_RULE}\n{failure_screen(outcome, profile, brief=True)}\n")
