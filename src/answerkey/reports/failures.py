"""failures.txt: each failed case in full, worst first, then the cases that were not scored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from answerkey.files import replace_file
from answerkey.reports.failure_screen import failure_screen
from answerkey.types import Outcome, Profile

_RULE = "=" * 88


@dataclass(frozen=True, slots=True)
class FailureCounts:
    """How many cases failed, and how many were not scored."""

    failed: int
    unscored: int

    @property
    def sentence(self) -> str:
        """The first line of the file: `7 failed, worst first; 2 unscored at the end`."""
        parts: list[str] = []
        if self.failed:
            parts.append(f"{self.failed} failed, worst first")
        if self.unscored:
            where = " at the end" if self.failed else ""
            parts.append(f"{self.unscored} unscored{where}")
        return "; ".join(parts)


def badness(outcome: Outcome) -> float:
    """The key that sorts failures worst first: an error before the lowest score."""
    score = outcome.verdict.score
    return -1.0 if score is None else score


def write_failures(
    folder: Path, outcomes: Iterable[Outcome], counts: FailureCounts, profile: Profile | None
) -> None:
    """Write the failed and the unscored cases; without any, an old file is removed."""
    path = folder / "failures.txt"
    # A file of an earlier report would list cases that no longer fail.
    if not counts.sentence:
        path.unlink(missing_ok=True)
        return
    with replace_file(path) as file:
        file.write(f"{counts.sentence}\n")
        for outcome in outcomes:
            file.write(f"\n{_RULE}\n{failure_screen(outcome, profile, brief=True)}\n")
