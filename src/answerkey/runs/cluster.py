"""`--engine ray`: shards on a Ray cluster, which only starts them and tells when they end.

Plain tasks rather than Ray Data: each answer is on disk before the next question, so a killed task
continues where it was; a pipeline of Ray Data would start again from its first row.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from answerkey.entailment.load import load_pair_model
from answerkey.errors import AnswerkeyError, EndpointError, MissingPackage, SettingsError
from answerkey.metrics.judge.judged_metrics import Judge, load_judge, uses_local_models
from answerkey.runs.control import Cluster, Options, Watch
from answerkey.runs.prepare import Prepared
from answerkey.runs.shard_worker import ShardTask, run_shard
from answerkey.runs.shards import ShardEnd
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.types import Json

_STORE = 100 << 20  # bytes; only small messages go through Ray's own memory
_MOMENT = 0.5  # seconds to wait for news, so that a stop is noticed


def check_cluster_run(suite: Suite, options: Options) -> None:
    """Refuse what needs one process, and a missing package, before anything is prepared."""
    refused = {
        "--stop-on-fail": options.stop_on_fail,
        "[run] stop_below": suite.run.stop_below is not None,
        "[user]": suite.user is not None,
    }
    for name, is_set in refused.items():
        if is_set:
            raise SettingsError(
                f"{name} needs --engine local, as on a cluster cases end in any order; leave it out"
            )
    _import_ray()


class RayPool:
    """A `ShardPool` of the workers of a cluster, or of Ray on this machine."""

    def __init__(
        self, cluster: Cluster, prepared: Prepared, options: Options, watch: Watch
    ) -> None:
        self._ray = _import_ray()
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            _start(self._ray, cluster)
        live = not isinstance(prepared.target, Recorded)
        workers = prepared.suite.run.workers
        self.count = _count_workers(self._ray, cluster, watch)
        if live:  # at most as many as may ask the bot at the same time
            self.count = min(self.count, workers)
        self._judge: Any = None
        if prepared.scorer.asks_network:
            actor = self._ray.remote(num_cpus=0, max_concurrency=self.count + 1)(SharedJudge)
            self._judge = actor.remote(prepared.suite.judge, prepared.suite.entailment)
        task = ShardTask(
            prepared.suite,
            live=live,
            debug=options.debug,
            asking=max(1, workers // self.count),
            judge=self._judge,
        )
        # Shared by all calls, instead of being sent with each of them.
        self._task = self._ray.put(task)
        # Ray would start a lost shard again by itself, without our limit.
        self._run_shard = self._ray.remote(num_cpus=1, max_retries=0)(_run_shard)
        self._running: dict[Any, Path] = {}

    def start(self, shard: Path) -> None:
        self._running[self._run_shard.remote(self._task, shard.resolve())] = shard

    def wait(self) -> list[tuple[Path, ShardEnd | None]]:
        done, _ = self._ray.wait([*self._running], num_returns=1, timeout=_MOMENT)
        return [(self._running.pop(call), self._end_of(call)) for call in done]

    def _end_of(self, call: Any) -> ShardEnd | None:
        """How a shard ended; errors of ours are raised as they were in the worker."""
        from ray.exceptions import RayError, RayTaskError

        try:
            return self._ray.get(call)
        except RayTaskError as error:
            if isinstance(error.cause, AnswerkeyError):
                raise error.cause from None
            raise
        except RayError:  # the worker, its node, or what it had just returned is gone
            return None

    def close(self) -> None:
        for call in self._running:
            self._ray.cancel(call, force=True)
        if self._judge is not None:
            self._ray.kill(self._judge)
        if self._is_ours:
            self._ray.shutdown()


def _run_shard(task: ShardTask, shard: Path) -> ShardEnd:
    """A shard as a Ray task."""
    gc.set_threshold(50_000)  # as the command line does
    return run_shard(task, shard, RemoteJudge)


def _count_workers(ray: Any, cluster: Cluster, watch: Watch) -> int:
    processors = max(1, int(ray.cluster_resources().get("CPU", 1)))
    workers = cluster.workers or processors
    if workers > processors:
        watch.note(
            f"{workers} workers wanted, but the cluster has {processors} processors: "
            f"using {processors}"
        )
    return min(workers, processors)


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry
    # Silences a deprecation warning.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise MissingPackage("ray", "ray") from None
    return ray


def _start(ray: Any, cluster: Cluster) -> None:
    quiet: Json = {"log_to_driver": False, "logging_level": "ERROR"}
    here: Json = {
        "object_store_memory": _STORE,
        "_node_ip_address": "127.0.0.1",
        "include_dashboard": False,
    }
    handlers: dict[int, Any] = {}
    # Python allows only the main thread to set signal handlers.
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        if cluster.address:
            ray.init(address=cluster.address, **quiet)
        else:
            # Ray gives its workers the lowest priority but four, which protects the other users of
            # a cluster; here they would get a fraction of what the processes of --jobs get.
            os.environ.setdefault("RAY_worker_niceness", "0")
            ray.init(num_cpus=cluster.workers or os.cpu_count() or 1, **here, **quiet)
    # Ray raises a bare Exception where its processes take too long to start.
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EndpointError(
            f"Ray at {cluster.address or 'this machine'} does not answer: {reason}"
        ) from None
    finally:  # Ray replaces the handler of SIGTERM; ours ends a run cleanly
        for number, handler in handlers.items():
            signal.signal(number, handler)


class SharedJudge:
    """The judge of the whole cluster: one rate limit, one cache and one count of its use.

    An actor that takes one call from each worker at a time.
    """

    def __init__(self, settings: Mapping[str, Any] | str, entailment: Mapping[str, Any]) -> None:
        pair_model = None
        # A judge that is a service needs no model in this process.
        if uses_local_models(settings):
            pair_model = load_pair_model(**entailment)
        self._judge: Judge = load_judge(settings, pair_model=pair_model)

    def about(self) -> tuple[str, str, int]:
        return self._judge.name, self._judge.fingerprint(), getattr(self._judge, "concurrency", 0)

    def call(self, name: str, *arguments: Any, **options: Any) -> Any:
        return getattr(self._judge, name)(*arguments, **options)


class RemoteJudge:
    """A judge for each worker: the same calls, answered by the shared judge."""

    def __init__(self, shared: Any) -> None:
        self.name, self._fingerprint, self.concurrency = self._remote(shared.about)
        for name in ("rubric", "judge", "criteria", "prefer", "usage"):
            setattr(self, name, partial(self._remote, shared.call, name))

    def fingerprint(self) -> str:
        return self._fingerprint

    def close(self) -> None:
        """Nothing to do: the driver ends the shared judge."""

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
