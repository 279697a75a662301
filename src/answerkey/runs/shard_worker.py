"""Runs a shard, in a process of this machine or on a node of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from answerkey.cases import read_responses
from answerkey.errors import StorageError
from answerkey.profiles import load_profile
from answerkey.runs.control import GroupCounts, Options, Selection, Stop, Watch
from answerkey.runs.execute import run_prepared
from answerkey.runs.manifest import stored_manifest
from answerkey.runs.prepare import Prepared
from answerkey.runs.resume import AlreadyFinished
from answerkey.runs.score import Scorer, cost_of, make_scorer
from answerkey.runs.shards import STOP, ShardEnd, read_shard
from answerkey.runs.store import is_run
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.targets.resolve import make_target
from answerkey.types import Outcome, Target


@dataclass(frozen=True, slots=True)
class ShardTask:
    """What the shards of a run have in common.

    `asking` live questions are asked at the same time; `judge` is the shared one of a cluster.
    """

    suite: Suite
    live: bool
    debug: bool = False
    asking: int = 1
    judge: Any = None


@dataclass(frozen=True, slots=True)
class _Tools:
    """What a process loads once, for all shards of a run."""

    home: Path
    suite: Suite
    scorer: Scorer
    target: Target


# At most one: a process holds the models of one run.
_loaded: list[_Tools] = []


def run_shard(
    task: ShardTask, shard: Path, open_judge: Callable[[Any], Any] | None = None
) -> ShardEnd:
    """Run or resume a shard until its end, or until the run stops.

    `open_judge` makes the judge of this process from the shared one.
    """
    if not is_run(shard):
        raise StorageError(
            f"{shard}: a worker cannot see this folder; the suite and its results must be on "
            "storage that every node of the cluster shares"
        )
    tools = _load_tools(task, shard.parent, open_judge)
    manifest = stored_manifest(shard)
    prepared = Prepared(
        suite=tools.suite,
        selection=Selection(),
        profile=tools.scorer.profile,
        scorer=tools.scorer,
        target=tools.target,
        cases=lambda: iter(()),
        count=manifest.count or 0,
        fingerprint=manifest.fingerprint,
        repeats=manifest.repeats,
        stored=partial(read_shard, shard),
    )
    watch = _CountingWatch()
    options = Options(resume=shard, debug=task.debug)
    try:
        finished = run_prepared(prepared, options, watch, _StopFile(shard.parent / STOP))
    except AlreadyFinished:  # its process was lost at the very end
        return ShardEnd(watch.counts, watch.cost)
    stopped = finished.partial and not finished.ended_in_errors
    return ShardEnd(watch.counts, watch.cost, finished.partial if stopped else "")


def _load_tools(task: ShardTask, home: Path, open_judge: Callable[[Any], Any] | None) -> _Tools:
    """The models of this run; those of an earlier run of the same process are closed."""
    # The folder of the shards identifies the run.
    if _loaded and _loaded[0].home == home:
        return _loaded[0]
    for tools in _loaded:
        tools.target.close()
        tools.scorer.close()
    _loaded.clear()
    # A shard is not divided again, and belongs to no file.
    settings = msgspec.structs.replace(task.suite.run, jobs=1, workers=task.asking)
    suite = replace(task.suite, run=settings, path=None)
    target: Target = Recorded()  # the cases of a shard have their answers
    if task.live:
        target = make_target(suite.target, suite.folder, read_responses, suite.run.timeout)
    judge = None
    if open_judge is not None and task.judge is not None:
        judge = open_judge(task.judge)
    profile = None
    if suite.profile is not None:
        profile = load_profile(suite.profile, suite.folder)
    _loaded.append(_Tools(home, suite, make_scorer(suite, profile, judge), target))
    return _loaded[0]


class _CountingWatch(Watch):
    """Counts the outcomes of a shard, with those from before its process was lost."""

    def __init__(self) -> None:
        self.counts = GroupCounts()
        self.cost = 0.0

    def outcome(self, outcome: Outcome) -> None:
        self.counts.add(outcome)
        self.cost += cost_of(outcome)

    def earlier(self, group: GroupCounts) -> None:
        self.counts = group


class _StopFile(Stop):
    """Set when the run writes a file beside its shards, which processes on any node see."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def __bool__(self) -> bool:
        if not super().__bool__() and self._path.exists():
            self.set("the run was stopped")
        return super().__bool__()
