"""One worker: it loads its models once, then scores shards, and writes each chunk down before it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerkey.cases import read_responses
from answerkey.errors import EndpointError, StorageError
from answerkey.metrics.judge.judged_metrics import Judge, load_judge
from answerkey.profiles import load_profile
from answerkey.profiles.decide import ERROR
from answerkey.runs.ask import Answered, ask_all, conversations
from answerkey.runs.control import Selection, Stop
from answerkey.runs.engines.parts import Numbered, outcomes_in, part_path, write_part
from answerkey.runs.engines.shards import Shard, selected_of
from answerkey.runs.execute import chunk_size, in_chunks, judge_cost, verdict_of
from answerkey.runs.score import make_tools
from answerkey.runs.store import is_run
from answerkey.runs.suite import Suite
from answerkey.runs.summary import Summary
from answerkey.targets.recorded import Recorded
from answerkey.targets.resolve import make_target
from answerkey.types import Case, Json, Outcome, Pair, Score

_SAME_ERROR_LIMIT = 10


@dataclass(frozen=True, slots=True)
class Task:
    """Everything a worker is told at its start: `chunk` cases go into a part, `asking` live questions are asked at once."""

    suite: Suite
    selection: Selection
    folder: Path
    chunk: int
    asking: int = 1


class Worker:
    def __init__(self, task: Task, judge: Any = None) -> None:
        if not is_run(task.folder):
            raise StorageError(
                f"{task.folder}: a worker cannot see the run's folder; the suite and its results must be on storage "
                "that every node of the cluster shares"
            )
        suite = task.suite
        self._task = task
        self._profile = None if suite.profile is None else load_profile(suite.profile, suite.folder)
        self._tools = make_tools(suite, self._profile, judge)
        self._target = make_target(suite.target, suite.folder, read_responses, suite.run.timeout)
        self._at_once = chunk_size(self._tools)
        self._same_error = ("", 0)

    def score(self, shard: Shard, done: frozenset[int], again: frozenset[int]) -> Iterator[Json]:
        """Score the chunks of a shard that are not done; of those in `again` only what ended in an error.

        After each chunk, when it is on disk: its figures, its cost, and why to stop, if there is a reason.
        """
        for number, chunk in enumerate(self._chunks(shard)):
            if number in done and number not in again:
                continue
            path = part_path(self._task.folder, shard.number, number)
            kept = (
                [(n, o) for n, o in outcomes_in(path) if o.verdict.status != ERROR] if number in again else []
            )
            known = {n for n, _ in kept}
            new = self._outcomes([(n, case) for n, case in chunk if n not in known])
            summary = Summary(self._profile)
            outcomes = sorted([*kept, *new], key=lambda numbered: numbered[0])
            for _, outcome in outcomes:
                summary.add(outcome)
            sketch = summary.to_json()
            write_part(path, (shard.number, number), self._tools.plan.names, outcomes, sketch)
            cost = sum((o.response.cost or 0.0) + judge_cost(o.scores) for _, o in new)
            yield {"new": len(new), "all": sketch["all"], "cost": cost, "stop": self._reason_to_stop(new)}

    def _chunks(self, shard: Shard) -> Iterator[list[tuple[int, Case]]]:
        cases = selected_of(shard, self._task.selection)
        if isinstance(self._target, Recorded):
            yield from in_chunks(cases, self._task.chunk)
            return
        chunk: list[tuple[int, Case]] = []
        for unit in conversations(cases):  # the turns of one conversation stay together
            chunk += unit
            if len(chunk) >= self._task.chunk:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    def _outcomes(self, cases: list[tuple[int, Case]]) -> list[Numbered]:
        scored: list[Numbered] = []
        for part in in_chunks(self._answered(cases), self._at_once):
            table = self._tools.plan.score([(case, response) for _, case, response in part])
            for (n, case, response), scores in zip(part, table, strict=True):
                verdict = verdict_of(self._profile, case, response, scores)
                scored.append((n, Outcome(case, response, scores, verdict)))
        return scored

    def _answered(self, cases: list[tuple[int, Case]]) -> Iterator[Answered]:
        target = self._target
        if isinstance(target, Recorded):
            yield from ((n, case, target.lookup(case)) for n, case in cases)
            return
        for batch in ask_all(target, cases, self._task.asking, Stop(), lambda answered: None):
            yield from batch

    def _reason_to_stop(self, new: list[Numbered]) -> str:
        """The same failure to reach the bot, many times in a row."""
        for _, outcome in new:
            response = outcome.response
            if response.error_kind != "infrastructure":
                self._same_error = ("", 0)
                continue
            name = response.error_name
            self._same_error = name, self._same_error[1] + 1 if self._same_error[0] == name else 1
            if self._same_error[1] >= _SAME_ERROR_LIMIT:
                return f"{self._same_error[1]} times in a row: {response.error}; mend the target, then go on with --resume"
        return ""

    def close(self) -> None:
        with suppress(Exception):
            self._target.close()
            self._tools.close()


class JudgeRoom:
    """The real judge. It lives in one actor that takes a call from each worker at once; its limiter does the rest."""

    def __init__(self, settings: Mapping[str, Any] | str) -> None:
        self._judge: Judge = load_judge(settings)

    def about(self) -> tuple[str, str, int]:
        return self._judge.name, self._judge.fingerprint(), getattr(self._judge, "concurrency", 0)

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        return self._judge.rubric(pairs)

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        return self._judge.judge(name, pairs)

    def usage(self) -> Json:
        return self._judge.usage()


class RemoteJudge:
    """What a worker holds instead: the same calls, answered by the one judge."""

    def __init__(self, room: Any) -> None:
        self._room = room
        self.name, self._fingerprint, self.concurrency = self._call("about")

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        return self._call("rubric", pairs)

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        return self._call("judge", name, pairs)

    def usage(self) -> Json:
        return self._call("usage")

    def fingerprint(self) -> str:
        return self._fingerprint

    def close(self) -> None:
        """It is shared: the driver ends it."""

    def _call(self, name: str, *arguments: Any) -> Any:
        """An error of the judge is raised as what it was, so that a run stops as a local one does."""
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        try:
            return ray.get(getattr(self._room, name).remote(*arguments))
        except RayActorError:
            raise EndpointError("the process that holds the judge ended; go on with --resume") from None
        except RayTaskError as error:
            raise error.cause from None
