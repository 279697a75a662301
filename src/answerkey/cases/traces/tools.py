"""The tool call that a span records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from answerkey.cases.traces.families import NAMES, first_text, first_value
from answerkey.cases.traces.messages import content_text, parse_value
from answerkey.cases.traces.records import Span
from answerkey.coerce.values import is_list, is_mapping, table_of

_LONGEST_RESULT = 20_000  # characters of a result; whole web pages are results, too
_NAMES: dict[str, list[str]] = NAMES["tool"]


class ToolFacts(msgspec.Struct, array_like=True, kw_only=True):
    """One call of a tool."""

    name: str
    arguments: object = None
    result: str | None = None
    error: str | None = None
    seconds: float | None = None
    id: str = ""


def tool_of(span: Span, table: Mapping[str, object], output: object) -> ToolFacts:
    """The call of a tool span; `output` is what its messages or events give."""
    arguments = parse_value(first_value(table, _NAMES["arguments"])).value
    if arguments is None:
        arguments = _arguments_of_events(span)
    result = parse_value(first_value(table, _NAMES["result"])).value
    if result is None:
        result = output
    if result is None:
        result = _content_of_event(span, NAMES["events"]["output"])
    state = table_of(result)
    name = first_text(table, _NAMES["name"]) or _name_of(span, state)
    # A message of LangChain: its content is the result, the rest describes it.
    if state.get("type") == "tool" and "content" in state:
        result = state["content"]
    error = span.error or None
    kind = first_text(table, ["error.type"])
    # "error" is only the status; the type says more.
    if error in (None, "error") and kind:
        error = kind
    seconds = None
    if span.start is not None and span.end is not None:
        # Clocks of two machines may let a span end before it begins.
        seconds = max(span.end - span.start, 0) / 1e9
    return ToolFacts(
        name=name,
        arguments=_plain_arguments(arguments, table),
        result=None if result is None else content_text(result)[:_LONGEST_RESULT],
        error=error,
        seconds=seconds,
        id=first_text(table, ["gen_ai.tool.call.id", "tool.id", "ai.toolCall.id"]),
    )


def _name_of(span: Span, output: Mapping[str, object]) -> str:
    if isinstance(output.get("name"), str):
        return str(output["name"])
    return span.name.removeprefix("execute_tool ").removesuffix(".tool").strip()


def _arguments_of_events(span: Span) -> object:
    """The input of a tool as some exporters write it: an event, or a message in its body."""
    for event in span.events:
        messages = table_of(table_of(event.body).get("input")).get("messages")
        if is_list(messages) and messages and is_mapping(messages[0]):
            return parse_value(messages[0].get("content")).value
    return _content_of_event(span, NAMES["events"]["tool"])


def _content_of_event(span: Span, names: Sequence[str]) -> object:
    """The content of the first event with one of these names, as Strands records a call."""
    for event in span.events:
        if event.name in names:
            return parse_value(first_value(event.attributes, NAMES["events"]["text"])).value
    return None


def _plain_arguments(arguments: object, table: Mapping[str, object]) -> object:
    """Named arguments, also from `{"args": […], "kwargs": {…}}` and `{"input": {…}}`."""
    if not is_mapping(arguments):
        return arguments
    if "args" in arguments and "kwargs" in arguments:
        named = dict(table_of(arguments["kwargs"]))
        schema = table_of(parse_value(first_value(table, _NAMES["schema"])).value)
        positions = arguments["args"]
        if is_list(positions):
            names = [name for name in schema if name not in named]
            # Positions beyond the schema still need a name.
            names += [f"arg{number}" for number in range(len(names) + 1, len(positions) + 1)]
            named.update(zip(names, positions, strict=False))
        return named
    if set(arguments) == {"input"} and is_mapping(arguments["input"]):
        return arguments["input"]
    return arguments
