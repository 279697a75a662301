"""Many calls at once, in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from typing import TypeVar

from answerkey.background import start_thread

# Seconds that calls under way get to end after an error: their replies are paid for, and go to the cache.
_MOMENT = 1.0
T = TypeVar("T")
R = TypeVar("R")


def in_threads(function: Callable[[T], R], items: Sequence[T], workers: int) -> list[R]:
    """`function` of every item, in order. The first exception is raised; calls that have not begun are dropped.

    Calls under way get a moment to end before it is raised, but none after a Ctrl-C.
    """
    results: dict[int, R] = {}
    errors: list[BaseException] = []
    # One iterator for all threads: `next` of a range is atomic, so no item is taken twice.
    todo = iter(range(len(items)))
    ended = threading.Event()
    ready = threading.Event()  # wakes the caller once, not after every call

    def work() -> None:
        for n in todo:
            if ended.is_set():
                return
            try:
                results[n] = function(items[n])
            except BaseException as error:
                # Also KeyboardInterrupt and SystemExit of user code: a thread must not die in silence.
                errors.append(error)
            if errors or len(results) == len(items):
                ready.set()

    threads = [start_thread(work) for _ in range(min(workers, len(items)))]
    try:
        if items:
            ready.wait()
        if errors:
            ended.set()
            wait(threads, _MOMENT)
            raise errors[0]
    finally:
        ended.set()
    return [results[n] for n in range(len(items))]
