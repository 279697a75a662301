"""The interface of language models: messages in, a reply out; what calls used; many calls at once."""

from __future__ import annotations

import inspect
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from answerkey.background import Patience, TookTooLong, begin, call_on, event_loop
from answerkey.cache import DiskCache, cache_folder, digest
from answerkey.coerce.values import is_mapping
from answerkey.errors import EXIT_INCOMPLETE, AnswerkeyError, EndpointError
from answerkey.user_code import error_text
from answerkey.user_traceback import show_traceback

Message = Mapping[str, str]
Schema = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply. Unknown tokens and cost are None, never 0.

    `reasoning` is the trace that the endpoint reports apart from the text; `truncated` says that the model
    was cut off at the token limit; `rung` is how structured output was asked for.
    """

    text: str
    reasoning: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model: str = ""
    truncated: bool = False
    refusal: str = ""
    cost: float | None = None
    rung: str = ""


class Chat(Protocol):
    """A language model. `complete` may be called from several threads at once.

    It raises `CallFailed` when this call failed and another may not, and `EndpointError` when no call can
    succeed (no key, no such model, quota used up). A chat with a token limit names it in `max_tokens`, and takes
    another one for a single call.
    """

    @property
    def model(self) -> str: ...

    def complete(self, messages: Sequence[Message], schema: Schema | None = None) -> Reply: ...

    def fingerprint(self) -> str:
        """A hash of all that shapes a reply besides the messages; the key is no part of it."""
        ...

    def close(self) -> None: ...


class CallFailed(AnswerkeyError):
    """One call got no usable reply after all tries; `raw` is what came instead."""

    exit_code = EXIT_INCOMPLETE

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw


def total(values: Iterable[float | None]) -> float | None:
    """The sum; None where one part is unknown, or there is none."""
    parts = list(values)
    if parts and None not in parts:
        return sum(part for part in parts if part is not None)
    return None


@dataclass(frozen=True, slots=True)
class CallTotals:
    """What the calls of a judge used. Unknown tokens and cost are None, never 0."""

    calls: int = 0
    failed_calls: int = 0
    cached: int = 0
    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    cost: float | None = None


class Usage:
    """Counts calls, their tokens and cost; replies from the cache cost nothing and are counted apart."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = self._cached = self._failed = 0
        self._amounts: tuple[float | None, ...] = (0, 0, 0.0)  # tokens read and written, cost

    def add(self, reply: Reply) -> None:
        with self._lock:
            self._calls += 1
            used = (reply.prompt_tokens, reply.completion_tokens, reply.cost)
            self._amounts = tuple(map(total, zip(self._amounts, used, strict=True)))

    def add_cached(self) -> None:
        with self._lock:
            self._cached += 1

    def add_failed(self) -> None:
        with self._lock:
            self._failed += 1

    def totals(self) -> CallTotals:
        with self._lock:
            if self._calls:
                amounts = self._amounts
            else:
                amounts = (None, None, None)
            return CallTotals(self._calls, self._failed, self._cached, *amounts)


_MOMENT = 1.0  # seconds that calls under way get to end
_BETWEEN_WRITES = 0.25  # seconds
T = TypeVar("T")
R = TypeVar("R")


def in_threads(function: Callable[[T], R], items: Sequence[T], workers: int) -> list[R]:
    """`function` of every item, in order. The first exception is raised; calls that have not begun are dropped.

    Calls under way get a moment to end before it is raised, but none after a Ctrl-C.
    """
    results: dict[int, R] = {}
    errors: list[BaseException] = []
    todo = iter(range(len(items)))
    ended = threading.Event()
    ready = threading.Event()  # wakes the caller once, not after every call

    def work() -> None:
        for n in todo:
            if ended.is_set():
                return
            try:
                results[n] = function(items[n])
            except BaseException as error:
                errors.append(error)
            if errors or len(results) == len(items):
                ready.set()

    threads = [begin(work) for _ in range(min(workers, len(items)))]
    try:
        if items:
            ready.wait()
        if errors:
            ended.set()
            wait(threads, _MOMENT)
            raise errors[0]
    finally:
        ended.set()
    return [results[n] for n in range(len(items))]


class ReplyCache:
    """Replies kept on disk, under a hash of everything that shaped them; those of a moment are written together."""

    def __init__(self, folder: Path | None = None) -> None:
        self._disk = DiskCache((folder or cache_folder()) / "replies.sqlite")
        self._unwritten: dict[bytes, bytes] = {}
        self._waiting = False
        self._lock = threading.RLock()

    def get(self, key: str) -> Reply | None:
        waiting = self._unwritten.get(key.encode())
        for value in [waiting] if waiting else self._disk.get([key.encode()]).values():
            with suppress(msgspec.MsgspecError, ValueError):
                return msgspec.json.decode(value, type=Reply)
        return None

    def put(self, key: str, reply: Reply) -> None:
        with (
            suppress(ValueError),
            self._lock,
        ):  # half a surrogate pair: such a reply is asked for again
            self._unwritten[key.encode()] = msgspec.json.encode(reply)
            if not self._waiting:
                self.write()
                self._waiting = True
                begin(self._write_later)

    def write(self) -> None:
        with self._lock:
            values = self._unwritten
            self._unwritten = {}
            if values:
                self._disk.put(values)

    def _write_later(self) -> None:
        time.sleep(_BETWEEN_WRITES)
        with self._lock:
            self._waiting = False
            self.write()

    def drop(self, key: str) -> None:
        self.write()
        self._disk.drop(key.encode())


FUNCTION_TIMEOUT = 300.0
_MOST_FAILURES = 25  # in a row, before the run stops


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
            reply = self._called(prompt)
            text = text_of(reply)
            if text is None:
                raise CallFailed(
                    f"the judge function returned {type(reply).__name__}, expected text"
                )
        except CallFailed as failure:
            self._failed(str(failure))
            raise
        with self._lock:
            self._failures = 0
        return Reply(text, model=self.model)

    def fingerprint(self) -> str:
        return digest("function", self.model)

    def close(self) -> None:
        self._threads.close()

    def _called(self, prompt: str) -> object:
        """What the function returns; one that hangs is given up after the timeout."""

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
            show_traceback(error, "the judge")
            raise CallFailed(f"the judge function raised {error_text(error)}") from error

    def _failed(self, why: str) -> None:
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
        if isinstance(given := getattr(reply, name, None), str):
            return given
    return None
