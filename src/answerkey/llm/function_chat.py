"""A Python function as a language model."""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Callable, Sequence

from answerkey.background import Patience, TookTooLong, call_on, event_loop
from answerkey.cache import digest
from answerkey.coerce.values import is_mapping
from answerkey.errors import EndpointError
from answerkey.llm.chat import CallFailed, Message, Reply, Schema
from answerkey.user_code import error_text
from answerkey.user_traceback import show_traceback

# Seconds; ten times those of an endpoint, because retries happen inside the function.
FUNCTION_TIMEOUT = 300.0
_MOST_FAILURES = 25  # in a row, before the run stops: as many as an endpoint may have


class FunctionChat:
    """`FunctionChat(lambda prompt: ask_my_model(prompt), "my-model")`.

    The function returns text, an object with `content` or `text`, or a dict, which is taken as the JSON it stands for. It
    is called from several threads at once; coroutines run on the caller's event loop, or on one of ours.
    """

    def __init__(
        self, function: Callable[[str], object], name: str, timeout: float = FUNCTION_TIMEOUT
    ) -> None:
        self.model = name
        self._function = function
        self._timeout = timeout
        self._loop = event_loop()
        self._threads = Patience()
        self._lock = threading.Lock()
        self._failures = 0

    def complete(self, messages: Sequence[Message], schema: Schema | None = None) -> Reply:
        prompt = "\n\n".join(message["content"] for message in messages)
        try:
            reply = self._call_function(prompt)
            text = text_of(reply)
            if text is None:
                raise CallFailed(
                    f"the judge function returned {type(reply).__name__}, expected text"
                )
        except CallFailed as failure:
            self._count_failure(str(failure))
            raise
        with self._lock:
            self._failures = 0
        return Reply(text, model=self.model)

    def fingerprint(self) -> str:
        # The code of a function cannot be hashed reliably, so replies of functions are never cached.
        return digest("function", self.model)

    def close(self) -> None:
        self._threads.close()

    def _call_function(self, prompt: str) -> object:
        """Call the function; a call that hangs is abandoned after the timeout."""

        def work() -> object:
            result = self._function(prompt)
            if inspect.isawaitable(result):
                return call_on(self._loop, lambda: result)
            return result

        try:
            return self._threads.call(work, self._timeout)
        except TookTooLong:
            raise CallFailed(
                f"the judge function gave no reply within {self._timeout:g} s"
            ) from None
        except BaseException as error:
            # Also SystemExit: user code must not end the run.
            show_traceback(error, "the judge")
            raise CallFailed(f"the judge function raised {error_text(error)}") from error

    def _count_failure(self, why: str) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                raise EndpointError(f"{self._failures} calls in a row failed, the last with: {why}")


def text_of(reply: object) -> str | None:
    """The text of what a function returned; None where there is none."""
    if isinstance(reply, str):
        return reply
    if is_mapping(reply):
        try:
            return json.dumps(reply)
        except (TypeError, ValueError):
            return None
    for name in ("content", "text"):
        if isinstance(text := getattr(reply, name, None), str):
            return text
    return None
