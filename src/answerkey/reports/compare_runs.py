"""Two run folders in, one comparison out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from answerkey.compare.comparison import Comparison, compare_sides
from answerkey.compare.side import Side, read_side
from answerkey.errors import InputError
from answerkey.runs.folder import open_run, read_outcomes


def compare_runs(a: str | Path, b: str | Path, repeats: Sequence[str | Path] = ()) -> Comparison:
    """Is B better than A? `repeats` are further runs of A's bot, for the noise floor."""
    return compare_sides(load_side(a), load_side(b), [load_side(path) for path in repeats])


def load_side(path: str | Path) -> Side:
    """A run's numbers and hashes, streamed from its folder."""
    run = open_run(path)
    side = read_side(str(path), run.fingerprint, read_outcomes(path))
    if not len(side):
        raise InputError(
            f"{path}: the run has no finished case to compare; finish it with `answerkey run … --resume`"
        )
    return side
