"""Many blocking calls at once. The threads are daemons: an interrupted run need not wait for a slow endpoint."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_threads(function: Callable[[T], R], items: Sequence[T], workers: int) -> list[R]:
    """`function` of every item, in order. The first exception is raised; what has not begun then is left.

    Calls under way get a moment to end before it is raised, but none after a Ctrl-C.
    """
    done: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
    todo = iter(range(len(items)))
    lock = threading.Lock()
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            with lock:
                n = next(todo, None)
            if n is None:
                return
            try:
                done.put((n, function(items[n]), None))
            except BaseException as error:
                done.put((n, None, error))

    threads = [
        threading.Thread(target=work, name="answerkey-llm", daemon=True)
        for _ in range(min(workers, len(items)))
    ]
    for thread in threads:
        thread.start()
    results: list[Any] = [None] * len(items)
    try:
        for _ in items:
            n, result, error = done.get()
            if error is not None:
                ended.set()
                _give_a_moment(threads)
                raise error
            results[n] = result
    finally:
        ended.set()
    return results


def _give_a_moment(threads: Sequence[threading.Thread], seconds: float = 1.0) -> None:
    until = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
