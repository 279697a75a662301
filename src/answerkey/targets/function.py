"""A Python function as a target: plain or async, with or without history; and any object with `ask`."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from answerkey.background import Loop, Patience, TookTooLong
from answerkey.coerce.columns import COLUMNS
from answerkey.config.declare import read_table
from answerkey.config.target_tables import PythonTable
from answerkey.errors import SettingsError
from answerkey.targets.fields import history_turns
from answerkey.targets.respond import as_response, content_error, infrastructure_error
from answerkey.types import Question, Response
from answerkey.user_code import error_text, load_object

Call = Callable[[Question], Any]


class PythonTarget:
    """Calls `call` for each question, for at most `timeout` seconds; what it raises is an error of that question."""

    def __init__(self, call: Call, timeout: float, awaits: bool, close: object = None) -> None:
        self._call, self._timeout, self._awaits, self._close = call, timeout, awaits, close
        self._threads, self._loop = Patience(), Loop()

    def ask(self, question: Question) -> Response:
        try:
            value, seconds = self._timed(question)
        except TookTooLong:
            return infrastructure_error("timed out", f"no answer within {self._timeout:g} s")
        except (ConnectionError, TimeoutError) as error:
            return infrastructure_error(*_named(error))
        except BaseException as error:
            name, detail = _named(error)
            return content_error(f"raised {name}", detail)
        response = as_response(value)
        return response if response.seconds is not None else replace(response, seconds=seconds)

    def close(self) -> None:
        self._threads.close()
        self._loop.close()
        if callable(self._close):
            self._close()

    def _timed(self, question: Question) -> tuple[object, float]:
        """The value and the seconds it took, measured where the function runs: waiting for a thread does not count."""

        async def awaited() -> tuple[object, float]:
            start = perf_counter()
            return await self._call(question), perf_counter() - start

        def called() -> tuple[object, float]:
            start = perf_counter()
            value = self._call(question)
            if inspect.isawaitable(value):  # a plain function that returns a coroutine
                begun: Awaitable[object] = value
                value = self._loop.call(lambda: begun, self._timeout)
            if inspect.isasyncgen(value):
                value = _joined(self._loop.call(partial(_collected, value), self._timeout))
            elif inspect.isgenerator(value):
                value = _joined(list[object](value))
            return value, perf_counter() - start

        if self._awaits:
            return self._loop.call(awaited, self._timeout)
        return self._threads.call(called, self._timeout)


def make_python_target(table: Mapping[str, object], folder: Path, timeout: float) -> PythonTarget:
    spec = read_table(PythonTable, table, "[target]").call
    if not spec:
        raise SettingsError('[target] needs call, for example call = "bot:answer"')
    return function_target(load_object(spec, folder, "[target] call"), timeout, spec)


def function_target(function: object, timeout: float, spec: str) -> PythonTarget:
    if not callable(function):
        raise SettingsError(f'[target] call = "{spec}": {type(function).__name__} cannot be called')
    return PythonTarget(_adapt(function, spec), timeout, _is_async(function))


def object_target(made: object, timeout: float, spec: str) -> PythonTarget:
    """The bot that a factory made: an object with ask(question) and perhaps close()."""
    ask = getattr(made, "ask", None)
    if not callable(ask):
        gave = f'[target] make = "{spec}" gave {type(made).__name__}'
        raise SettingsError(f"{gave}, expected an object with ask(question)")
    return PythonTarget(ask, timeout, _is_async(ask), getattr(made, "close", None))


def _adapt(function: Callable[..., object], spec: str) -> Call:
    """How to call it: the question's text, and the history where it has a parameter for it."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-ins have no signature
        return lambda question: function(question.text)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    first = positional[0] if positional else None
    by_name = next(
        (p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in COLUMNS["question"]), None
    )
    asked, where = None, f'[target] call = "{spec}"'
    if first is None and by_name is not None:  # def answer(*, question)
        parameters.remove(by_name)
        asked = by_name.name
    elif first is None and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise SettingsError(
            f"{where}: it takes no argument, expected (question) or (question, history)"
        )
    needed = [p for p in positional[1:] if p.default is p.empty]
    keywords = [
        p.name
        for p in parameters
        if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name != "history"
    ]
    if len(needed) > 1 or keywords:
        raise SettingsError(
            f"{where}: it needs more than (question, history): {inspect.signature(function)}"
        )

    def send(text: str, *more: object, **named: object) -> object:
        return function(**{asked: text}, **named) if asked else function(text, *more, **named)

    if any(
        p.name == "history" and p is not first and p.kind is not p.POSITIONAL_ONLY
        for p in parameters
    ):
        return lambda question: send(question.text, history=history_turns(question))
    if needed:
        return lambda question: send(question.text, history_turns(question))
    return lambda question: send(question.text)


async def _collected(stream: AsyncIterator[object]) -> list[object]:
    return [part async for part in stream]


def _joined(parts: list[object]) -> object:
    """The text of a bot that yields its answer piece by piece, as strings or messages; one value of another kind as it is."""
    texts = [part if isinstance(part, str) else getattr(part, "content", None) for part in parts]
    if None not in texts:
        return "".join(map(str, texts))
    return parts[0] if len(parts) == 1 else parts


def _is_async(call: object) -> bool:
    while isinstance(call, partial):
        call = call.func
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)


def _named(error: BaseException) -> tuple[str, str]:
    """The class of an error and what it says."""
    name, _, detail = error_text(error).partition(": ")
    return name, detail
