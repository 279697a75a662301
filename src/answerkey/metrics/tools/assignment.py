"""The best assignment of calls to expected calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answerkey.metrics.tools.argument_values import count_arguments, find_differences
from answerkey.metrics.tools.call_lists import matches_name
from answerkey.types import ExpectedCall, ToolCall

_LEAST = 1e-6  # a call with the right name is better than none, also when every argument is wrong


@dataclass(frozen=True, slots=True)
class MatchedCall:
    """An expected call and the call that serves it, if there is one."""

    expected: ExpectedCall
    call: ToolCall | None = None
    share: float = 0.0
    differences: tuple[str, ...] = ()


def assign_calls(expected: Sequence[ExpectedCall], calls: Sequence[ToolCall]) -> list[MatchedCall]:
    """Give each expected call at most one call of its name, so that most arguments agree."""
    matches = [[_compare_call(right, call) for call in calls] for right in expected]
    gains = [[_gain(match) for match in row] for row in matches]
    places = solve_assignment(gains)
    assigned: list[MatchedCall] = []
    for number, right in enumerate(expected):
        place = places[number]
        if place is None:
            match = None
        else:
            match = matches[number][place]
        assigned.append(match or MatchedCall(right))
    return assigned


def _gain(match: MatchedCall | None) -> float:
    if match is None:
        return 0.0
    return match.share + _LEAST


def _compare_call(expected: ExpectedCall, call: ToolCall) -> MatchedCall | None:
    """How far a call agrees with an expected one; None for another tool."""
    if not matches_name(expected, call):
        return None
    if expected.arguments is None:
        return MatchedCall(expected, call, 1.0)
    differences = find_differences(expected.arguments, call.arguments)
    count = count_arguments(expected.arguments, call.arguments)
    share = 1.0
    if count:
        share -= len(differences) / count
    return MatchedCall(expected, call, share, tuple(differences.values()))


def solve_assignment(gains: Sequence[Sequence[float]]) -> list[int | None]:
    """For each row the column that it gets, so that the sum of the gains is largest; 0 is no pair.

    The Hungarian method with potentials, by hand: scipy would add 114 MB for one function.

    >>> solve_assignment([[3.0, 2.0], [2.0, 0.0]])
    [1, 0]
    """
    rows = len(gains)
    columns = len(gains[0]) if gains else 0
    if not columns:
        return [None] * rows
    # Every row may also stay without a column: one more column per row, with gain 0.
    width = columns + rows
    row_potential = [0.0] * (rows + 1)
    column_potential = [0.0] * (width + 1)
    row_of = [0] * (width + 1)  # the row (from 1) that has each column; 0 for none
    for row in range(1, rows + 1):
        row_of[0] = row
        previous = _find_path(gains, columns, row_of, row_potential, column_potential)
        column = previous.pop()
        while column:
            before = previous[column]
            row_of[column] = row_of[before]
            column = before
    places: list[int | None] = [None] * rows
    for column in range(1, columns + 1):
        row = row_of[column]
        if row and gains[row - 1][column - 1] > 0:
            places[row - 1] = column - 1
    return places


def _find_path(
    gains: Sequence[Sequence[float]],
    columns: int,
    row_of: Sequence[int],
    row_potential: list[float],
    column_potential: list[float],
) -> list[int]:
    """The cheapest path from the row at column 0 to a free column.

    Returns for each column the column before it on the path, and the free column at the end.
    """
    width = len(row_of) - 1
    shortest = [float("inf")] * (width + 1)
    previous = [0] * (width + 1)
    is_done = [False] * (width + 1)
    column = 0
    while row_of[column]:
        is_done[column] = True
        row = row_of[column]
        step = float("inf")
        nearest = 0
        for other in range(1, width + 1):
            if is_done[other]:
                continue
            gain = 0.0
            if other <= columns:
                gain = gains[row - 1][other - 1]
            length = -gain - row_potential[row] - column_potential[other]
            if length < shortest[other]:
                shortest[other] = length
                previous[other] = column
            if shortest[other] < step:
                step = shortest[other]
                nearest = other
        for other in range(width + 1):
            if is_done[other]:
                row_potential[row_of[other]] += step
                column_potential[other] -= step
            else:
                shortest[other] -= step
        column = nearest
    return [*previous, column]
