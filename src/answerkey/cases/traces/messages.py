"""Chat messages in the shapes of model providers, frameworks and tracers."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from answerkey.cases.traces.families import NAMES, nest_names
from answerkey.coerce.values import is_list, is_mapping, valid_text

_DEEPEST = 12  # levels of wrappers around a message
_LISTS = ("messages", "contents", "choices", "generations", "candidates")
_STATES = frozenset(_LISTS)
# Types of the parts of a message; the Vercel AI SDK writes hyphens.
_CALLS = frozenset({"tool_call", "tool_use", "function_call", "tool-call"})
_RESULTS = frozenset({"tool_call_response", "tool_result", "tool-result"})
_RESULT_IDS = ("id", "tool_use_id", "toolUseId", "toolCallId")
_LONGEST_LITERAL = 100_000  # a Python literal that is longer is not parsed: the parser is slow


class Role(StrEnum):
    """Who wrote a message. CALL is a text that only announces a tool call."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"
    CALL = "tool_call"


_ROLES = {name: Role(role) for role, names in NAMES["roles"].items() for name in names}


@dataclass(frozen=True, slots=True)
class MessageCall:
    """A tool call that a message of the assistant contains."""

    id: str
    name: str
    arguments: object


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; `result_of` is the id of the call that a tool's message answers."""

    role: Role
    text: str = ""
    calls: tuple[MessageCall, ...] = ()
    result_of: str = ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A value that may have been written as JSON in a text; `is_cut` where that text ends early."""

    value: object
    is_cut: bool = False


def parse_value(value: object) -> Parsed:
    """The value of a text that is JSON or a Python literal, or else the value as it is.

    >>> parse_value('[{"role": "user", "content": "Hi"}, {"role": "assis')
    Parsed(value=[{'role': 'user', 'content': 'Hi'}], is_cut=True)
    """
    if not isinstance(value, str):
        return Parsed(value)
    text = value.strip()
    if not text.startswith(("{", "[", '"')):
        return Parsed(value)
    try:
        return Parsed(json.loads(text))
    except (ValueError, RecursionError):
        pass
    if len(text) <= _LONGEST_LITERAL:
        try:
            return Parsed(ast.literal_eval(text))
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            pass
    # It begins as JSON and could not be parsed, so its end is missing.
    if text.startswith(('[{"', '{"', '["')):
        return Parsed(_complete_items(text), is_cut=True)
    return Parsed(value)


def _complete_items(text: str) -> object:
    """The items of a JSON list before the place where its text was cut; None where none is whole."""
    decoder = json.JSONDecoder()
    items: list[object] = []
    position = 1
    while text.startswith("[") and position < len(text):
        try:
            item, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        items.append(item)
        while position < len(text) and text[position] in ", \n\t\r":
            position += 1
    return items or None


def messages_of(value: object, role: Role, depth: int = 0) -> list[Message]:
    """The messages of a value in any of the usual shapes; a plain text is a message of `role`."""
    value = parse_value(value).value
    if depth > _DEEPEST or value is None:
        return []
    if isinstance(value, str):
        text = valid_text(value).strip()
        return [Message(role, text)] if text else []
    if is_list(value):
        # A list of two texts may also be two messages; the role decides.
        if len(value) == 2 and _is_pair(value[0], value[1]):
            return messages_of([{"role": value[0], "content": value[1]}], role, depth + 1)
        # A list of numbers is data, not messages.
        items = [
            item for item in value if isinstance(item, str) or is_mapping(item) or is_list(item)
        ]
        return [message for item in items for message in messages_of(item, role, depth + 1)]
    if is_mapping(value):
        return _messages_of_table(value, role, depth)
    if depth < 2 and isinstance(value, (int, float)) and not isinstance(value, bool):
        return [Message(role, str(value))]
    return []


def _is_pair(first: object, second: object) -> bool:
    """Whether two items are a role and a text, as LangGraph lets users write a message."""
    return isinstance(first, str) and isinstance(second, str) and first.lower() in _ROLES


def _messages_of_table(table: Mapping[str, object], role: Role, depth: int) -> list[Message]:
    if any("." in str(key) for key in table):
        nested = nest_names(table)
        if not is_mapping(nested):
            return messages_of(nested, role, depth + 1)
        table = nested
    for key in _LISTS:
        # The `contents` of a message with a role are its own parts.
        if is_list(table.get(key)) and (key != "contents" or "role" not in table):
            return messages_of(table[key], role, depth + 1)
    if "lc" in table and is_mapping(table.get("kwargs")):
        return _message_of_langchain(table, role)
    for key in ("message", "data"):
        wrapped = table.get(key)
        if is_mapping(wrapped) and not table.get("role"):
            if key == "data" and "type" in table:  # the class of a message of LangChain
                wrapped = {"type": table["type"], **wrapped}
            return messages_of(wrapped, role, depth + 1) or _text_beside(table, role)
    inner = parse_value(table.get("content")).value
    if is_mapping(inner) and not _STATES.isdisjoint(inner):  # a state, written as the content
        return messages_of(inner, role, depth + 1)
    own_role = role_of(table)
    if own_role is not None or "parts" in table or "tool_calls" in table:
        return [_message(table, own_role or role)]
    if table.get("type") == "message":
        return [_message(table, role)]
    return _messages_of_state(table, role, depth)


def _text_beside(table: Mapping[str, object], role: Role) -> list[Message]:
    text = content_text(table.get("text"))
    return [Message(role, text)] if text else []


def _message_of_langchain(table: Mapping[str, object], role: Role) -> list[Message]:
    """A serialised object of LangChain, whose class names the role."""
    names = table.get("id")
    fields = table["kwargs"]
    if not is_mapping(fields):
        return []
    if is_list(names) and names:
        kind = str(names[-1])
    else:
        kind = ""
    own_role = _ROLES.get(kind.lower()) or role_of(fields) or role
    return [_message({**fields, "role": own_role.value}, own_role)]


def _messages_of_state(table: Mapping[str, object], role: Role, depth: int) -> list[Message]:
    """The question or the answer under one of the usual keys of a state or of arguments."""
    keys = NAMES["state"]["answer" if role is Role.ASSISTANT else "question"]
    for key in keys:
        messages = messages_of(table.get(key), role, depth + 1)
        if any(message.text or message.calls for message in messages):
            return messages
    texts = [value for value in table.values() if isinstance(value, str) and value.strip()]
    # With several texts none of them is surely the question or the answer.
    if len(texts) == 1 and len(table) == 1:
        return [Message(role, valid_text(texts[0]).strip())]
    if table and all(is_mapping(value) for value in table.values()):
        # A pipeline of Haystack: the data of each component under the component's name.
        for value in table.values():
            messages = messages_of(value, role, depth + 1)
            if messages:
                return messages
    return []


def role_of(table: Mapping[str, object]) -> Role | None:
    """The role that a message names, as `role`, `type` or `from`."""
    for key in ("role", "type", "from", "sender", "author"):
        name = table.get(key)
        if isinstance(name, str):
            role = _ROLES.get(name.strip().lower().removeprefix("messagerole."))
            if role is not None:
                return role
    return None


def _message(table: Mapping[str, object], role: Role) -> Message:
    content = next(
        (
            table[key]
            for key in ("parts", "contents", "content", "text", "value", "output")
            if table.get(key) not in (None, "", [])
        ),
        None,
    )
    message = _read_content(content, role)
    calls = tuple(_calls_of(table.get("tool_calls")))
    if str(table.get("type")) in _CALLS:
        calls = (_call_of(table),)
    result_of = message.result_of or str(table.get("tool_call_id") or "")
    if table.get("type") == "function_call_output":
        result_of = str(table.get("call_id") or "")
    return replace(message, calls=(*message.calls, *calls), result_of=result_of)


def _read_content(content: object, role: Role) -> Message:
    """The text, the calls and the result that the content of a message holds."""
    if is_mapping(content):
        content = content.get("parts", [content])
    if not is_list(content):
        return Message(role, content_text(content))
    texts: list[str] = []
    calls: list[MessageCall] = []
    result_of = ""
    for part in content:
        if not is_mapping(part):
            texts.append(content_text(part))
            continue
        part = _unwrap(part, "message_content")
        kind = str(part.get("type") or "")
        if kind in _CALLS or "toolUse" in part:
            calls.append(_call_of(_unwrap(part, "toolUse")))
        elif kind in _RESULTS or "toolResult" in part:
            result = _unwrap(part, "toolResult")
            result_of = str(_first(result, _RESULT_IDS) or "")
            texts.append(content_text(_first(result, ("response", "result", "content", "output"))))
            role = Role.TOOL
        # The model's thoughts are no part of its answer.
        elif kind not in ("thinking", "reasoning"):
            texts.append(content_text(_first(part, ("text", "content"))))
    return Message(role, "\n".join(text for text in texts if text), tuple(calls), result_of)


def content_text(content: object) -> str:
    """The text of a content: itself, or that of its parts; JSON for other values."""
    if content is None:
        return ""
    if isinstance(content, str):
        return valid_text(content).strip()
    if is_list(content) and all(isinstance(part, str) or is_mapping(part) for part in content):
        texts = [_first(part, ("text",)) if is_mapping(part) else part for part in content]
        if all(isinstance(text, str) for text in texts):
            return valid_text("\n".join(str(text) for text in texts)).strip()
    return valid_text(json.dumps(content, ensure_ascii=False, default=str))


def _unwrap(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    inner = table.get(key)
    return inner if is_mapping(inner) else table


def _first(table: Mapping[str, object], keys: Iterable[str]) -> object:
    return next((table[key] for key in keys if table.get(key) is not None), None)


def _calls_of(value: object) -> Iterable[MessageCall]:
    if not is_list(value):
        return
    for item in value:
        if is_mapping(item):
            yield _call_of(_unwrap(item, "tool_call"))


def _call_of(table: Mapping[str, object]) -> MessageCall:
    function = _unwrap(table, "function")
    arguments = _first(function, ("arguments", "args", "input", "parameters"))
    return MessageCall(
        str(_first(table, ("call_id", "id", "toolUseId", "toolCallId")) or ""),
        str(_first(function, ("name", "toolName")) or "").strip(),
        parse_value(arguments).value,
    )
