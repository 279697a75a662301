"""Asking a live target from several threads. Each answer is in the journal before anybody hears of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from queue import SimpleQueue

from answerkey.runs.control import Stop
from answerkey.types import Case, Question, Response, Target, Turn

Numbered = tuple[int, Case]
Answered = tuple[int, Case, Response]
Answers = dict[tuple[int, str], str]  # by the place of a turn too: a user may say the same words twice
Keep = Callable[[list[Answered]], None]
_AHEAD = 4  # units queued for each worker, so that none waits while answers are scored


def ask_all(
    target: Target, cases: Iterable[Numbered], workers: int, stop: Stop, keep: Keep, *, ahead: int = _AHEAD
) -> Iterator[list[Answered]]:
    """Batches of what was answered since the last batch, as soon as there is one.

    With `ahead` = 1 no more than `workers` units are ever asked and not yet scored.
    """
    units = conversations(cases)
    pool, writer = ThreadPoolExecutor(workers, "ask"), _Writer(keep)
    waiting: set[Future[None]] = set()
    try:
        while True:
            if not stop:
                for unit in islice(units, workers * ahead - len(waiting)):
                    future = pool.submit(_ask_unit, target, unit, stop, writer.put)
                    waiting.add(future)
                    future.add_done_callback(writer.put)
            else:
                for future in waiting:
                    future.cancel()
            if not waiting:
                return
            answered, ended = writer.written()
            waiting.difference_update(ended)
            for future in ended:
                if not future.cancelled():
                    future.result()
            if answered:
                yield answered
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        writer.close()


class _Writer:
    """A thread that keeps what is put, all that has come together at once: a disk takes milliseconds to be sure of it,
    and those who ask go on meanwhile. Units that ended pass through in their turn, behind their answers."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._put: SimpleQueue[Answered | Future[None] | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[list[Answered], list[Future[None]]] | Exception] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="write", daemon=True)
        self._thread.start()
        self.put = self._put.put

    def written(self) -> tuple[list[Answered], list[Future[None]]]:
        """Waits for answers that are kept by now, and units that have ended; raises what keeping them raised."""
        done = self._done.get()
        if isinstance(done, Exception):
            raise done
        return done

    def close(self) -> None:
        """Everything put before is kept first."""
        self._put.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            items = [self._put.get()]
            while not self._put.empty():
                items.append(self._put.get())
            answered = [item for item in items if isinstance(item, tuple)]
            try:
                if answered:
                    self._keep(answered)
                self._done.put((answered, [item for item in items if isinstance(item, Future)]))
            except Exception as error:
                self._done.put(error)
            if None in items:
                return


def _ask_unit(target: Target, unit: list[Numbered], stop: Stop, answered: Callable[[Answered], None]) -> None:
    """The turns of one conversation in order, each with what the target itself answered before."""
    answers: Answers = {}
    for n, case in unit:
        if stop:
            break
        turns = with_answers(case.history, answers)
        response = target.ask(Question(case.id, case.question, turns))
        answers[len(case.history), case.question] = response.answer or ""
        answered((n, replace(case, history=turns) if turns else case, response))


def with_answers(history: Sequence[Turn], answers: Answers) -> tuple[Turn, ...]:
    """The turns, those that hold no answer with the one that was given at their place."""
    return tuple(
        Turn(turn.user, turn.answer or answers.get((n, turn.user), "")) for n, turn in enumerate(history)
    )


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
