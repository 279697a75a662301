"""`--jobs`: local metrics in several processes; each loads its models once, then scores one chunk after another.

Calls of a judge over the network, live bots, and metrics that only this process knows stay here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import msgspec

from answerkey.files import json_line, read_as
from answerkey.metrics.plan import Plan
from answerkey.metrics.registry import ENTRY_POINT_GROUP
from answerkey.processes import Processes, jobs_for
from answerkey.runs.ask import Answered
from answerkey.runs.case_copy import CopiedCase
from answerkey.runs.control import GroupCounts
from answerkey.runs.journal import response_record
from answerkey.runs.records import to_json
from answerkey.runs.score import Measured, Scorer, cost_of, pairs_of, scorer_of
from answerkey.runs.store import Scored
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.types import Case, Json, Requirement, Response, Score, Status

# So many cases pay for starting processes, and for loading their models.
_ENOUGH, _ENOUGH_WITH_MODEL = 4_000, 512
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


class ScoredChunk(msgspec.Struct):
    """Cases scored by a process: the records of both journals, and what the run itself keeps of them."""

    responses: list[msgspec.Raw]
    scores: list[msgspec.Raw]
    finished: list[int]
    counts: GroupCounts
    cost: float


class ScoringProcesses:
    """Processes that compute those metrics of a suite that need nothing of this process."""

    def __init__(
        self, count: int, suite: Suite, names: tuple[str, ...], all_names: tuple[str, ...]
    ) -> None:
        self._names, self.whole = frozenset(names), names == all_names
        setup = {name: getattr(suite, name) for name in _SETUP} | {"metrics": names}
        self._processes = Processes(count, f"{__name__}:score_here", setup)

    def scored(self, chunks: Iterable[list[tuple[int, bytes]]]) -> Iterator[ScoredChunk]:
        """The outcomes of recorded cases, each as a line of a `CaseCopy`, chunk by chunk and in order. Only where these
        processes compute every metric (`whole`)."""
        sent = (
            (None, msgspec.Raw(b"[%b]" % b",".join(line for _, line in chunk))) for chunk in chunks
        )
        return (read_as(found, ScoredChunk) for _, found in self._processes.map(sent))

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
    """In a process: the function that scores a chunk of cases with their answers, or of lines of a `CaseCopy`."""
    criteria = msgspec.convert(setup["criteria"], tuple[Requirement, ...])
    suite = replace(
        Suite(name="", cases=(), **setup), folder=Path(setup["folder"]), criteria=criteria
    )
    scorer = scorer_of(suite, names=setup["metrics"])

    def score(chunk: bytes) -> object:
        if chunk.startswith(b"[["):
            return scorer.plan.score(read_as(chunk, list[tuple[Case, Response]]))
        return _score_copied(scorer, read_as(chunk, list[CopiedCase]))

    return score


def _score_copied(scorer: Scorer, copied: Sequence[CopiedCase]) -> ScoredChunk:
    target = Recorded()
    positions, pairs = (
        [each.n for each in copied],
        [(each.case, target.lookup(each.case)) for each in copied],
    )
    outcomes = scorer.outcomes(pairs)
    counts = GroupCounts()
    for outcome in outcomes:
        counts.add(outcome)
    numbered = list(zip(positions, outcomes, strict=True))
    return ScoredChunk(
        [
            msgspec.Raw(json_line(response_record(n, each.case, each.response)))
            for n, each in numbered
        ],
        [msgspec.Raw(json_line(Scored(n, each).record())) for n, each in numbered],
        [n for n, each in numbered if each.verdict.status != Status.ERROR],
        counts,
        sum(map(cost_of, outcomes)),
    )


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
    return ScoringProcesses(count, suite, tuple(names), scorer.plan.names) if names else None
