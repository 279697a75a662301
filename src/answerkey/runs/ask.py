"""Asking a target: a live one from several threads, with each answer stored before it is passed on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from queue import SimpleQueue

from answerkey.cases.whole_conversation import finish_whole, is_whole, whole_response
from answerkey.runs.control import Stop
from answerkey.targets.attachments import read_files
from answerkey.targets.recorded import Recorded
from answerkey.types import Case, Question, Response, Target, Turn
from answerkey.variants.planted import planted_passage

Numbered = tuple[int, Case]
Answered = tuple[int, Case, Response]
Answers = dict[tuple[int, str], Turn]  # by the number of the turn too: a user may repeat a question
Keep = Callable[[list[Answered]], None]
_AHEAD = 4  # units queued for each worker, so that none waits while answers are scored


def answer_of(target: Target, case: Case) -> Response:
    """One case asked on its own; a recorded answer is looked up."""
    if isinstance(target, Recorded):
        return target.lookup(case)
    # Only the question and the history leave here: a target never sees the expected answer.
    return target.ask(Question(case.id, case.question, case.history))


def ask_all(
    target: Target,
    cases: Iterable[Numbered],
    workers: int,
    stop: Stop,
    keep: Keep,
    *,
    ahead: int = _AHEAD,
) -> Generator[list[Answered]]:
    """Batches of the answers since the last batch, as soon as there is one. With `ahead` = 1 no more than `workers`
    units are ever asked but not yet scored."""
    units = conversations(cases)
    pool = ThreadPoolExecutor(workers, "ask")
    writer = _Writer(keep)
    waiting: set[Future[None]] = set()
    try:
        while True:
            if not stop:
                for unit in islice(units, workers * ahead - len(waiting)):
                    future = pool.submit(_ask_unit, target, unit, stop, writer.store)
                    waiting.add(future)
                    future.add_done_callback(writer.put)
            else:
                # Units in flight end by themselves; only those that wait can be cancelled.
                for future in waiting:
                    future.cancel()
            if not waiting:
                return
            answered, ended = writer.wait_for_news()
            waiting.difference_update(ended)
            for future in ended:
                if not future.cancelled():
                    # Raises an error of our own code; those of the bot are in its responses.
                    future.result()
            if answered:
                yield answered
    finally:
        # Asking threads wait for their answer to be stored, so the writer must outlive them.
        pool.shutdown(wait=True, cancel_futures=True)
        writer.close()


class _Writer:
    """A thread that stores answers, all that are waiting in one write: a durable write takes milliseconds. An asking
    thread continues when its answer is stored, so a kill loses at most one question per worker. A unit that has ended is
    passed on after its answers."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._put: SimpleQueue[tuple[Answered, threading.Event] | Future[None] | None] = (
            SimpleQueue()
        )
        self._done: SimpleQueue[tuple[list[Answered], list[Future[None]]] | Exception] = (
            SimpleQueue()
        )
        self._thread = threading.Thread(target=self._work, name="write", daemon=True)
        self._thread.start()
        self.put = self._put.put

    def store(self, answered: Answered) -> None:
        """Returns when the answer is stored, or storing it has failed."""
        stored = threading.Event()
        self._put.put((answered, stored))
        stored.wait()

    def wait_for_news(self) -> tuple[list[Answered], list[Future[None]]]:
        """Waits for stored answers and ended units, and returns all there are; raises the error of storing them."""
        answered: list[Answered] = []
        ended: list[Future[None]] = []
        while not answered + ended or not self._done.empty():
            done = self._done.get()
            if isinstance(done, Exception):
                raise done
            answered += done[0]
            ended += done[1]
        return answered, ended

    def close(self) -> None:
        """Stores everything that is waiting first."""
        self._put.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            items = [self._put.get()]
            while not self._put.empty():
                items.append(self._put.get())
            unstored = [item for item in items if isinstance(item, tuple)]
            answered = [answered for answered, _ in unstored]
            try:
                if answered:
                    self._keep(answered)
                self._done.put((answered, [item for item in items if isinstance(item, Future)]))
            except Exception as error:
                self._done.put(error)
            # Set even after a failed write, otherwise the asking thread would wait for ever.
            for _, stored in unstored:
                stored.set()
            if None in items:
                return


def _ask_unit(
    target: Target, unit: list[Numbered], stop: Stop, answered: Callable[[Answered], None]
) -> None:
    """The turns of one conversation in order, each with the target's own earlier answers."""
    answers: Answers = {}
    for n, case in unit:
        if stop:
            break
        turns = with_answers(case.history, answers)
        if is_whole(case):
            # Its turns have been asked: the row of the conversation only puts them together.
            answered((n, finish_whole(case), whole_response(turns)))
            continue
        question = Question(
            case.id, case.question, turns, planted_passage(case), read_files(case.extra)
        )
        response = target.ask(question)
        answers[len(case.history), case.question] = _answered_turn(case, response)
        answered((n, replace(case, history=turns) if turns else case, response))


def _answered_turn(case: Case, response: Response) -> Turn:
    return Turn(case.question, response.answer or "", response.tools or ())


def with_answers(history: Sequence[Turn], answers: Answers) -> tuple[Turn, ...]:
    """The turns; one without an answer gets the answer that was given at its place."""
    # A history that brings its answers is the user's script and stays as it is.
    return tuple(
        turn if turn.answer else answers.get((n, turn.user), turn) for n, turn in enumerate(history)
    )


def conversations(cases: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    """Consecutive cases of one conversation as one unit; any other case as a unit of its own."""
    unit: list[Numbered] = []
    for n, case in cases:
        talk = case.extra.get("conversation")
        # A position before that of the last turn begins the next repeat of the same conversation.
        if unit and (
            talk is None or unit[-1][1].extra.get("conversation") != talk or n < unit[-1][0]
        ):
            yield unit
            unit = []
        unit.append((n, case))
        if talk is None:
            yield unit
            unit = []
    if unit:
        yield unit


def attempts(cases: Iterable[Numbered], times: int) -> Iterator[Numbered]:
    """Each case as often as it is asked, at positions of their own; a conversation is repeated as a whole."""
    if times == 1:
        return iter(cases)
    units = conversations(cases)
    return (
        (n * times + repeat, case) for unit in units for repeat in range(times) for n, case in unit
    )


def resume_conversations(
    cases: Iterable[Numbered], earlier: Iterable[Answered], repeats: int
) -> Iterator[Numbered]:
    """Turns of a conversation that was interrupted get the target's earlier answers, in the same repeat, as history."""
    answers: dict[object, Answers] = {}
    for n, case, response in earlier:
        if talk := _conversation(case):
            # Repeats of one conversation have answers of their own, which must not mix.
            of_repeat = answers.setdefault((talk, n % repeats), {})
            of_repeat[len(case.history), case.question] = _answered_turn(case, response)
    for n, case in cases:
        turns = answers.get((_conversation(case), n % repeats))
        if turns:
            case = replace(case, history=with_answers(case.history, turns))
        yield n, case


def _conversation(case: Case) -> tuple[object, object] | None:
    """What the turns of one conversation have in common; None for a single question."""
    talk = case.extra.get("conversation")
    return (case.source_file, talk) if talk else None
