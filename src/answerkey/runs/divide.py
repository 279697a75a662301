"""Whether a run is divided into shards, and who runs them."""

from __future__ import annotations

from importlib.metadata import entry_points

from answerkey.cores import available_cores
from answerkey.metrics.registry import ENTRY_POINT_GROUP
from answerkey.runs.control import Options, Watch
from answerkey.runs.prepare import Prepared
from answerkey.runs.shards import ShardPool
from answerkey.targets.recorded import Recorded

# Below these numbers of answers, starting processes and loading their models costs more than it
# saves.
_ENOUGH = 4_000
_ENOUGH_WITH_MODEL = 512


def open_pool(prepared: Prepared, options: Options, answers: int, watch: Watch) -> ShardPool | None:
    """The processes that run the shards of so many answers; None if this process does everything."""
    if options.cluster is not None:
        from answerkey.runs.cluster import RayPool

        return RayPool(options.cluster, prepared, options, watch)
    count = _count_processes(prepared, answers)
    if count == 1 or not _can_leave(prepared):
        return None
    from answerkey.runs.process_pool import ProcessPool
    from answerkey.runs.shard_worker import ShardTask

    return ProcessPool(count, ShardTask(prepared.suite, live=False, debug=options.debug))


def _count_processes(prepared: Prepared, answers: int) -> int:
    """As many as `[run] jobs` says; by default one per core where there is enough to do."""
    scorer = prepared.scorer
    enough = _ENOUGH if scorer.embedding == "none" else _ENOUGH_WITH_MODEL
    default = available_cores() if answers >= enough else 1
    # More processes than batches would have nothing to do.
    batches = -(-answers // scorer.batch)
    return max(1, min(prepared.suite.run.jobs or default, batches))


def _can_leave(prepared: Prepared) -> bool:
    """Whether another process can do this: it needs neither a live bot, nor a network judge with
    its one limiter, nor a function that only this process has."""
    if not isinstance(prepared.target, Recorded) or prepared.scorer.asks_network:
        return False
    modules = (
        "answerkey",
        # A new process imports these modules and finds their metrics again.
        *prepared.suite.modules,
        *(point.module for point in entry_points(group=ENTRY_POINT_GROUP)),
    )
    return all(
        any(f"{metric.module}.".startswith(f"{module}.") for module in modules)
        for step in prepared.scorer.plan.steps
        for metric in step.metrics
    )
