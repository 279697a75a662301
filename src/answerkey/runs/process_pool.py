"""`--jobs`: shards in processes of this machine."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from answerkey.runs.shard_worker import ShardTask
    from answerkey.runs.shards import ShardEnd

# This module is imported before a process sets these, so it imports nothing that starts threads.
# Each process has one thread: several would only slow each other down.
_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MOMENT = 0.5  # seconds to wait for news, so that a stop is noticed


class ProcessPool:
    """A `ShardPool` of local processes."""

    def __init__(self, count: int, task: ShardTask) -> None:
        self.count = count
        self._task = task
        self._executor = self._make_executor()
        self._running: dict[Future[ShardEnd], Path] = {}

    def _make_executor(self) -> ProcessPoolExecutor:
        # Not "fork": it would copy threads that are at work in a model.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.count, context, initializer=_begin_process)

    def start(self, shard: Path) -> None:
        from answerkey.runs.shard_worker import run_shard  # imports what a run does, and so this

        future: Future[ShardEnd]
        try:
            with _without_main_module():
                future = self._executor.submit(run_shard, self._task, shard)
        except BrokenProcessPool as error:
            # The pool may notice a loss between two calls of `wait`, which reports it.
            future = Future()
            future.set_exception(error)
        self._running[future] = shard

    def wait(self) -> list[tuple[Path, ShardEnd | None]]:
        done, _ = wait(self._running, timeout=_MOMENT, return_when=FIRST_COMPLETED)
        if any(isinstance(each.exception(), BrokenProcessPool) for each in done):
            return self._replace_processes()
        return [(self._running.pop(each), each.result()) for each in done]

    def _replace_processes(self) -> list[tuple[Path, ShardEnd | None]]:
        """After the loss of one process the standard pool ends them all: a new one takes over."""
        self._executor.shutdown()
        ended: list[tuple[Path, ShardEnd | None]] = []
        for future, shard in self._running.items():
            # Others may have ended well before the pool noticed the loss.
            is_lost = isinstance(future.exception(), BrokenProcessPool)
            ended.append((shard, None if is_lost else future.result()))
        self._running.clear()
        self._executor = self._make_executor()
        return ended

    def close(self) -> None:
        self._executor.shutdown(cancel_futures=True)


@contextmanager
def _without_main_module() -> Generator[None]:
    """Keep a new process from running the user's script again, as `multiprocessing` has it do."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _begin_process() -> None:
    gc.set_threshold(50_000)  # as the command line does
    for name in _THREAD_LIMITS:
        os.environ[name] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the run, which stops its shards
    os.dup2(2, 1)  # standard output is for the data of the run, not for what a metric prints
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process with the run: a pool whose owner is killed would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        # No clean-up: the parent is gone, and the shard's database survives a kill.
        os._exit(1)
