"""The calls of a response as a case counts them: without failed ones, sub-agents opened or closed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from answerkey.coerce.expected_tools import ANY
from answerkey.types import Case, ExpectedCall, Response, ToolCall

_NAME_MARKS = re.compile(r"[\s\-.]+")


@cache
def plain_tool_name(name: str) -> str:
    """The name as it is compared: `Get-Weather` is `get_weather`."""
    return _NAME_MARKS.sub("_", name.strip().casefold())


def matches_name(expected: ExpectedCall, call: ToolCall) -> bool:
    if expected.name == ANY:
        return True
    return plain_tool_name(expected.name) == plain_tool_name(call.name)


@dataclass(frozen=True, slots=True)
class CallLists:
    """The calls that happened and, apart from them, those that failed; in the order of the calls."""

    done: tuple[ToolCall, ...] = ()
    failed: tuple[ToolCall, ...] = ()


def all_calls(calls: Iterable[ToolCall]) -> list[ToolCall]:
    """Every call, with the calls of sub-agents after the call that started them."""
    flat: list[ToolCall] = []
    for call in calls:
        flat.append(call)
        flat += all_calls(call.calls)
    return flat


def split_failed(calls: Iterable[ToolCall]) -> CallLists:
    made = list(calls)
    done = tuple(call for call in made if call.error is None)
    failed = tuple(call for call in made if call.error is not None)
    return CallLists(done, failed)


def expected_names(case: Case) -> frozenset[str]:
    return frozenset(
        plain_tool_name(call.name) for plan in case.expected_tools or () for call in plan.calls
    )


def calls_that_count(case: Case, response: Response) -> CallLists:
    """The calls that are compared with the expected ones.

    A case may expect a sub-agent, or the tools that the sub-agent calls. Whichever of them it
    names counts: calls inside an expected sub-agent are its own business, and a sub-agent around
    expected calls is only the way to them.
    """
    names = expected_names(case)
    return split_failed(_open_sub_agents(response.tools or (), names))


def _open_sub_agents(calls: Sequence[ToolCall], names: frozenset[str]) -> list[ToolCall]:
    counted: list[ToolCall] = []
    for call in calls:
        inner = _open_sub_agents(call.calls, names)
        is_expected = plain_tool_name(call.name) in names
        has_expected = any(plain_tool_name(each.name) in names for each in inner)
        if is_expected or not has_expected:
            counted.append(call)
        if has_expected:
            counted += inner
    return counted
