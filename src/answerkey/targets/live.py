"""Concurrency, retries and a warm-up around any live target."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from time import sleep

from answerkey.config.target_tables import LiveTable
from answerkey.targets.attachments import resolve_file
from answerkey.targets.respond import flag_error_text
from answerkey.types import Question, Response, Target

# Statuses that mean "later": asking again helps, as it does not after other errors.
_BUSY = frozenset({"HTTP 429", "HTTP 503"})
_RETRIES_WHEN_BUSY = 2


class Live:
    """Asks a target as `settings` say. Waiting for a turn is never part of `Response.seconds`."""

    def __init__(self, target: Target, settings: LiveTable, folder: Path | None = None) -> None:
        self._target = target
        self._folder = folder
        self._settings = settings
        self._turn = nullcontext()
        if settings.concurrency:
            self._turn = threading.Semaphore(settings.concurrency)
        self._warming = threading.Lock()
        self._cold = settings.warmup

    def ask(self, question: Question) -> Response:
        self._warm_up()
        if question.files and self._folder is not None:
            files = tuple(resolve_file(file, self._folder) for file in question.files)
            question = replace(question, files=files)
        with self._turn:
            response = self._target.ask(question)
            tries = 1
            while tries <= self._retries_after(response):
                sleep(self._settings.retry_wait * 2 ** (tries - 1))
                response = self._target.ask(question)
                tries += 1
        response = flag_error_text(response, question.id)
        if tries > 1:
            return replace(response, extra={**response.extra, "tries": tries})
        return response

    def _retries_after(self, response: Response) -> int:
        """How often to ask again: as the settings say, or twice where the target is only busy."""
        if response.error_kind != "infrastructure":
            return 0
        if self._settings.retries is not None:
            return self._settings.retries
        if response.error_name in _BUSY:
            return _RETRIES_WHEN_BUSY
        return 0

    def _warm_up(self) -> None:
        # With questions that are in no suite, so that no case is answered from a cache.
        with self._warming:
            for number in range(self._cold):
                self._target.ask(Question(f"warmup-{number + 1}", self._settings.warmup_question))
            self._cold = 0

    def close(self) -> None:
        self._target.close()
