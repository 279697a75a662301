"""Runs user code, sync or async, with a time limit.

Coroutines run on the caller's event loop if it is free, otherwise on our own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")
Jobs = SimpleQueue[Callable[[], None] | None]
EventLoop = asyncio.AbstractEventLoop
_AT_ONCE = 16  # async metrics in flight; each may hold a connection of the user's client
_CALLERS: ContextVar[EventLoop | None] = ContextVar("the caller's event loop", default=None)


def event_loop() -> EventLoop:
    """The loop on which coroutines of this thread run; works inside a notebook's running loop."""
    return _CALLERS.get() or _OURS.running()


@contextmanager
def on_loop(loop: EventLoop) -> Generator[None]:
    """While it holds, coroutines run on this loop: clients that belong to it keep working."""
    token = _CALLERS.set(loop)
    try:
        yield
    finally:
        _CALLERS.reset(token)


def has_caller_loop() -> bool:
    return _CALLERS.get() is not None


def call_on(
    loop: EventLoop, function: Callable[P, Awaitable[T]], *arguments: P.args, **named: P.kwargs
) -> T:
    """The result of an async function, awaited on the loop."""

    async def begin() -> T:
        return await function(*arguments, **named)

    return asyncio.run_coroutine_threadsafe(begin(), loop).result()


def gather(
    calls: Sequence[Callable[[], Awaitable[object]]], at_once: int = _AT_ONCE
) -> list[object]:
    """The results of async calls in order, a few at a time; an exception takes the place of its result."""

    async def gather_all() -> list[object]:
        limit = asyncio.Semaphore(at_once)

        async def call_limited(call: Callable[[], Awaitable[object]]) -> object:
            async with limit:
                try:
                    return await call()
                except SystemExit as left:  # it would end the loop, and all other calls with it
                    return left

        return await asyncio.gather(*map(call_limited, calls), return_exceptions=True)

    return call_on(event_loop(), gather_all)


def start_thread(work: Callable[[], T]) -> Future[T]:
    """Start the work in a daemon thread of its own, with the caller's context."""
    done: Future[T] = Future()
    # The metrics of a call and its event loop are context variables, which threads do not inherit.
    context = copy_context()
    threading.Thread(
        target=lambda: context.run(_settle, done, work), name="answerkey-work", daemon=True
    ).start()
    return done


def _settle(done: Future[T], work: Callable[[], T]) -> None:
    try:
        done.set_result(work())
    except BaseException as error:  # a bot that calls sys.exit fails its own question only
        done.set_exception(error)


class TookTooLong(Exception):
    """The time was up before the call came back."""


class Patience:
    """Runs calls in daemon threads that are used again.

    A call that hangs is abandoned; its thread does not block the others. A thread serves one call
    after another, so that a bot's thread-local client is made once, not for each question.
    """

    def __init__(self) -> None:
        self._idle: list[Jobs] = []
        self._closed = False

    def call(self, work: Callable[[], T], seconds: float) -> T:
        """The result of `work`, or its exception; TookTooLong when the time is up."""
        done: Future[T] = Future()
        try:
            jobs = self._idle.pop()
        except IndexError:
            jobs = Jobs()
            threading.Thread(
                target=self._serve, args=(jobs,), daemon=True, name="answerkey-ask"
            ).start()
        jobs.put(lambda: _settle(done, work))
        try:
            done.exception(seconds)
        except TimeoutError:
            raise TookTooLong from None
        return done.result()

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().put(None)

    def _serve(self, jobs: Jobs) -> None:
        while (job := jobs.get()) is not None:
            job()
            if self._closed:
                return
            self._idle.append(jobs)


class Loop:
    """Our own event loop in a daemon thread; works while a notebook's loop is running."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: EventLoop | None = None

    def call(self, begin: Callable[[], Awaitable[T]], seconds: float) -> T:
        """The result of the coroutine that `begin` makes; it is cancelled when the time is up."""
        loop = self.running()
        done = Future[T]()
        tasks = list[asyncio.Task[None]]()

        async def settle() -> None:
            try:
                done.set_result(await begin())
            except BaseException as error:  # a bot's SystemExit ends its question, not the loop
                done.set_exception(error)

        def start() -> None:
            if done.set_running_or_notify_cancel():
                tasks.append(loop.create_task(settle()))

        loop.call_soon_threadsafe(start)
        try:
            done.exception(seconds)
        except TimeoutError:
            if not done.cancel():
                loop.call_soon_threadsafe(lambda: tasks[0].cancel())
            self._leave_if_stuck(loop)
            raise TookTooLong from None
        return done.result()

    def close(self) -> None:
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None

    def running(self) -> EventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=_serve, args=(self._loop,), daemon=True, name="answerkey-loop"
                ).start()
            return self._loop

    def _leave_if_stuck(self, loop: EventLoop) -> None:
        """Give up a loop that a coroutine blocks, as `time.sleep` in an async function does."""
        # A free loop answers at once; a second allows for a busy machine.
        alive = threading.Event()
        loop.call_soon_threadsafe(alive.set)
        if not alive.wait(1.0):
            with self._lock:
                if self._loop is loop:
                    self._loop = None
                    loop.call_soon_threadsafe(loop.stop)


_OURS = Loop()


def _serve(loop: EventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
