"""Cells that hold several values: `inputs` and `outputs` of LangSmith, replies of chat endpoints as
Inspect and OpenAI write them, answers with positions as in SQuAD, and chat messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerkey.coerce.columns import COLUMNS, RESPONSE_COLUMNS, canonical_columns
from answerkey.coerce.turns import as_turns
from answerkey.coerce.values import (
    Place,
    is_list,
    is_mapping,
    message_text,
    parse_literal,
    table_of,
)

Cells = Mapping[str, object]
_NESTED_COLUMNS = ("question", "answer", "expected")


def spread_cells(row: Cells, place: Place) -> Cells:
    """The row with nested cells spread over columns; values that the row itself gives stay.

    >>> row = {"question": {"query": "How long?"}, "answer": {"output": "30 days"}}
    >>> spread_cells(row, Place("x"))
    {'question': 'How long?', 'answer': '30 days'}
    """
    cells = {column: row[column] for column in _NESTED_COLUMNS if column in row}
    question = _parse_object(row.get("question"), place)
    # Only a row with a nested question: an answer may be JSON on purpose.
    if is_mapping(question):
        cells = {column: _parse_object(value, place) for column, value in cells.items()}
    if not any(_is_nested(value) for value in cells.values()):
        return row
    spread = {**row, **cells}
    answer = cells.get("answer")
    if is_mapping(answer):
        spread |= _columns_in(_with_first_choice(answer), "answer", spread, RESPONSE_COLUMNS)
    if "expected" in cells:
        spread["expected"] = _expected_texts(cells["expected"])
    if is_mapping(question):
        spread |= _columns_in(question, "question", spread, tuple(COLUMNS))
    elif is_list(question):
        spread |= _columns_of_chat(question, spread, place)
    return spread


def _is_nested(value: object) -> bool:
    return is_mapping(value) or (is_list(value) and any(map(is_mapping, value)))


def _parse_object(value: object, place: Place) -> object:
    """A cell in which an object is written, as that object."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        parsed = parse_literal(value, "question", place)
        if is_mapping(parsed):
            return parsed
    return value


def _with_first_choice(reply: Cells) -> Cells:
    """The reply of a chat endpoint with the text of its first choice as the answer."""
    choices = reply.get("choices")
    if not is_list(choices) or not choices:
        return reply
    message = table_of(table_of(choices[0]).get("message"))
    if not message:
        return reply
    reply = {**reply, "answer": message_text(message.get("content"))}
    if message.get("tool_calls"):
        reply["tools"] = message["tool_calls"]
    return reply


def _expected_texts(expected: object) -> object:
    if is_list(expected):
        return [item.get("text", item) if is_mapping(item) else item for item in expected]
    if not is_mapping(expected):
        return expected
    if expected.get("text"):  # SQuAD has {"text": […], "answer_start": […]}
        return expected["text"]
    columns = _columns_in(expected, "answer", {}, _NESTED_COLUMNS)
    return columns.get("expected") or columns.get("answer", expected)


def _columns_of_chat(messages: Sequence[object], row: Cells, place: Place) -> dict[str, object]:
    """The last message of the user as the question, those before it as history, and a reply after
    it as the answer."""
    turns = as_turns(messages, "question", place)
    if not turns:
        return {}
    history = [{"user": turn.user, "answer": turn.answer} for turn in turns[:-1]]
    columns: dict[str, object] = {"question": turns[-1].user}
    if history and "history" not in row:
        columns["history"] = history
    if turns[-1].answer and "answer" not in row:
        columns["answer"] = turns[-1].answer
    if turns[-1].tools and "tools" not in row:
        columns["tools"] = turns[-1].tools
    return columns


def _columns_in(data: Cells, column: str, row: Cells, allowed: Sequence[str]) -> dict[str, object]:
    """The values that have the name of a column; a single text, whatever its name, is `column`."""
    names = canonical_columns([str(key) for key in data])
    columns = {names[str(key)]: value for key, value in data.items() if names[str(key)] in allowed}
    texts = [value for value in data.values() if isinstance(value, str)]
    # With several texts none of them is surely the answer.
    if column not in columns and len(texts) == 1:
        columns[column] = texts[0]
    return {name: value for name, value in columns.items() if name == column or name not in row}
