"""Cases from a JSON or YAML value: lists, categories, conversations, follow-ups, chat messages, promptfoo tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from answerkey.cases.promptfoo import is_promptfoo, promptfoo_rows, with_expected_columns
from answerkey.coerce import values
from answerkey.coerce.columns import COLUMNS, RESPONSE_COLUMNS, canonical_columns
from answerkey.coerce.rows import case_of_row
from answerkey.coerce.tables import Row, rows_of_value, unwrap_rows
from answerkey.coerce.values import (
    Place,
    as_list,
    as_number,
    as_turns,
    is_list,
    is_mapping,
    is_number,
)
from answerkey.types import Case, Turn

CONVERSATIONS = ("conversation", "messages", "sequence")
_TURN_KEYS = (
    "turn",
    "user",
    "expected_answer_contains",
    "expected_topics",
    "requires_context",
    "min_score",
)


def cases_of_value(data: object, path: Path, name: str) -> Iterator[Case]:
    """The cases of a parsed file, in whichever of the usual shapes it has."""
    if is_promptfoo(data):
        data = promptfoo_rows(data, name, path.parent)
    if is_mapping(data) and "conversation" in data:
        data = [data]
    return cases_of_rows(rows_of_value(_without_categories(unwrap_rows(data)), name), path)


def cases_of_rows(rows: Iterable[Row], path: Path, before: int = 0) -> Iterator[Case]:
    """A case per row, several for a row that holds a conversation. `before` is how many rows of the file come before
    these, where only a part of it is read."""
    for number, (row, place) in enumerate(rows, start=before + 1):
        default_id = f"{path.stem}#{number}"
        for key in CONVERSATIONS:
            if key in row:
                row[key] = values.unpack_list(row[key], key, place)
        if (
            "messages" in row and {"question", "answer"} <= row.keys()
        ):  # a sample of Inspect, beside its transcript
            yield case_of_row(row, place, default_id)
        elif any(is_list(row.get(key)) for key in CONVERSATIONS):
            only = number == 1 and not place.line > 1
            stem = str(row.get("id") or row.get("name") or (path.stem if only else default_id))
            yield from _conversation(row, place, stem)
        elif "question" not in row and (
            key := next((key for key in CONVERSATIONS if key in row), None)
        ):
            raise place.error(key, row[key], "a list of turns")
        else:
            yield case_of_row(with_expected_columns(row, place.file), place, default_id)


def _without_categories(data: object) -> object:
    """`{category: [cases]}` as a list of cases, each with its category as its type; anything else as it is. One list
    beside other values, as in `{"model": "x", "answers": [cases]}`, is no category."""
    if not is_mapping(data) or any(is_list(data.get(key)) for key in CONVERSATIONS):
        return data
    groups = {
        str(key): value
        for key, value in data.items()
        if is_list(value) and any(map(is_mapping, value))
    }
    if not groups or "question" in canonical_columns([str(key) for key in data]).values():
        return data
    single = len(groups) == 1 and any(not is_list(value) for value in data.values())
    return [
        {**item, "type": group}
        if not single and is_mapping(item) and "type" not in canonical_columns(list(item)).values()
        else item
        for group, items in groups.items()
        for item in items
    ]


def _conversation(row: Mapping[str, object], place: Place, stem: str) -> Iterator[Case]:
    """Each turn is a case with the earlier turns as its history; what the row says counts for every turn."""
    kind = next(key for key in CONVERSATIONS if is_list(row.get(key)))
    if (
        kind == "messages"
    ):  # a turn per message of the user; what the assistant replied is its recorded answer
        chat = as_turns(row["messages"], "messages", place)
        turns = [
            {"question": turn.user, **({"answer": turn.answer} if turn.answer else {})}
            for turn in chat
        ]
    else:
        turns = list(_turns(row, kind, place))
    if not turns:
        raise place.error(kind, row[kind], "a list of turns")
    shared = {
        column: value
        for column, value in row.items()
        if kind != "conversation"
        and column in COLUMNS
        and column not in ("id", "question", *RESPONSE_COLUMNS)
    }
    history = list(as_turns(shared.pop("history", None), "history", place))
    about = ("name", "description", "domain", *CONVERSATIONS)
    carried = {key: value for key, value in row.items() if key not in COLUMNS and key not in about}
    for number, turn in enumerate(turns, start=1):
        where = replace(place, line=number, unit="turn") if kind == "conversation" else place
        earlier = kind == "messages" and number < len(
            turns
        )  # labels of a chat are about its last reply
        case = case_of_row({**({} if earlier else shared), **turn}, where, f"{stem}#T{number}")
        own = {key: value for key, value in case.extra.items() if key not in _TURN_KEYS}
        extra = (
            carried
            | own
            | {"conversation": stem, "requires_context": bool(turn.get("requires_context"))}
        )
        own_mark = (
            as_number(turn.get("min_score"), "min_score", where) if kind == "conversation" else None
        )
        yield replace(
            case, history=tuple(history), question_num=number, min_score=own_mark, extra=extra
        )
        history.append(Turn(case.question, (case.recorded.answer or "") if case.recorded else ""))


def _turns(row: Mapping[str, object], kind: str, place: Place) -> Iterator[dict[str, object]]:
    """The turns of `conversation` or `sequence`, each as a row; a question of the row itself comes first."""
    if kind == "sequence" and row.get("question"):
        yield {key: row[key] for key in ("question", *RESPONSE_COLUMNS) if key in row}
    turns = values.items_of(row[kind], kind, place)
    numbered = [
        (n, turn) for turn in turns if is_mapping(turn) and is_number(n := turn.get("turn"))
    ]
    if len(numbered) == len(turns):
        turns = [turn for _, turn in sorted(numbered, key=lambda pair: pair[0])]
    for number, turn in enumerate(turns, start=1):
        where = replace(place, line=number, unit="turn")
        if isinstance(turn, str):
            turn = {"user": turn}
        if not is_mapping(turn):
            raise where.error(kind, turn, "a turn with user: …")
        given = {("question" if key == "user" else str(key)): value for key, value in turn.items()}
        columns = canonical_columns(list(given))
        made = {columns[key]: value for key, value in given.items() if columns[key] != "id"}
        criteria = {
            "must_contain": as_list(
                turn.get("expected_answer_contains"), "expected_answer_contains", where
            ),
            "must_contain_any": as_list(turn.get("expected_topics"), "expected_topics", where),
        }
        if any(criteria.values()) and "answer_criteria" not in made:
            made["answer_criteria"] = criteria
        yield made
