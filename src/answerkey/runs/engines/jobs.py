"""`--jobs`: local metrics in several processes; each loads its models once, then scores one chunk after another.

Calls of a judge over the network, live bots, and metrics that only this process knows stay here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import msgspec

from answerkey.files import read_as
from answerkey.metrics.plan import Plan
from answerkey.metrics.registry import ENTRY_POINT_GROUP
from answerkey.processes import Processes, jobs_for
from answerkey.runs.ask import Answered
from answerkey.runs.records import to_json
from answerkey.runs.score import Measured, Scorer, pairs_of, scorer_of
from answerkey.runs.suite import Suite
from answerkey.types import Case, Json, Requirement, Response, Score

# Below these numbers of cases, starting processes and loading their models costs more than it saves.
_ENOUGH = 4_000
_ENOUGH_WITH_MODEL = 512
_SETUP = (
    "folder",
    "profile",
    "modules",
    "judge",
    "embedding",
    "entailment",
    "criteria",
    "settings",
)  # what a scorer is made of


class ScoringProcesses:
    """Processes that compute those metrics of a suite that need nothing of this process."""

    def __init__(self, count: int, suite: Suite, names: tuple[str, ...]) -> None:
        self._names = frozenset(names)
        setup = {name: getattr(suite, name) for name in _SETUP} | {"metrics": names}
        self._processes = Processes(count, f"{__name__}:score_here", setup)

    def measured(self, plan: Plan, chunks: Iterable[list[Answered]]) -> Iterator[Measured]:
        """Each chunk with its scores, in order; steps of the plan that must stay here are computed here."""
        here = Plan(tuple(step for step in plan.steps if step.metrics[0].name not in self._names))
        sent = (
            (chunk, [[to_json(case), to_json(response)] for _, case, response in chunk])
            for chunk in chunks
        )
        for chunk, found in self._processes.map(sent):
            table = read_as(found, list[dict[str, Score]])
            if here.steps:
                table = [
                    theirs | ours
                    for theirs, ours in zip(table, here.score(pairs_of(chunk)), strict=True)
                ]
            yield chunk, table

    def close(self) -> None:
        self._processes.close()


def score_here(setup: Json) -> Callable[[bytes], object]:
    """In a process: the function that scores a chunk of cases with their answers."""
    criteria = msgspec.convert(setup["criteria"], tuple[Requirement, ...])
    suite = replace(
        Suite(name="", cases=(), **setup), folder=Path(setup["folder"]), criteria=criteria
    )
    scorer = scorer_of(suite, names=setup["metrics"])

    def score(chunk: bytes) -> object:
        return scorer.plan.score(read_as(chunk, list[tuple[Case, Response]]))

    return score


def start_processes(suite: Suite, scorer: Scorer, answers: int) -> ScoringProcesses | None:
    """Processes for so many answers, as `[run] jobs` asks for; by default one per core where there is enough to do."""
    enough = answers >= (_ENOUGH if scorer.embedding == "none" else _ENOUGH_WITH_MODEL)
    count = jobs_for(suite.run.jobs, -(-answers // scorer.batch), enough=enough)
    if count == 1:
        return None
    known = (
        "answerkey",
        *suite.modules,
        *(point.module for point in entry_points(group=ENTRY_POINT_GROUP)),
    )
    names: list[str] = []
    for step in (
        scorer.plan.steps
    ):  # another process must find the metric by its name, and no network judge may be asked
        found = any(f"{step.metrics[0].module}.".startswith(f"{module}.") for module in known)
        if found and ("judge" not in step.arguments or scorer.judge.startswith("local ")):
            names += [metric.name for metric in step.metrics]
    if names:
        return ScoringProcesses(count, suite, tuple(names))
    return None
