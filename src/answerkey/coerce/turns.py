"""Turns of a conversation: pairs, lines of the user, or chat messages with tool calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from answerkey.coerce.tool_calls import (
    as_tool_calls,
    is_result_role,
    read_error,
    read_field,
    read_result,
    result_id,
)
from answerkey.coerce.values import (
    Place,
    as_text,
    is_list,
    is_mapping,
    message_text,
    parse_literal,
)
from answerkey.types import ToolCall, Turn

_USER_ROLES = ("user", "human")
_ASSISTANT_ROLES = ("assistant", "ai", "gpt", "model")
_CALL_TYPES = ("tool_use", "function_call", "tool_call")
_CALL_IDS = ("call_id", "id")
_CONTENTS = ("content", "value", "parts")
# Parts of Gemini's messages have no type: a call or a result is inside, in either spelling.
_CALLS_INSIDE = ("functionCall", "function_call")
_RESULTS_INSIDE = ("functionResponse", "function_response")


def as_turns(value: object, column: str, place: Place) -> tuple[Turn, ...]:
    """Earlier turns: `{user, answer}`, `{role, content}`, `{type, content}`, `{from, value}`,
    pairs, or the lines of the user."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        value = parse_literal(value, column, place)
    if not is_list(value):
        raise place.error(column, value, "a list of earlier turns")
    reader = _ChatReader(column, place)
    for item in value:
        role = _role_of(item)
        if role is None:
            turn = _OpenTurn(*_turn_of(item, column, place))
            for call in as_tool_calls(read_field(item, "tools") or [], column, place):
                turn.add_call(call, None)
            reader.turns.append(turn)
        else:
            reader.add(item, role)
    return tuple(turn.close() for turn in reader.turns)


def calls_of_messages(messages: Sequence[object], place: Place) -> tuple[ToolCall, ...] | None:
    """The calls after the last message of the user; None where the messages have no roles."""
    reader = _ChatReader("messages", place)
    reader.turns.append(_OpenTurn(""))
    roles = [_role_of(message) for message in messages]
    if not any(roles):
        return None
    for message, role in zip(messages, roles, strict=True):
        reader.add(message, role)
    return reader.turns[-1].close().tools


@dataclass(slots=True)
class _OpenTurn:
    """A turn while its messages are read; `call_ids` are parallel to `calls`."""

    user: str
    answer: str = ""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    call_ids: list[str | None] = field(default_factory=list[str | None])
    has_result: list[bool] = field(default_factory=list[bool])

    def add_call(self, call: ToolCall, call_id: str | None) -> None:
        self.calls.append(call)
        self.call_ids.append(call_id)
        self.has_result.append(call.result is not None or call.error is not None)

    def add_result(self, message: object) -> None:
        """Give a result to its call: by id, else by name, else to the first call without one."""
        call_id = result_id(message)
        waiting = [n for n, is_done in enumerate(self.has_result) if not is_done]
        name = read_field(message, "name")
        same_name = [n for n in waiting if self.calls[n].name == name]
        # An id may be used twice in one conversation: the call that waits for a result counts.
        place = next((n for n in waiting if call_id and self.call_ids[n] == call_id), None)
        if place is None and call_id is None and same_name:
            place = same_name[0]
        if place is None and waiting and (call_id is None or self.call_ids[waiting[0]] is None):
            place = waiting[0]
        if place is None:
            return
        result = read_result(message)
        error = read_error(message)
        self.calls[place] = replace(self.calls[place], result=result, error=error)
        self.has_result[place] = True

    def close(self) -> Turn:
        return Turn(self.user, self.answer, tuple(self.calls))


class _ChatReader:
    """Reads chat messages into turns; a message of the user begins the next turn."""

    def __init__(self, column: str, place: Place) -> None:
        self.turns: list[_OpenTurn] = []
        self._column = column
        self._place = place

    def add(self, message: object, role: object) -> None:
        content = _first_field(message, _CONTENTS)
        blocks = list(_blocks(content))
        results = [result for block in blocks if (result := _result_in(block)) is not None]
        text = as_text(message_text(content), self._column, self._place)
        # Anthropic sends results in a message of the user; without a text it begins no turn.
        if role in _USER_ROLES and (text or not results):
            self.turns.append(_OpenTurn(text))
        # A reply before the first question, such as a greeting, belongs to no turn.
        if not self.turns:
            return
        turn = self.turns[-1]
        if role in _ASSISTANT_ROLES:
            # A message that only calls tools must not empty an answer before it.
            turn.answer = text or turn.answer
        for call in self._calls_in(message, role, blocks):
            turn.add_call(*call)
        for result in results:
            turn.add_result(result)
        if is_result_role(role) and not results:
            turn.add_result(message)

    def _calls_in(
        self, message: object, role: object, blocks: Sequence[object]
    ) -> Iterator[tuple[ToolCall, str | None]]:
        items: list[object] = []
        listed = read_field(message, "tool_calls")
        if is_list(listed):
            items += listed
        else:
            items += [block for block in blocks if _is_call(block)]
        if role in _CALL_TYPES:  # an item of OpenAI's Responses API is a call itself
            items.append(message)
        legacy = read_field(message, "function_call")
        # The old field may stand beside the new list.
        if is_mapping(legacy) and not items:
            items.append(legacy)
        # Calls of one message are made in parallel.
        if len(items) > 1:
            step = sum(len(turn.calls) for turn in self.turns) + 1
        else:
            step = None
        for item in items:
            ids = (read_field(item, name) for name in _CALL_IDS)
            call_id = next((each for each in ids if isinstance(each, str)), None)
            for call in as_tool_calls([item], self._column, self._place):
                yield replace(call, step=call.step if step is None else step), call_id


def _first_field(value: object, names: Sequence[str]) -> object:
    return next((field for name in names if (field := read_field(value, name)) is not None), None)


def _is_call(block: object) -> bool:
    if read_field(block, "type") in _CALL_TYPES:
        return True
    return _first_field(block, _CALLS_INSIDE) is not None


def _result_in(block: object) -> object:
    """The result that a part of a message brings; None where it brings none."""
    if is_result_role(read_field(block, "type")):
        return block
    return _first_field(block, _RESULTS_INSIDE)


def _blocks(content: object) -> Sequence[object]:
    return content if is_list(content) else ()


def _role_of(item: object) -> object:
    """The role of a chat message, or None where the item is no chat message."""
    if isinstance(item, str) or is_list(item):
        return None
    for name in ("role", "type", "from"):
        role = read_field(item, name)
        if role:
            return role
    if is_list(read_field(item, "tool_calls")):
        return "assistant"
    return None


def _turn_of(item: object, column: str, place: Place) -> tuple[str, str]:
    if is_mapping(item):
        user = item.get("user", item.get("question"))
        return as_text(user, column, place), as_text(item.get("answer"), column, place)
    if is_list(item) and len(item) == 2:
        return as_text(item[0], column, place), as_text(item[1], column, place)
    return as_text(item, column, place), ""
