"""Asking a live target from several threads. Each answer is in the journal before anybody hears of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from queue import SimpleQueue

from answerkey.runs.options import Stop
from answerkey.types import Case, Question, Response, Target, Turn

Numbered = tuple[int, Case]
Answered = tuple[int, Case, Response]
Keep = Callable[[int, Case, Response], None]
Written = tuple[Answered, Future[None]]
_AHEAD = 4  # units queued for each worker, so that none waits while answers are scored


def ask_all(
    target: Target, cases: Iterable[Numbered], workers: int, stop: Stop, keep: Keep, *, ahead: int = _AHEAD
) -> Iterator[list[Answered]]:
    """Batches of what was answered since the last batch, as soon as there is one.

    With `ahead` = 1 no more than `workers` units are ever asked and not yet scored.
    """
    units = conversations(cases)
    pool, writers = ThreadPoolExecutor(workers, "ask"), ThreadPoolExecutor(workers, "write")
    waiting: set[Future[list[Written]]] = set()
    ended: SimpleQueue[Future[list[Written]]] = SimpleQueue()

    def write(*answered: *Answered) -> Written:
        # A disk takes milliseconds to be sure; the worker asks on meanwhile, and those that wait share one sync.
        return answered, writers.submit(keep, *answered)

    try:
        while True:
            if not stop:
                for unit in islice(units, workers * ahead - len(waiting)):
                    future = pool.submit(_ask_unit, target, unit, stop, write)
                    waiting.add(future)
                    future.add_done_callback(ended.put)
            else:
                for future in waiting:
                    future.cancel()
            if not waiting:
                return
            done = [ended.get()]
            while not ended.empty():
                done.append(ended.get())
            waiting.difference_update(done)
            batch = _written(done)
            if batch:
                yield batch
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        writers.shutdown(wait=True)


def _written(done: Iterable[Future[list[Written]]]) -> list[Answered]:
    """What the units that ended have answered, once it is in the journal."""
    batch: list[Answered] = []
    for answered, kept in (written for unit in done if not unit.cancelled() for written in unit.result()):
        kept.result()
        batch.append(answered)
    return batch


def _ask_unit(
    target: Target, unit: list[Numbered], stop: Stop, write: Callable[..., Written]
) -> list[Written]:
    """The turns of one conversation in order, each with what the target itself answered before."""
    written: list[Written] = []
    answers: dict[str, str] = {}
    for n, case in unit:
        if stop:
            break
        turns = tuple(Turn(t.user, t.answer or answers.get(t.user, "")) for t in case.history)
        response = target.ask(Question(case.id, case.question, turns))
        answers[case.question] = response.answer or ""
        kept = replace(case, history=turns) if turns else case
        written.append(write(n, kept, response))
    return written


def conversations(cases: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    """Cases that follow one another in one conversation belong together; any other stands alone."""
    unit: list[Numbered] = []
    for n, case in cases:
        talk = case.extra.get("conversation")
        if unit and (talk is None or unit[-1][1].extra.get("conversation") != talk):
            yield unit
            unit = []
        unit.append((n, case))
        if talk is None:
            yield unit
            unit = []
    if unit:
        yield unit
