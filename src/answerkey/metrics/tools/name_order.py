"""Names of calls against expected names: how many are right, and how many are in the right order."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby

from answerkey.coerce.expected_tools import ANY
from answerkey.metrics.tools.call_lists import matches_name, plain_tool_name
from answerkey.types import ExpectedCall, ToolCall


class OrderMode(StrEnum):
    """How a list of calls is compared with the expected list.

    STRICT: the same calls in the same order. ANY: in any order. SUBSET: calls may be missing.
    SUPERSET: there may be other calls.
    """

    STRICT = "strict"
    ANY = "any"
    SUBSET = "subset"
    SUPERSET = "superset"


def count_right_names(expected: Sequence[ExpectedCall], calls: Sequence[ToolCall]) -> int:
    """The calls that are expected, as a multiset; "*" takes a call that no name takes."""
    missing, _extra = unmatched_names(expected, calls)
    return len(expected) - len(missing)


def unmatched_names(
    expected: Sequence[ExpectedCall], calls: Sequence[ToolCall]
) -> tuple[list[str], list[str]]:
    """The expected names that were not called, and the called names that were not expected."""
    extra = [call.name for call in calls]
    missing: list[str] = []
    # Names first, because "*" must not take a call that a name needs.
    for right in sorted(expected, key=lambda call: call.name == ANY):
        if right.name == ANY:
            place = 0 if extra else None
        else:
            name = plain_tool_name(right.name)
            places = (n for n, each in enumerate(extra) if plain_tool_name(each) == name)
            place = next(places, None)
        if place is None:
            missing.append("any tool" if right.name == ANY else right.name)
        else:
            del extra[place]
    return missing, extra


def order_share(
    expected: Sequence[ExpectedCall], calls: Sequence[ToolCall], mode: OrderMode
) -> float:
    """The share of the calls that are in the right place, 1 for a list that the mode accepts."""
    if mode is OrderMode.ANY:
        in_place = count_right_names(expected, calls)
    else:
        in_place = common_subsequence(expected, _sort_parallel(expected, calls))
    if mode is OrderMode.SUBSET:
        length = len(calls)
    elif mode is OrderMode.SUPERSET:
        length = len(expected)
    else:
        length = max(len(expected), len(calls))
    return in_place / length if length else 1.0


def common_subsequence(expected: Sequence[ExpectedCall], calls: Sequence[ToolCall]) -> int:
    """The length of the longest common subsequence of names."""
    # One row of the usual table is kept: only its last number is needed.
    above = [0] * (len(calls) + 1)
    for right in expected:
        row = [0]
        for place, call in enumerate(calls):
            if matches_name(right, call):
                row.append(above[place] + 1)
            else:
                row.append(max(above[place + 1], row[place]))
        above = row
    return above[-1]


def _sort_parallel(
    expected: Sequence[ExpectedCall], calls: Sequence[ToolCall]
) -> Sequence[ToolCall]:
    """The calls, with those of one step in the order in which the case expects them.

    Calls of one step were made at the same time, so their order says nothing.
    """
    first_place: dict[str, int] = {}
    for place, right in enumerate(expected):
        first_place.setdefault(plain_tool_name(right.name), place)
    ordered: list[ToolCall] = []
    for step, group in groupby(calls, key=lambda call: call.step):
        same_step = list(group)
        if step is not None:
            same_step.sort(
                key=lambda call: first_place.get(plain_tool_name(call.name), len(expected))
            )
        ordered += same_step
    return ordered
