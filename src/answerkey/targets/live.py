"""What every live target shares: at most so many questions at once, a warm-up, and retries only when asked for."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import sleep

from answerkey.targets.settings import Table, at_least, seconds, take
from answerkey.types import Question, Response, Target

KEYS = ("kind", "timeout", "concurrency", "retries", "retry_wait", "warmup", "warmup_question")


@dataclass(frozen=True, slots=True)
class Manners:
    """How a live target is asked. `concurrency` 0 is no limit besides the workers of the run."""

    timeout: float = 30.0
    concurrency: int = 0
    retries: int = 0
    retry_wait: float = 1.0
    warmup: int = 0
    warmup_question: str = "Hello"


def read_manners(table: Table, timeout: float) -> Manners:
    return Manners(
        timeout=seconds(table, "timeout", timeout),
        concurrency=at_least(table, "concurrency", 0, 0),
        retries=at_least(table, "retries", 0, 0),
        retry_wait=seconds(table, "retry_wait", 1.0),
        warmup=at_least(table, "warmup", 0, 0),
        warmup_question=take(table, "warmup_question", str, "Hello"),
    )


class Live:
    """A target asked with manners. The wait for a turn is ours and never part of `Response.seconds`."""

    def __init__(self, target: Target, manners: Manners) -> None:
        self._target, self._manners = target, manners
        self._turn = threading.Semaphore(manners.concurrency) if manners.concurrency else nullcontext()
        self._warming = threading.Lock()
        self._cold = manners.warmup > 0

    def ask(self, question: Question) -> Response:
        if self._cold:
            self._warm_up()
        with self._turn:
            response = self._target.ask(question)
            tries = 1
            while tries <= self._manners.retries and _worth_another(response):
                sleep(self._manners.retry_wait * 2 ** (tries - 1))
                response = self._target.ask(question)
                tries += 1
        return response if tries == 1 else replace(response, extra={**response.extra, "tries": tries})

    def close(self) -> None:
        self._target.close()

    def _warm_up(self) -> None:
        """A question that is in no suite, so that no case is answered from a cache; what comes back is dropped."""
        with self._warming:
            while self._cold:
                for number in range(self._manners.warmup):
                    self._target.ask(Question(f"warmup-{number + 1}", self._manners.warmup_question))
                self._cold = False


def _worth_another(response: Response) -> bool:
    return response.error_kind == "infrastructure"
