"""Functions and framework objects as targets, judges and metrics; data as people have it, read by shape.

No data frame library is imported here.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

from answerkey.background import call_on, event_loop, has_caller_loop
from answerkey.cases import read_cases
from answerkey.cases.check import check_cases
from answerkey.cases.shapes import cases_of_rows
from answerkey.coerce.rows import rename_columns
from answerkey.coerce.values import Place, is_list, is_mapping
from answerkey.config.declare import read_table
from answerkey.config.tables import JudgeTable
from answerkey.config.target_tables import LiveTable
from answerkey.errors import InputError, SettingsError
from answerkey.llm.chat import FUNCTION_TIMEOUT
from answerkey.metrics.judge.judged_metrics import Judge
from answerkey.metrics.judge.judges import function_judge, name_of
from answerkey.metrics.registry import Facts, Metric, is_metric, registered_name
from answerkey.targets.function import function_target
from answerkey.targets.live import Live
from answerkey.types import Case, Target

_QUESTION_KEYS = ("question", "query", "input")


def target_of(target: object, timeout: float, retries: int = 0) -> Target:
    """A target from a function, a LangChain runnable, a LlamaIndex query engine, or an object with `ask`.

    >>> target_of(lambda question: "30 days", timeout=30).ask(Question("q1", "How long?")).answer  # doctest: +SKIP
    '30 days'
    """
    if callable(getattr(target, "ask", None)) and callable(getattr(target, "close", None)):
        return cast("Target", target)
    function = target
    if not inspect.isroutine(target):
        if callable(invoke := getattr(target, "invoke", None)):
            function = _invoking(invoke, getattr(target, "input_keys", ()))
        elif callable(query := getattr(target, "query", None)):
            function = query
    if not callable(function):
        raise SettingsError(
            f"target: found {type(target).__name__}, expected a function of the question, or an object with "
            "invoke(question), query(question) or ask(question)"
        )
    if has_caller_loop():
        function = _awaited(function)
    asked = function_target(function, timeout, name_of(target))
    return Live(asked, read_table(LiveTable, {"retries": retries}, "target"))


def _invoking(
    invoke: Callable[[object], object], input_keys: Iterable[object]
) -> Callable[[str], object]:
    """`invoke` of LangChain: chains that take a dict get the question under their own key."""
    keys = [str(key) for key in input_keys]
    if not keys:
        return invoke
    asked = next((key for key in _QUESTION_KEYS if key in keys), keys[0])
    empty: dict[str, object] = {key: [] for key in keys}
    return lambda question: invoke({**empty, asked: question})


def judge_of(judge: object, workers: int) -> Judge | None:
    """A judge from a function of the prompt, or from a chat model with `invoke`; None for a name or settings."""
    if judge is None or isinstance(judge, (str, Mapping)):
        return None
    if hasattr(judge, "rubric") and hasattr(judge, "judge"):
        return cast("Judge", judge)
    return function_judge(judge, settings=JudgeTable(timeout=FUNCTION_TIMEOUT, concurrency=workers))


def metrics_of(given: Iterable[object]) -> tuple[list[str], list[Metric]]:
    """The names of all metrics, and those that are plain functions as metrics of this call."""
    names: list[str] = []
    own: list[Metric] = []
    for item in given:
        name = item if isinstance(item, str) else registered_name(item)
        if name is None:
            if not callable(item):
                kind = type(item).__name__
                raise SettingsError(
                    f"metrics: found {kind}, expected a name or a function of (case, response)"
                )
            name = name_of(item) if name_of(item) != "<lambda>" else f"lambda_{len(own) + 1}"
            if is_metric(name):
                raise SettingsError(
                    f'metrics: the function "{name}" has the name of a built-in metric; rename it'
                )
            summary = (getattr(item, "__doc__", None) or "").strip().split("\n")[0]
            facts = Facts(name, summary, low=None, high=None, needs=("answer",))
            own.append(Metric(facts, item, "single", "your code"))
        names.append(name)
    return names, own


def _awaited(function: Callable[..., object]) -> Callable[..., object]:
    """The same function, synchronous: its coroutines are awaited on the loop of this thread."""
    if not (
        inspect.iscoroutinefunction(function)
        or inspect.iscoroutinefunction(type(function).__call__)
    ):
        return function
    called = partial(call_on, event_loop(), cast("Callable[..., Awaitable[object]]", function))
    called.__signature__ = inspect.signature(function)  # pyright: ignore[reportAttributeAccessIssue]
    return called


NAME = "data"  # of rows that come from no file, in messages and default ids


def cases_of(data: object, limit: int | None = None) -> list[Case]:
    """The cases of rows, a data frame, a data set, a path or a glob; checked as those of a file are.

    >>> cases_of([{"question": "How long?", "expected": "30 days"}])[0].id
    'data#1'
    """
    if isinstance(data, (str, Path)):
        return list(islice(read_cases([data]), limit))

    def cases() -> Iterator[Case]:
        for number, row in enumerate(islice(_rows(data), limit), start=1):
            if isinstance(row, Case):
                yield row
            else:
                place = Place(NAME, number, "row")
                yield from cases_of_rows(
                    rename_columns([(_plain_row(row, place), place)]), Path(NAME), number - 1
                )

    return list(check_cases(cases(), NAME))


def _plain_row(row: object, place: Place) -> dict[str, object]:
    if is_mapping(row):
        return {str(name): _cell(value) for name, value in row.items()}
    if dump := getattr(row, "model_dump", None):  # pydantic, as ragas samples are
        return _plain_row(dump(), place)
    if is_dataclass(row) and not isinstance(row, type):  # as deepeval test cases are
        return _plain_row(asdict(row), place)
    raise InputError(f"{place}: found {type(row).__name__}, expected a dict or a Case")


def _cell(value: object) -> object:
    """A cell as plain data: NaN and the missing values of pandas are None, arrays are lists."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    as_list = getattr(value, "tolist", None)
    value = as_list() if as_list else value
    return None if isinstance(value, float) and value != value else value


def _rows(data: Any) -> Iterator[object]:
    if is_mapping(data):
        return _rows_of_mapping(data)
    if hasattr(data, "collect") and hasattr(data, "collect_schema"):  # a lazy frame of polars
        data = data.collect()
    if hasattr(data, "iter_rows"):  # polars
        return iter(data.iter_rows(named=True))
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas
        columns = [str(name) for name in data.columns]
        return (
            dict(zip(columns, row, strict=True)) for row in data.itertuples(index=False, name=None)
        )
    if hasattr(data, "to_pylist"):  # an Arrow table
        return iter(data.to_pylist())
    if isinstance(data, Iterable) and not isinstance(
        data, (bytes, bytearray)
    ):  # lists, and data sets of Hugging Face
        return iter(cast("Iterable[object]", data))
    kind = type(data).__name__
    expected = "a list of dicts or of Case, a data frame, a data set, a path or a glob"
    raise InputError(f"{NAME}: found {kind}, expected {expected}")


def _rows_of_mapping(data: Mapping[str, object]) -> Iterator[object]:
    """`{"question": [...], "answer": [...]}` by column, or one row; a dict of data sets needs a choice."""
    values = list(data.values())
    if values and all(hasattr(value, "column_names") for value in values):
        names = ", ".join(map(str, data))
        raise InputError(
            f'{NAME}: found several data sets ({names}); choose one, as in data["{next(iter(data))}"]'
        )
    columns = [
        cast("Sequence[object]", value)
        for value in values
        if is_list(value) or hasattr(value, "tolist")
    ]
    if len(columns) < len(data) or not columns or not is_list(data.get("question", [])):
        return iter([data])
    lengths = {str(name): len(value) for name, value in zip(data, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        raise InputError(f"{NAME}: columns of different lengths: {lengths}")
    return (dict(zip(data, row, strict=True)) for row in zip(*columns, strict=True))
