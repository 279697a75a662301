"""Cases from a parsed value: lists, categories, conversations, and the files of other tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from answerkey.cases.conversation import CONVERSATION_KEYS, conversation_cases, conversation_key
from answerkey.cases.foreign import promptfoo
from answerkey.cases.logs import (
    LABELS,
    is_stored_chat,
    read_log_rows,
    session_of,
    without_error_answer,
)
from answerkey.cases.rows import case_of_row
from answerkey.coerce.columns import canonical_columns
from answerkey.coerce.json_rows import rows_of_value, unwrap_rows
from answerkey.coerce.rows import Row
from answerkey.coerce.values import Place, is_list, is_mapping, unpack_list
from answerkey.types import Case


def cases_of_value(data: object, path: Path, name: str) -> Iterator[Case]:
    """The cases of a parsed file, in whichever of the usual shapes it has."""
    if promptfoo.detects(data):
        data = promptfoo.rows(data, name, path.parent)
    if is_mapping(data) and "conversation" in data:
        # The conversation is the row; unwrapping would lose what stands beside it.
        data = [data]
    return cases_of_rows(rows_of_value(_merge_categories(unwrap_rows(data)), name), path)


def cases_of_rows(rows: Iterable[Row], path: Path, before: int = 0) -> Iterator[Case]:
    """A case per row, several for a row that holds a conversation.

    `before` is the number of the file's rows before these, where only a part of it is read.
    """
    for number, numbered_row in enumerate(_prepare_logs(rows), start=before + 1):
        yield from _cases_of_row(numbered_row, number, path)


def _prepare_logs(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, those of a log prepared. Rows that say what is right, which most do, are no log."""
    stream = iter(rows)
    for row, place in stream:
        if LABELS.isdisjoint(row):
            yield from read_log_rows(chain([(row, place)], stream))
            # The rest was read there.
            return
        yield row, place


def _cases_of_row(numbered_row: Row, number: int, path: Path) -> Iterator[Case]:
    row, place = numbered_row
    default_id = f"{path.stem}#{number}"
    for key in CONVERSATION_KEYS:
        if key in row:
            # In CSV the list of turns is text.
            row[key] = unpack_list(row[key], key, place)
    # A sample of Inspect has its transcript beside question and answer.
    is_sample = "messages" in row and {"question", "answer"} <= row.keys()
    has_turns = not is_sample and any(key in row for key in CONVERSATION_KEYS)
    key = conversation_key(row) if has_turns else None
    if key is not None:
        # A file with one conversation names it; with several each has a number.
        is_only_row = number == 1 and place.line <= 1
        yield from _cases_of_conversation(
            row, key, place, default_name=path.stem if is_only_row else default_id
        )
        return
    if "question" not in row:
        for key in CONVERSATION_KEYS:
            if key in row:
                raise place.error(key, row[key], "a list of turns")
    if any(name.startswith("__") for name in row) and promptfoo.has_expected_columns(row):
        row = promptfoo.read_expected_columns(row, place.file)
    yield case_of_row(row, place, default_id)


def _cases_of_conversation(
    row: dict[str, object], key: str, place: Place, default_name: str
) -> Iterator[Case]:
    stem = str(row.get("id") or row.get("name") or default_name)
    is_log = is_stored_chat(row)
    for case in conversation_cases(row, key, place, stem, session_of(row)):
        yield without_error_answer(case) if is_log else case


def _merge_categories(data: object) -> object:
    """`{category: [cases]}` as a list of cases, each with its category as its type.

    Anything else is returned as it is. One list beside other values, as in
    `{"model": "x", "answers": [cases]}`, is no category.
    """
    if not is_mapping(data) or conversation_key(data) is not None:
        return data
    groups = {
        str(key): value
        for key, value in data.items()
        if is_list(value) and any(map(is_mapping, value))
    }
    if not groups or "question" in canonical_columns([str(key) for key in data]).values():
        return data
    has_other_values = any(not is_list(value) for value in data.values())
    if len(groups) == 1 and has_other_values:
        return [item for items in groups.values() for item in items]
    return [_with_type(item, group) for group, items in groups.items() for item in items]


def _with_type(item: object, group: str) -> object:
    # A case that names its own type keeps it.
    if not is_mapping(item) or "type" in canonical_columns(list(item)).values():
        return item
    return {**item, "type": group}
