"""Cells that hold several values: the `inputs` and `outputs` of other tools, chat messages, answers with positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerkey.coerce.columns import COLUMNS, RESPONSE_COLUMNS, canonical_columns
from answerkey.coerce.values import Place, as_turns, is_list, is_mapping, literal, message_text, table_of

_CELLS = ("question", "answer", "expected")


def spread(row: Mapping[str, object], place: Place) -> Mapping[str, object]:
    """The row with the values of such cells in columns of their own; what the row itself gives stays.

    >>> spread({"question": {"query": "How long?"}, "answer": {"output": "30 days"}}, Place("x"))
    {'question': 'How long?', 'answer': '30 days'}
    """
    question = _object_in(row.get("question"), place)
    cells = {column: row[column] for column in _CELLS if column in row}
    if is_mapping(question):
        cells = {column: _object_in(value, place) for column, value in cells.items()}
    if not any(is_mapping(value) or (is_list(value) and any(map(is_mapping, value))) for value in cells.values()):
        return row
    made = {**row, **cells}
    if is_mapping(answer := cells.get("answer")):
        made |= _columns_in(_first_choice(answer), "answer", made, RESPONSE_COLUMNS)
    expected = cells.get("expected")
    if is_list(expected):
        made["expected"] = [item.get("text", item) if is_mapping(item) else item for item in expected]
    elif is_mapping(expected):  # SQuAD has {"text": […], "answer_start": […]}
        found = _columns_in(expected, "answer", {}, _CELLS)
        made["expected"] = expected.get("text") or found.get("expected") or found.get("answer", expected)
    if is_mapping(question):
        made |= _columns_in(question, "question", made, tuple(COLUMNS))
    elif is_list(question):
        made |= _columns_in_chat(question, made, place)
    return made


def _object_in(value: object, place: Place) -> object:
    """A cell in which an object is written, as that object."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return found if is_mapping(found := literal(value, "question", place)) else value
    return value


def _first_choice(reply: Mapping[str, object]) -> Mapping[str, object]:
    """The reply of a chat endpoint, as Inspect and OpenAI write it, by its first choice."""
    choices = reply.get("choices")
    message = table_of(table_of(choices[0]).get("message")) if is_list(choices) and choices else None
    return {**reply, "answer": message_text(message.get("content"))} if message else reply


def _columns_in(
    data: Mapping[str, object], column: str, row: Mapping[str, object], wanted: Sequence[str]
) -> dict[str, object]:
    """The values that have the name of a column; a single text, whatever its name, is that of `column`."""
    names = canonical_columns([str(key) for key in data])
    made = {names[str(key)]: value for key, value in data.items() if names[str(key)] in wanted}
    if column not in made and len(texts := [value for value in data.values() if isinstance(value, str)]) == 1:
        made[column] = texts[0]
    return {name: value for name, value in made.items() if name == column or name not in row}


def _columns_in_chat(messages: Sequence[object], row: Mapping[str, object], place: Place) -> dict[str, object]:
    """The last message of the user as the question, those before it as history, and a reply after it as the answer."""
    *earlier, last = as_turns(messages, "question", place) or (None,)
    if last is None:
        return {}
    history = [{"user": turn.user, "answer": turn.answer} for turn in earlier if turn]
    found = {"question": last.user, "history": history or None, "answer": last.answer or None}
    return {name: value for name, value in found.items() if name == "question" or (value and name not in row)}
