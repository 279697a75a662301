"""Many blocking calls at once. The threads are daemons: an interrupted run need not wait for a slow endpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_threads(function: Callable[[T], R], items: Sequence[T], workers: int) -> list[R]:
    """`function` of every item, in order. The first exception is raised at once; what has not begun is left."""
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

    for _ in range(min(workers, len(items))):
        threading.Thread(target=work, name="answerkey-llm", daemon=True).start()
    results: list[Any] = [None] * len(items)
    try:
        for _ in items:
            n, result, error = done.get()
            if error is not None:
                raise error
            results[n] = result
    finally:
        ended.set()
    return results
