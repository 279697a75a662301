"""A worker of a cluster: loads its models once, then scores shards and stores each chunk before the next one.

Workers share one judge, so that its rate limit, cache and usage count for the whole run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from answerkey.cases import read_responses
from answerkey.entailment.load import load_pair_model
from answerkey.errors import EndpointError, StorageError
from answerkey.metrics.judge.judged_metrics import Judge, load_judge, uses_local_models
from answerkey.runs.ask import Numbered, ask_all, attempts, conversations
from answerkey.runs.control import ErrorStreak, GroupCounts, Selection, Stop
from answerkey.runs.engines.parts import NumberedOutcome, outcomes_in, part_path, write_part
from answerkey.runs.engines.shards import Shard, selected_of
from answerkey.runs.repeats import Repeats
from answerkey.runs.score import cost_of, in_chunks, scorer_of
from answerkey.runs.store import is_run
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.targets.resolve import make_target
from answerkey.types import Status


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker needs to start: `chunk` cases go into a part, `asking` live questions are asked at the same time."""

    suite: Suite
    selection: Selection
    folder: Path
    chunk: int
    asking: int = 1


@dataclass(frozen=True, slots=True)
class ChunkReport:
    """Sent after each chunk, when it is on disk: its counts, its cost, and a reason to stop, if there is one."""

    counts: GroupCounts
    new: int
    cost: float
    stop: str


class Worker:
    def __init__(self, task: Task, judge: Any = None) -> None:
        if not is_run(task.folder):
            raise StorageError(
                f"{task.folder}: a worker cannot see the run folder; the suite and its results must be on storage "
                "that every node of the cluster shares"
            )
        suite = task.suite
        self._task = task
        self._scorer = scorer_of(suite, judge)
        self._target = make_target(suite.target, suite.folder, read_responses, suite.run.timeout)
        self._streak = ErrorStreak(suite.run.max_equal_errors)
        self._repeats = Repeats.of_table(suite.run)

    def score(
        self, shard: Shard, done: frozenset[int], again: frozenset[int]
    ) -> Iterator[ChunkReport]:
        """Score the chunks of a shard that are not done; of those in `again` only the cases with errors."""
        for number, chunk in enumerate(self._chunks(shard)):
            if number in done and number not in again:
                continue
            path = part_path(self._task.folder, shard.number, number)
            stored = outcomes_in(path) if number in again else ()
            kept = [(n, outcome) for n, outcome in stored if outcome.verdict.status != Status.ERROR]
            known = {n for n, _ in kept}
            new = self._outcomes([(n, case) for n, case in chunk if n not in known])
            counts = GroupCounts()
            outcomes = sorted([*kept, *new], key=lambda numbered: numbered[0])
            for _, outcome in outcomes:
                counts.add(outcome)
            write_part(path, (shard.number, number), self._scorer.plan.names, outcomes)
            reasons = [self._streak.reason_to_stop(outcome) for _, outcome in new]
            cost = sum(cost_of(outcome) for _, outcome in new)
            yield ChunkReport(counts, len(new), cost, next(filter(None, reasons), ""))

    def _chunks(self, shard: Shard) -> Iterator[list[Numbered]]:
        cases = selected_of(shard, self._task.selection)
        if isinstance(self._target, Recorded):
            yield from in_chunks(cases, self._task.chunk)
            return
        chunk: list[Numbered] = []
        for unit in conversations(cases):  # the turns of one conversation stay together
            chunk += unit
            if len(chunk) >= self._task.chunk:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    def _outcomes(self, cases: list[Numbered]) -> list[NumberedOutcome]:
        target = self._target
        asked = attempts(cases, self._repeats.times)
        scored = list[NumberedOutcome]()
        if isinstance(target, Recorded):
            answered = ((n, case, target.lookup(case)) for n, case in asked)
        else:
            batches = ask_all(target, asked, self._task.asking, Stop(), lambda batch: None)
            answered = (each for batch in batches for each in batch)
        for part in in_chunks(answered, self._scorer.batch):
            outcomes = self._scorer.outcomes([(case, response) for _, case, response in part])
            scored += [(n, outcome) for (n, _, _), outcome in zip(part, outcomes, strict=True)]
        scored.sort(key=lambda numbered: numbered[0])
        return list(self._repeats.combined(scored))

    def close(self) -> None:
        with suppress(Exception):
            self._target.close()
            self._scorer.close()


class SharedJudge:
    """The judge itself, in an actor that takes one call from each worker at a time."""

    def __init__(
        self, settings: Mapping[str, Any] | str, entailment: Mapping[str, Any] | None = None
    ) -> None:
        pair_model = None
        if entailment is not None and uses_local_models(settings):
            pair_model = load_pair_model(**entailment)
        self._judge: Judge = load_judge(settings, pair_model=pair_model)

    def about(self) -> tuple[str, str, int]:
        return self._judge.name, self._judge.fingerprint(), getattr(self._judge, "concurrency", 0)

    def call(self, name: str, *arguments: Any, **options: Any) -> Any:
        return getattr(self._judge, name)(*arguments, **options)


class RemoteJudge:
    """What each worker has instead: the same calls, answered by the shared judge."""

    def __init__(self, shared: Any) -> None:
        self.name, self._fingerprint, self.concurrency = self._remote(shared.about)
        for name in ("rubric", "judge", "criteria", "prefer", "usage"):
            setattr(self, name, partial(self._remote, shared.call, name))

    def fingerprint(self) -> str:
        return self._fingerprint

    def close(self) -> None:
        """Nothing to do: the driver closes the shared judge."""

    def _remote(self, method: Any, *arguments: Any, **options: Any) -> Any:
        """An error of the judge is raised as it was, so that the run stops as a local one does."""
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        try:
            return ray.get(method.remote(*arguments, **options))
        except RayActorError:
            raise EndpointError("the judge's process ended; continue with --resume") from None
        except RayTaskError as error:
            raise error.cause from None
