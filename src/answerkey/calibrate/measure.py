"""The scores of labelled rows: a run's own where it has them, else computed now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from answerkey.calibrate.labelled import Labelled
from answerkey.runs.score import make_tools
from answerkey.runs.suite import Suite
from answerkey.types import Pair, Score

CHUNK = 256
Progress = Callable[[int, int], None]


def measure(
    labelled: Labelled, suite: Suite, repeats: int = 1, progress: Progress | None = None
) -> list[dict[str, list[Score]]]:
    """For each repeat, the column of scores of every metric of the suite. A judge is asked anew each time."""
    names = suite.metrics
    if repeats == 1 and all(any(name in known for known in labelled.known) for name in names):
        return [{name: [Score(known.get(name)) for known in labelled.known] for name in names}]
    if repeats > 1:
        suite = replace(suite, judge=_uncached(suite.judge))
    tools = make_tools(suite, None)
    try:
        done, total = 0, repeats * len(labelled)
        passes: list[dict[str, list[Score]]] = []
        for _ in range(repeats):
            columns: dict[str, list[Score]] = {name: [] for name in names}
            for chunk in _chunks(labelled.pairs):
                for scores in tools.plan.score(chunk):
                    for name in names:
                        columns[name].append(scores[name])
                done += len(chunk)
                if progress:
                    progress(done, total)
            passes.append(columns)
        return passes
    finally:
        tools.close()


def _chunks(pairs: Sequence[Pair]) -> list[Sequence[Pair]]:
    return [pairs[n : n + CHUNK] for n in range(0, len(pairs), CHUNK)]


def _uncached(judge: Any) -> Any:
    """The same judge without its memory; the local judge has none."""
    if judge is None or judge == "local" or (isinstance(judge, dict) and judge.get("preset") == "local"):
        return judge
    return {**({"preset": judge} if isinstance(judge, str) else judge), "cache": False}
