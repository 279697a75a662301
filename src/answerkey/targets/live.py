"""What every live target shares: at most so many questions at once, a warm-up, and retries only when asked for."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import replace
from time import sleep

from answerkey.config.target_tables import LiveTable
from answerkey.targets.respond import flagged
from answerkey.types import Question, Response, Target


class Live:
    """A target asked with settings. The wait for a turn is ours and never part of `Response.seconds`."""

    def __init__(self, target: Target, settings: LiveTable) -> None:
        self._target, self._settings = target, settings
        self._turn = threading.Semaphore(settings.concurrency) if settings.concurrency else nullcontext()
        self._warming = threading.Lock()
        self._cold = settings.warmup > 0

    def ask(self, question: Question) -> Response:
        if self._cold:
            self._warm_up()
        with self._turn:
            response = self._target.ask(question)
            tries = 1
            while tries <= self._settings.retries and response.error_kind == "infrastructure":
                sleep(self._settings.retry_wait * 2 ** (tries - 1))
                response = self._target.ask(question)
                tries += 1
        response = flagged(response, question.id)
        return response if tries == 1 else replace(response, extra={**response.extra, "tries": tries})

    def close(self) -> None:
        self._target.close()

    def _warm_up(self) -> None:
        """A question that is in no suite, so that no case is answered from a cache; what comes back is dropped."""
        with self._warming:
            while self._cold:
                for number in range(self._settings.warmup):
                    self._target.ask(Question(f"warmup-{number + 1}", self._settings.warmup_question))
                self._cold = False
