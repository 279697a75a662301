"""The calls that a case expects, with their alternatives; and the sources that it forbids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, product

from answerkey.coerce.passages import as_passages
from answerkey.coerce.tool_calls import as_tool_calls, read_field
from answerkey.coerce.values import Place, is_list, items_of
from answerkey.types import ExpectedCall, ExpectedCalls, Passage, ToolCall

ANY = "*"  # matches any tool, any arguments or any value
_MOST_ALTERNATIVES = 100
_ARGUMENT_NAMES = ("arguments", "args", "input", "tool_input", "input_parameters", "function")


def as_expected_tools(value: object, column: str, place: Place) -> tuple[ExpectedCalls, ...]:
    """The right lists of calls, each in order.

    A list of lists gives alternatives. A list among calls gives alternatives for that one call.
    An empty list means that no tool should be called.

    >>> as_expected_tools([["search", "book"], ["ask"]], "expected_tools", Place("x"))[1]
    ExpectedCalls(calls=(ExpectedCall(name='ask', arguments=None),))
    """
    items = items_of(value, column, place)
    sequences: list[Sequence[object]] = [item for item in items if is_list(item)]
    # Lists among plain calls are choices for one call.
    if not items or len(sequences) < len(items):
        sequences = [items]
    plans: list[ExpectedCalls] = []
    for sequence in sequences:
        choices = [_choices_for_one_call(item, column, place) for item in sequence]
        # A few lists of choices multiply to millions of plans.
        plans += [ExpectedCalls(calls) for calls in islice(product(*choices), _MOST_ALTERNATIVES)]
    if len(plans) >= _MOST_ALTERNATIVES:
        raise place.error(column, value, f"fewer than {_MOST_ALTERNATIVES} alternatives")
    return tuple(plans)


def _choices_for_one_call(item: object, column: str, place: Place) -> list[ExpectedCall]:
    if is_list(item):
        return [call for each in item for call in _choices_for_one_call(each, column, place)]
    calls = as_tool_calls([item], column, place)
    if not calls:
        raise place.error(column, item, "a tool call with a name")
    return [ExpectedCall(call.name, _expected_arguments(item, call)) for call in calls]


def _expected_arguments(item: object, call: ToolCall) -> Mapping[str, object] | None:
    """The arguments; None where the case names none or says "*"."""
    written = [read_field(item, name) for name in _ARGUMENT_NAMES]
    if all(value is None or value == ANY for value in written):
        return None
    return call.arguments


def as_forbidden(value: object, column: str, place: Place) -> tuple[Passage, ...]:
    """Sources by their id or document, or with their text: `["salaries.pdf"]`, `[{"id", "text"}]`."""
    sources: list[Passage] = []
    for item in items_of(value, column, place):
        if isinstance(item, (str, int)):
            sources.append(Passage(id=str(item).strip()))
        else:
            sources += as_passages([item], column, place)
    return tuple(sources)
