"""The same suite on a Ray cluster: actors score shards of cases, write Parquet parts, and report their tallies.

Plain actors rather than Ray Data: a chunk is on disk before the next one starts, so a killed worker repeats at most one
chunk and a killed driver continues with --resume; a pipeline of Ray Data would start again from its first row.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections import deque
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from answerkey.errors import (
    AnswerkeyError,
    EndpointError,
    IncompleteError,
    MissingPackage,
    SettingsError,
)
from answerkey.runs.control import Budget, Finished, Options, Stop, Watch
from answerkey.runs.engines.merge import merge_parts
from answerkey.runs.engines.shards import Sharded, Sizes, Todo, begin, cut, parts_of, sizes_of
from answerkey.runs.engines.worker import ChunkReport, RemoteJudge, SharedJudge, Task, Worker
from answerkey.runs.format1 import PARTS
from answerkey.runs.manifest import write_manifest
from answerkey.runs.prepare import Prepared, prepare
from answerkey.runs.store import locked, new_folder, sealed
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.text import format_count
from answerkey.types import Json

_STORE = 100 << 20  # bytes; only small messages go through Ray's own memory
_MOST_DEATHS = 3  # of workers over one chunk


@dataclass(frozen=True, slots=True)
class Cluster:
    """The address of a cluster (None: Ray on this machine), the number of workers (None: one per processor), and
    the sizes of shards and chunks of a new run (None: the defaults)."""

    address: str | None = None
    workers: int | None = None
    sizes: Sizes | None = None


@dataclass(slots=True)
class _Crew:
    """The workers and what each of them does. `running` is keyed by the stream of a worker's reports, `starting` by the
    call that loads a worker's models; it waits where the cluster has no processor left, as after the loss of a node."""

    ray: Any
    task: Task
    judge: Any
    idle: list[Any] = field(default_factory=list[Any])
    starting: dict[Any, Any] = field(default_factory=dict[Any, Any])
    lost: int = 0  # workers that died while they started
    running: dict[Any, tuple[Any, Todo]] = field(default_factory=dict[Any, tuple[Any, Todo]])

    def hire(self) -> None:
        worker = self.ray.remote(num_cpus=1)(_Actor).remote()
        self.starting[worker.start.remote(self.task, self.judge)] = worker

    def take_in(self, started: Any) -> None:
        """A worker that has started; an error there ends the run. One that is lost with its node is replaced."""
        worker = self.starting.pop(started)
        try:
            with _errors_of_workers():
                self.ray.get(started)
            self.idle.append(worker)
        except _Lost as error:
            self.lost += 1
            if self.lost >= _MOST_DEATHS or not (self.idle or self.running or self.starting):
                raise IncompleteError(
                    f"a worker died while it started ({error}); check the memory of the nodes, then continue with --resume"
                ) from None
            self.hire()

    def dismiss(self) -> None:
        working = (worker for worker, _ in self.running.values())
        for worker in [*self.idle, *self.starting.values(), *working, self.judge]:
            if worker is not None:
                self.ray.kill(worker)


class _Actor:
    """A worker as Ray sees it. It starts in a call, not in its constructor, so that an error there is reported."""

    def start(self, task: Task, judge: Any) -> None:
        gc.set_threshold(50_000)  # as the command line does
        self._worker = Worker(task, RemoteJudge(judge) if judge is not None else None)

    def score(self, *shard: Any) -> Generator[ChunkReport]:
        yield from self._worker.score(*shard)


def run_on_cluster(
    suite: Suite,
    options: Options,
    cluster: Cluster,
    watch: Watch | None = None,
    stop: Stop | None = None,
) -> Finished:
    """Start or resume a run. However it ends, the parts that were written stay and the run can be resumed."""
    asked = {
        "--stop-on-fail": options.stop_on_fail,
        "[run] stop_below": suite.run.stop_below is not None,
        "--resume-limit": options.resume_limit is not None,
        "--accept-changes": options.accept_changes,
    }
    if given := [name for name, is_set in asked.items() if is_set]:
        raise SettingsError(
            f"{given[0]} needs --engine local, as on a cluster chunks end in any order; leave it out"
        )
    ray = _import_ray()
    suite = replace(suite, folder=suite.folder.resolve())
    sizes = (cluster.sizes if options.resume is None else None) or sizes_of(suite, options.resume)
    source = Sharded(
        cut(suite.cases, suite.folder, sizes.shard), options.selection, " ".join(suite.cases)
    )
    watch = watch or Watch()
    stop = Stop() if stop is None else stop
    with closing(prepare(suite, options.selection, source)) as prepared:
        folder = options.resume or new_folder(suite.folder / suite.run.out, suite.name)
        folder = folder.resolve()
        with locked(folder):
            manifest, todo = begin(folder, prepared, source, sizes, new=options.resume is None)
            write_manifest(folder, manifest)
            (folder / PARTS).mkdir(exist_ok=True)
            watch.start(prepared.count, prepared.count - sum(each.left for each in todo))
            try:
                task = Task(suite, options.selection, folder, sizes.chunk)
                with _connected(ray, cluster, prepared, task, watch) as crew:
                    _work(crew, deque(todo), prepared, watch, stop)
            except IncompleteError as error:
                stop.set(str(error))
            parts = parts_of(folder)
            done = sum(part.rows for part in parts)
            errors = sum(part.errors for part in parts)
            left = prepared.count - done + errors
            if left <= 0:
                partial = ""
            else:
                if stop:
                    partial = stop.reason
                else:
                    partial = f"{format_count(left, 'case')} ended in an error"
            finished = Finished(
                folder,
                partial,
                stop.interrupted,
                asked=done,
                errors=errors,
                ended_in_errors=bool(partial) and not stop,
            )
            merge_parts(folder, manifest)
            write_manifest(folder, sealed(folder, replace(manifest, partial=finished.partial)))
    return finished


def _work(crew: _Crew, todo: deque[Todo], prepared: Prepared, watch: Watch, stop: Stop) -> None:
    budget = Budget(prepared.suite.run)
    while (todo or crew.running) and not stop:
        while todo and crew.idle:
            worker = crew.idle.pop()
            mine = todo.popleft()
            reports = worker.score.options(num_returns="streaming").remote(
                mine.shard, mine.done, mine.again
            )
            crew.running[reports] = worker, mine
        ready, _ = crew.ray.wait([*crew.running, *crew.starting], num_returns=1, timeout=0.5)
        for reports in ready:
            if reports in crew.starting:
                crew.take_in(reports)
                continue
            report = _next_report(crew, reports, todo, watch)
            if report is None:
                continue
            budget.spent += report.cost
            watch.group(report.counts)
            if report.stop:
                stop.set(report.stop)
        if reason := budget.exceeded():
            stop.set(reason)


def _next_report(crew: _Crew, reports: Any, todo: deque[Todo], watch: Watch) -> ChunkReport | None:
    """A worker's next report; None if its shard is done, or if the worker died and another one continues."""
    worker, mine = crew.running[reports]
    try:
        with _errors_of_workers():
            return crew.ray.get(next(reports))
    except StopIteration:
        del crew.running[reports]
        crew.idle.append(worker)
    except _Lost:
        del crew.running[reports]
        folder = crew.task.folder
        left = mine.after_a_death(parts_of(folder, mine.shard.number))
        if left.deaths >= _MOST_DEATHS:
            raise IncompleteError(
                f"{left.deaths} workers died in the same chunk of {mine.shard.name} (shard {mine.shard.number}); "
                "check the memory of the nodes, then continue with --resume"
            ) from None
        watch.note(
            f"a worker died in shard {mine.shard.number}; another continues after its last complete chunk"
        )
        todo.appendleft(left)
        crew.hire()
    return None


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry
    os.environ.setdefault(
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0"
    )  # silences a deprecation warning
    try:
        import ray
    except ImportError:
        raise MissingPackage("ray", "ray") from None
    return ray


@contextmanager
def _connected(
    ray: Any, cluster: Cluster, prepared: Prepared, task: Task, watch: Watch
) -> Generator[_Crew]:
    """Workers on the cluster, or on Ray on this machine; released at the end in any case."""
    ours = not ray.is_initialized()
    if ours:
        _start(ray, cluster)
    live = not isinstance(prepared.target, Recorded)
    processors = max(1, int(ray.cluster_resources().get("CPU", 1)))
    wanted = cluster.workers or processors
    if wanted > processors:
        watch.note(
            f"{wanted} workers wanted, but the cluster has {processors} processors: using {processors}"
        )
    # At most as many as may ask a live bot at the same time.
    count = min(wanted, processors, prepared.suite.run.workers if live else wanted)
    name = prepared.scorer.judge
    judge = None
    if name != "none" and not name.startswith("local "):
        judge = ray.remote(num_cpus=0, max_concurrency=count + 1)(SharedJudge).remote(
            prepared.suite.judge, prepared.suite.entailment
        )
    crew = _Crew(ray, replace(task, asking=max(1, prepared.suite.run.workers // count)), judge)
    try:
        for _ in range(count):
            crew.hire()
        yield crew
    finally:
        crew.dismiss()
        if ours:
            ray.shutdown()


def _start(ray: Any, cluster: Cluster) -> None:
    quiet: Json = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
    here: Json = {"object_store_memory": _STORE, "_node_ip_address": "127.0.0.1"}
    main = threading.current_thread() is threading.main_thread()
    if main:
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    else:
        before = {}
    try:
        if cluster.address:
            ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        else:
            ray.init(num_cpus=cluster.workers or os.cpu_count() or 1, **here, **quiet)
    except (
        Exception
    ) as error:  # Ray raises a bare Exception where its processes take too long to start
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EndpointError(
            f"Ray at {cluster.address or 'this machine'} does not answer: {reason}"
        ) from None
    finally:  # Ray replaces the handler of SIGTERM; ours ends a run cleanly
        for number, handler in before.items():
            signal.signal(number, handler)


class _Lost(Exception):
    """A worker, its node, or what it had just reported is gone."""


@contextmanager
def _errors_of_workers() -> Generator[None]:
    """Errors of ours are raised as they were in the worker."""
    from ray.exceptions import RayError, RayTaskError

    try:
        yield
    except RayTaskError as error:
        if isinstance(error.cause, AnswerkeyError):
            raise error.cause from None
        raise
    except RayError as error:
        raise _Lost((str(error).splitlines() or [type(error).__name__])[0]) from error
