"""Two run folders in, one comparison out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from answerkey.compare.comparison import Comparison, compare_sides
from answerkey.compare.side import Side, read_side
from answerkey.errors import InputError
from answerkey.runs.folder import open_run, read_manifest, read_outcomes
from answerkey.types import Json


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
    side.partial = _unfinished(read_manifest(Path(path)), len(side))
    side.scale = run.profile.scale if run.profile else None
    return side


def _unfinished(manifest: Json, done: int) -> str:
    """How far a run came that ended early; empty for one with an outcome, be it an error, for every case."""
    why, count = manifest.get("partial", ""), manifest.get("count") or 0
    if not why or done >= count:
        return ""
    return f"{done} of {count} cases: {'not finished' if why == 'in progress' else why}"
