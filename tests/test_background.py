"""User code with a time limit: sync and async, also code that never returns or calls sys.exit."""

from __future__ import annotations

import asyncio
import sys
import threading
import time

import pytest

from answerkey.background import Loop, Patience, TookTooLong, gather, start_thread


def test_a_call_returns_or_raises_as_the_work_does() -> None:
    patience = Patience()
    assert patience.call(lambda: 3, seconds=30) == 3
    with pytest.raises(ZeroDivisionError):
        patience.call(lambda: 1 / 0, seconds=30)
    with pytest.raises(SystemExit):
        patience.call(sys.exit, seconds=30)
    patience.close()


def test_a_call_that_hangs_is_abandoned_and_blocks_no_other() -> None:
    patience = Patience()
    released = threading.Event()
    with pytest.raises(TookTooLong):
        patience.call(released.wait, seconds=0.05)
    assert patience.call(lambda: "next", seconds=30) == "next"
    released.set()
    patience.close()


def test_a_thread_serves_the_next_call_too() -> None:
    patience = Patience()
    names = {patience.call(_name_of_thread, seconds=30) for _ in range(3)}
    assert len(names) == 1, "a client that is kept per thread would be made for each question"
    patience.close()


def _name_of_thread() -> int:
    # The thread is idle again a moment after its result is there.
    time.sleep(0.01)
    return threading.get_ident()


def test_a_coroutine_that_takes_too_long_is_cancelled() -> None:
    loop = Loop()
    cancelled = threading.Event()

    async def hang() -> None:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(TookTooLong):
        loop.call(hang, seconds=0.05)
    assert cancelled.wait(30)

    async def answer() -> str:
        return "next"

    assert loop.call(answer, seconds=30) == "next"
    loop.close()


def test_a_coroutine_that_blocks_its_loop_leaves_the_others_a_new_one() -> None:
    loop = Loop()
    released = threading.Event()

    async def block() -> None:
        released.wait(30)

    async def answer() -> str:
        return "next"

    with pytest.raises(TookTooLong):
        loop.call(block, seconds=0.05)
    assert loop.call(answer, seconds=30) == "next"
    released.set()
    loop.close()


def test_results_are_in_order_and_exceptions_take_their_place() -> None:
    async def answer(number: int) -> int:
        await asyncio.sleep(0.01 * (3 - number))
        if number == 1:
            raise ValueError("one")
        return number

    first, second, third = gather([lambda n=n: answer(n) for n in range(3)], at_once=2)
    assert (first, third) == (0, 2)
    assert isinstance(second, ValueError)


def test_work_in_a_thread_of_its_own() -> None:
    assert start_thread(lambda: threading.current_thread().daemon).result(30) is True
