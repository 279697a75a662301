"""Await user coroutines from synchronous code: on the caller's event loop if it is free, otherwise on our own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

EventLoop = asyncio.AbstractEventLoop
_AT_ONCE = 16
_CALLERS: ContextVar[EventLoop | None] = ContextVar("the caller's event loop", default=None)


def event_loop() -> EventLoop:
    """The loop on which coroutines of this thread run; works inside a notebook's running loop."""
    return _CALLERS.get() or _background_loop()


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


def call_on(loop: EventLoop, function: Callable[..., Awaitable[Any]], *arguments: Any, **named: Any) -> Any:
    """The result of an async function, awaited on the loop."""

    async def begin() -> Any:
        return await function(*arguments, **named)

    return asyncio.run_coroutine_threadsafe(begin(), loop).result()


def gather(calls: Sequence[Callable[[], Awaitable[Any]]], at_once: int = _AT_ONCE) -> list[Any]:
    """The results of async calls in order, a few at a time; an exception takes the place of its result."""

    async def all_of_them() -> list[Any]:
        limit = asyncio.Semaphore(at_once)

        async def limited(call: Callable[[], Awaitable[Any]]) -> Any:
            async with limit:
                try:
                    return await call()
                except SystemExit as left:  # it would end the loop, and all other calls with it
                    return left

        return await asyncio.gather(*map(limited, calls), return_exceptions=True)

    return call_on(event_loop(), all_of_them)


@cache
def _background_loop() -> EventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="answerkey-loop").start()
    return loop
