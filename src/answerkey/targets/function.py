"""A Python function as a target, plain or async; and any object with `ask`."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from inspect import Parameter
from pathlib import Path
from time import perf_counter
from typing import Any

from answerkey.background import Loop, Patience, TookTooLong
from answerkey.coerce.columns import COLUMNS
from answerkey.config.declare import read_table
from answerkey.config.target_tables import PythonTable
from answerkey.errors import SettingsError
from answerkey.targets.respond import as_response, content_error, infrastructure_error
from answerkey.targets.templates import history_turns
from answerkey.types import Question, Response
from answerkey.user_code import error_text, load_object
from answerkey.user_traceback import show_traceback

Call = Callable[[Question], Any]
# Parameters of a user's function that are given by their name.
_KEYWORDS = ("history", "files", "image", "collection")


class PythonTarget:
    """Calls `call` for each question, for at most `timeout` seconds.

    An exception of the call is an error of that question.
    """

    def __init__(self, call: Call, timeout: float, awaits: bool, close: object = None) -> None:
        self._call = call
        self._timeout = timeout
        self._awaits = awaits
        self._close = close
        self._threads = Patience()
        self._loop = Loop()

    def ask(self, question: Question) -> Response:
        try:
            value, seconds = self._call_timed(question)
        except TookTooLong:
            return infrastructure_error("timed out", f"no answer within {self._timeout:g} s")
        except (ConnectionError, TimeoutError) as error:
            return infrastructure_error(*_name_and_message(error))
        except BaseException as error:
            show_traceback(error, "the bot")
            name, message = _name_and_message(error)
            return content_error(f"raised {name}", message)
        response = as_response(value)
        if response.seconds is not None:
            return response
        return replace(response, seconds=seconds)

    def close(self) -> None:
        self._threads.close()
        self._loop.close()
        if callable(self._close):
            self._close()

    def _call_timed(self, question: Question) -> tuple[object, float]:
        """The value and its seconds, measured where the function runs: waiting for a thread does
        not count."""
        if self._awaits:
            return self._loop.call(partial(self._await_call, question), self._timeout)
        return self._threads.call(partial(self._run_call, question), self._timeout)

    async def _await_call(self, question: Question) -> tuple[object, float]:
        start = perf_counter()
        return await self._call(question), perf_counter() - start

    def _run_call(self, question: Question) -> tuple[object, float]:
        start = perf_counter()
        value = self._call(question)
        if inspect.isawaitable(value):  # a plain function that returns a coroutine
            begun: Awaitable[object] = value
            value = self._loop.call(lambda: begun, self._timeout)
        if inspect.isasyncgen(value):
            value = _join_parts(self._loop.call(partial(_collect, value), self._timeout))
        elif inspect.isgenerator(value):
            value = _join_parts(list[object](value))
        return value, perf_counter() - start


def make_python_target(table: Mapping[str, object], folder: Path, timeout: float) -> PythonTarget:
    settings = read_table(PythonTable, table, "[target]")
    spec = settings.call
    if not spec:
        raise SettingsError('[target] needs call, for example call = "bot:answer"')
    function = load_object(spec, folder, "[target] call")
    return function_target(function, timeout, spec, settings.collection)


def function_target(
    function: object, timeout: float, spec: str, collection: str = ""
) -> PythonTarget:
    if not callable(function):
        raise SettingsError(f'[target] call = "{spec}": {type(function).__name__} cannot be called')
    return PythonTarget(_adapt(function, spec, collection), timeout, _is_async(function))


def object_target(made: object, timeout: float, spec: str) -> PythonTarget:
    """The bot that a factory made: an object with ask(question) and perhaps close()."""
    ask = getattr(made, "ask", None)
    if not callable(ask):
        gave = f'[target] make = "{spec}" gave {type(made).__name__}'
        raise SettingsError(f"{gave}, expected an object with ask(question)")
    return PythonTarget(ask, timeout, _is_async(ask), getattr(made, "close", None))


def _adapt(function: Callable[..., object], spec: str, collection: str) -> Call:
    """How to call it: with the question's text, and with the history, the files and the collection
    where it has parameters for them."""
    where = f'[target] call = "{spec}"'
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-ins have no signature
        return lambda question: function(question.text)
    signature = _Signature(parameters)
    signature.check(where, function)
    if collection and not signature.has_keyword("collection"):
        fix = "add a parameter `collection` to it"
        raise SettingsError(f'{where}: it takes no collection, and "{collection}" was given; {fix}')

    def send(question: Question) -> object:
        positional: list[object] = []
        named: dict[str, object] = {}
        if signature.question_keyword:
            named[signature.question_keyword] = question.text
        else:
            # By position, because the parameter may have any name: q, query, prompt.
            positional.append(question.text)
        if signature.has_keyword("history"):
            named["history"] = history_turns(question)
        elif signature.required:
            positional.append(history_turns(question))
        if signature.has_keyword("files"):
            named["files"] = list(question.files)
        if signature.has_keyword("image"):
            named["image"] = question.image
        if collection or signature.requires("collection"):
            named["collection"] = collection
        return function(*positional, **named)

    return send


class _Signature:
    """The parameters of a user's function that take a question and what belongs to it."""

    def __init__(self, parameters: list[Parameter]) -> None:
        self._parameters = parameters
        kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        positional = [p for p in parameters if p.kind in kinds]
        self._first = positional[0] if positional else None
        # Positional parameters after the question that need a value.
        self.required = [
            p for p in positional[1:] if p.default is p.empty and p.name not in _KEYWORDS
        ]
        keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        self.question_keyword = ""  # of `def answer(*, question)`
        if self._first is None:
            names = (p.name for p in keywords if p.name in COLUMNS["question"])
            self.question_keyword = next(names, "")
        self._required_keywords = [
            p.name
            for p in keywords
            if p.default is p.empty and p.name not in (*_KEYWORDS, self.question_keyword)
        ]

    def has_keyword(self, name: str) -> bool:
        return any(
            p.name == name and p is not self._first and p.kind is not p.POSITIONAL_ONLY
            for p in self._parameters
        )

    def requires(self, name: str) -> bool:
        return any(p.name == name and p.default is p.empty for p in self._parameters)

    def check(self, where: str, function: Callable[..., object]) -> None:
        takes_any = any(p.kind is p.VAR_POSITIONAL for p in self._parameters)
        if self._first is None and not self.question_keyword and not takes_any:
            expected = "expected (question) or (question, history)"
            raise SettingsError(f"{where}: it takes no argument, {expected}")
        if len(self.required) > 1 or self._required_keywords:
            signature = inspect.signature(function)
            raise SettingsError(f"{where}: it needs more than (question, history): {signature}")


async def _collect(stream: AsyncIterator[object]) -> list[object]:
    return [part async for part in stream]


def _join_parts(parts: list[object]) -> object:
    """The text of a bot that yields its answer piece by piece, as strings or messages.

    One value of another kind is returned as it is.
    """
    texts = [part if isinstance(part, str) else getattr(part, "content", None) for part in parts]
    if None not in texts:
        return "".join(map(str, texts))
    return parts[0] if len(parts) == 1 else parts


def _is_async(call: object) -> bool:
    while isinstance(call, partial):
        call = call.func
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)


def _name_and_message(error: BaseException) -> tuple[str, str]:
    name, _, message = error_text(error).partition(": ")
    return name, message
