"""Asking a live target from several threads. Each answer is in the journal before anybody hears of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import islice

from answerkey.runs.options import Stop
from answerkey.types import Case, Question, Response, Target, Turn

Numbered = tuple[int, Case]
Answered = tuple[int, Case, Response]
Keep = Callable[[int, Case, Response], None]
_AHEAD = 4  # units queued for each worker, so that none waits while answers are scored


def ask_all(
    target: Target, cases: Iterable[Numbered], workers: int, stop: Stop, keep: Keep
) -> Iterator[list[Answered]]:
    """Batches of what was answered since the last batch, as soon as there is one."""
    units = conversations(cases)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="ask")
    waiting: set[Future[list[Answered]]] = set()
    try:
        while True:
            if not stop:
                for unit in islice(units, workers * _AHEAD - len(waiting)):
                    waiting.add(pool.submit(_ask_unit, target, unit, stop, keep))
            else:
                waiting = {future for future in waiting if not future.cancel()}
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            batch = [answered for future in done for answered in future.result()]
            if batch:
                yield batch
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ask_unit(target: Target, unit: list[Numbered], stop: Stop, keep: Keep) -> list[Answered]:
    """The turns of one conversation in order, each with what the target itself answered before."""
    answered: list[Answered] = []
    answers: dict[str, str] = {}
    for n, case in unit:
        if stop and answered:
            break
        if stop:
            return answered
        turns = tuple(Turn(t.user, t.answer or answers.get(t.user, "")) for t in case.history)
        response = target.ask(Question(case.id, case.question, turns))
        answers[case.question] = response.answer or ""
        kept = replace(case, history=turns) if turns else case
        keep(n, kept, response)
        answered.append((n, kept, response))
    return answered


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
