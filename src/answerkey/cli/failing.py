"""`--debug`: the failing cases of a run in full."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from answerkey.cli.shared import say, show
from answerkey.profiles.decide import ERROR
from answerkey.reports.failure_screen import failure_screen
from answerkey.runs.store import open_run, read_outcomes
from answerkey.types import Verdict

_MOST_SHOWN = 10


def show_failing(folder: Path, *, as_json: bool) -> None:
    """The first ten in full, and how many more there are; with --json on standard error."""
    tell = say if as_json else show
    profile = open_run(folder).profile
    failing = (outcome for outcome in read_outcomes(folder) if _fails(outcome.verdict))
    for outcome in islice(failing, _MOST_SHOWN):
        tell(failure_screen(outcome, profile, debug=True))
    more = sum(1 for _ in failing)
    if more:
        tell(f"{more} more failed; failures.txt in the run's folder has every one\n")


def _fails(verdict: Verdict) -> bool:
    return verdict.status == ERROR or (verdict.score is not None and not verdict.passed)
