"""Functions and framework objects as targets, judges and metrics."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import cast

from answerkey.background import call_on, event_loop, has_caller_loop
from answerkey.config.declare import read_table
from answerkey.config.tables import JudgeTable
from answerkey.config.target_tables import LiveTable
from answerkey.errors import SettingsError
from answerkey.llm.function_chat import FUNCTION_TIMEOUT
from answerkey.metrics.judge.judged_metrics import Judge
from answerkey.metrics.judge.judges import function_judge, name_of
from answerkey.metrics.other_tools import equivalent_of
from answerkey.metrics.registry import Facts, Metric, is_metric, registered_name
from answerkey.targets.function import function_target
from answerkey.targets.live import Live
from answerkey.types import Target

_QUESTION_KEYS = ("question", "query", "input")


def target_of(target: object, timeout: float, retries: int | None = None) -> Target:
    """A target from a function, a LangChain runnable, a LlamaIndex query engine, or an object with `ask`.

    >>> target_of(lambda question: "30 days", timeout=30).ask(Question("q1", "How long?")).answer  # doctest: +SKIP
    '30 days'
    """
    if callable(getattr(target, "ask", None)) and callable(getattr(target, "close", None)):
        return cast("Target", target)
    function = target
    # A plain function is called itself, whatever attributes it has.
    if not inspect.isroutine(target):
        if callable(invoke := getattr(target, "invoke", None)):
            function = _call_invoke(invoke, getattr(target, "input_keys", ()))
        elif callable(query := getattr(target, "query", None)):
            function = query
    if not callable(function):
        raise SettingsError(
            f"target: found {type(target).__name__}, expected a function of the question, or an object with "
            "invoke(question), query(question) or ask(question)"
        )
    # The clients of an async bot belong to the loop of the caller and must run there.
    if has_caller_loop():
        function = _make_synchronous(function)
    bot = function_target(function, timeout, name_of(target))
    if retries is None:
        settings = {}
    else:
        settings = {"retries": retries}
    return Live(bot, read_table(LiveTable, settings, "target"))


def _call_invoke(
    invoke: Callable[[object], object], input_keys: Iterable[object]
) -> Callable[[str], object]:
    """`invoke` of LangChain: chains that take a dict get the question under their own key."""
    keys = [str(key) for key in input_keys]
    if not keys:
        return invoke
    question_key = next((key for key in _QUESTION_KEYS if key in keys), keys[0])
    # A chain refuses a dict without all its keys, such as `chat_history`.
    empty: dict[str, object] = {key: [] for key in keys}
    return lambda question: invoke({**empty, question_key: question})


def judge_of(judge: object, workers: int) -> Judge | None:
    """A judge from a function of the prompt, or from a chat model with `invoke`; None for a name or settings."""
    if judge is None or isinstance(judge, (str, Mapping)):
        return None
    if hasattr(judge, "rubric") and hasattr(judge, "judge"):
        return cast("Judge", judge)
    return function_judge(judge, settings=JudgeTable(timeout=FUNCTION_TIMEOUT, concurrency=workers))


def metrics_of(items: Iterable[object]) -> tuple[list[str], list[Metric]]:
    """The names of all metrics, and those that are plain functions as metrics of this call."""
    names: list[str] = []
    own: list[Metric] = []
    for item in items:
        if isinstance(item, str):
            name = item
        else:
            name = registered_name(item)
        if name is None:
            name = _name_in_other_tool(item)
        if name is None:
            metric = _metric_of_function(item, len(own) + 1)
            own.append(metric)
            name = metric.name
        names.append(name)
    return names, own


def _name_in_other_tool(item: object) -> str | None:
    """The name of an object of ragas or deepeval, as `Faithfulness()` has one."""
    for name in (getattr(item, "name", None), type(item).__name__):
        if isinstance(name, str) and equivalent_of(name) is not None:
            return name
    return None


def _metric_of_function(function: object, number: int) -> Metric:
    if not callable(function):
        kind = type(function).__name__
        expected = "a name or a function of (case, response)"
        raise SettingsError(f"metrics: found {kind}, expected {expected}")
    name = name_of(function)
    # Two lambdas would share one name, and one column.
    if name == "<lambda>":
        name = f"lambda_{number}"
    if is_metric(name):
        raise SettingsError(
            f'metrics: the function "{name}" has the name of a built-in metric; rename it'
        )
    summary = (getattr(function, "__doc__", None) or "").strip().split("\n")[0]
    facts = Facts(name, summary, low=None, high=None, needs=("answer",))
    return Metric(facts, function, "single", "your code")


def _make_synchronous(function: Callable[..., object]) -> Callable[..., object]:
    """The same function, synchronous: its coroutines are awaited on the loop of this thread."""
    if not (
        inspect.iscoroutinefunction(function)
        or inspect.iscoroutinefunction(type(function).__call__)
    ):
        return function
    called = partial(call_on, event_loop(), cast("Callable[..., Awaitable[object]]", function))
    # Without it, nobody could see whether the function takes `history`.
    called.__signature__ = inspect.signature(function)  # pyright: ignore[reportAttributeAccessIssue]
    return called
