"""Tool calls as people and tools write them: rows, chat messages, and objects of frameworks."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

from answerkey.coerce.values import (
    Place,
    as_amount,
    as_count,
    is_list,
    is_mapping,
    items_of,
    json_value,
    message_text,
    parse_literal,
    valid_text,
)
from answerkey.types import ToolCall

_NAMES: Mapping[str, Sequence[str]] = tomllib.loads(
    files("answerkey.coerce").joinpath("columns.toml").read_text("utf-8")
)["tool_call"]
TEXT_ARGUMENT = "input"  # the name of arguments that are one text
_DEEPEST_AGENT = 20
_SCHEMA_KEYS = frozenset({"properties", "$schema"})


def read_field(value: object, name: str) -> object:
    """A value of a mapping or an attribute of an object; None where there is none."""
    if is_mapping(value):
        return value.get(name)
    if isinstance(value, (str, int, float)) or is_list(value):
        return None
    attribute = getattr(value, name, None)
    # A method of that name ("name()") is no value.
    return None if callable(attribute) else attribute


def _read_part(call: object, part: str) -> object:
    for name in _NAMES[part]:
        value = read_field(call, name)
        if value is not None:
            return value
    return None


def as_tool_calls(value: object, column: str, place: Place) -> tuple[ToolCall, ...]:
    """The calls of a list: objects of any framework, or names.

    Definitions of tools, which OpenAI's requests have under `tools`, are no calls.

    >>> as_tool_calls([{"name": "search", "args": {"city": "Oslo"}}], "tools", Place("x"))[0].arguments
    {'city': 'Oslo'}
    """
    return _read_calls(value, column, place, 0)


def _read_calls(value: object, column: str, place: Place, depth: int) -> tuple[ToolCall, ...]:
    items = items_of(value, column, place)
    calls: list[ToolCall] = []
    for item in items:
        if item is None or _is_definition(item):
            continue
        calls.append(_read_call(item, column, place, depth))
    return tuple(calls)


def _is_definition(item: object) -> bool:
    """Whether an object describes a tool, with the schema of its arguments, and calls nothing."""
    function = read_field(item, "function")
    described = item if function is None else function
    schemas = (read_field(described, name) for name in _NAMES["schemas"])
    if any(is_mapping(schema) and _SCHEMA_KEYS & schema.keys() for schema in schemas):
        return True
    has_arguments = read_field(described, "arguments") is not None
    return function is not None and not has_arguments and bool(read_field(described, "description"))


def _read_call(item: object, column: str, place: Place, depth: int) -> ToolCall:
    if isinstance(item, str):
        return ToolCall(valid_text(item).strip())
    # LangChain's intermediate steps are pairs of an action and what it returned.
    if is_list(item) and len(item) == 2:
        action = _read_call(item[0], column, place, depth)
        return replace(action, result=json_value(item[1]))
    inner = _unwrap(item)
    name = _read_part(inner, "name")
    if not isinstance(name, str) or not name.strip():
        raise place.error(column, item, "a tool call with a name")
    error = read_error(item)
    sub_calls: tuple[ToolCall, ...] = ()
    nested = _read_part(item, "calls")
    if is_list(nested) and depth < _DEEPEST_AGENT:
        sub_calls = _read_calls(nested, column, place, depth + 1)
    return ToolCall(
        name=valid_text(name).strip(),
        arguments=read_arguments(_read_part(inner, "arguments")),
        result=json_value(_read_part(item, "result")),
        error=error,
        # Read as live: a wrong time must not make the whole call an error.
        seconds=as_amount(_read_part(item, "seconds"), column, replace(place, live=True)),
        calls=sub_calls,
        step=as_count(read_field(item, "step"), column, replace(place, live=True)),
    )


def _unwrap(item: object) -> object:
    for name in _NAMES["inside"]:
        inner = read_field(item, name)
        if inner is not None and not isinstance(inner, str):
            return inner
    return item


def read_arguments(value: object) -> dict[str, object]:
    """The arguments by name; JSON in a text is read, any other value has the name "input".

    >>> read_arguments('{"city": "Oslo"}'), read_arguments("hotels in Oslo")
    ({'city': 'Oslo'}, {'input': 'hotels in Oslo'})
    """
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = parse_literal(value, "arguments", Place("a tool call", live=True))
    if value is None or value == "":
        return {}
    if not is_mapping(value):
        return {TEXT_ARGUMENT: json_value(value)}
    return {str(name): json_value(item) for name, item in value.items()}


def read_error(item: object) -> str | None:
    """The error of a call or of a message with its result."""
    error = _read_part(item, "error")
    has_failed = read_field(item, "is_error") is True or read_field(item, "status") == "error"
    result = read_result(item)
    if error is None and (has_failed or _is_error_message(result)):
        error = result
    if error is None or error is False or error == "":
        return "failed" if has_failed else None
    if error is True:
        return "failed"
    return valid_text(str(error)).strip() or None


def _is_error_message(result: object) -> bool:
    if not isinstance(result, str):
        return False
    return result.lstrip()[:60].lower().startswith(tuple(_NAMES["error_starts"]))


def read_result(item: object) -> object:
    """The result that a message or a call brings."""
    result = _read_part(item, "result")
    if result is None:
        result = message_text(read_field(item, "content"))
    return json_value(result)


def result_id(message: object) -> str | None:
    """The id of the call that a message with a result belongs to."""
    value = _read_part(message, "id")
    return value if isinstance(value, str) else None


def is_result_role(role: object) -> bool:
    """Whether a message with this role or type brings the result of a call."""
    return role in _NAMES["roles"]
