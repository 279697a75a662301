"""Conversations: `conversation` (YAML or JSON), `sequence` (follow-ups) and chat `messages`.

Each turn is a case with the earlier turns as its history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from answerkey.cases.rows import case_of_row
from answerkey.cases.whole_conversation import WHOLE_COLUMNS, turn_of_case, whole_case
from answerkey.coerce.columns import COLUMNS, RESPONSE_COLUMNS, canonical_columns
from answerkey.coerce.turns import as_turns
from answerkey.coerce.values import (
    Place,
    as_list,
    as_number,
    is_list,
    is_mapping,
    is_number,
    items_of,
)
from answerkey.types import Case

CONVERSATION_KEYS = ("conversation", "messages", "sequence")
_TURN_KEYS = (
    "turn",
    "user",
    "expected_answer_contains",
    "expected_topics",
    "requires_context",
    "min_score",
)
_DESCRIPTION_KEYS = ("name", "description", "domain")


def conversation_key(row: Mapping[str, object]) -> str | None:
    """The key under which a row holds a list of turns."""
    return next((key for key in CONVERSATION_KEYS if is_list(row.get(key))), None)


def conversation_cases(
    row: Mapping[str, object], key: str, place: Place, stem: str, session: str = ""
) -> Iterator[Case]:
    """A case per turn; the columns of the row itself count for every turn.

    The conversation has the name of its session where it has one. Ids are made from `stem`, because
    several rows may hold parts of one session.

    Where the row says which tools are expected in the whole conversation, a row for it follows.
    """
    turns = list(_turns(row, key, place))
    if not turns:
        raise place.error(key, row[key], "a list of turns")
    labels = {name: row[name] for name in WHOLE_COLUMNS if name in row}
    shared = {n: value for n, value in _shared_columns(row, key).items() if n not in labels}
    history = list(as_turns(shared.pop("history", None), "history", place))
    for_every_turn = _labels_of_every_turn(labels, len(turns))
    other_columns = _other_columns(row)
    cases: list[Case] = []
    for number, turn in enumerate(turns, start=1):
        columns = {**for_every_turn, **turn}
        # The labels of a chat are about its last reply.
        if key != "messages" or number == len(turns):
            columns = {**shared, **columns}
        # In the other formats the turns stand in one line of the file.
        has_own_place = key == "conversation"
        where = replace(place, line=number, unit="turn") if has_own_place else place
        case = case_of_row(columns, where, f"{stem}#T{number}")
        history_before = tuple(history)
        history.append(turn_of_case(case))
        min_score = None
        if has_own_place:
            min_score = as_number(turn.get("min_score"), "min_score", where)
        extra = {
            **other_columns,
            **{name: value for name, value in case.extra.items() if name not in _TURN_KEYS},
            "conversation": session or stem,
            "requires_context": bool(turn.get("requires_context")),
        }
        case = replace(
            case,
            history=history_before,
            question_num=number,
            min_score=min_score,
            extra=extra,
        )
        yield case
        cases.append(case)
    if labels and len(turns) > 1:
        yield _labelled_whole(cases, labels, place)


def _labels_of_every_turn(labels: Mapping[str, object], turns: int) -> Mapping[str, object]:
    """The labels of a whole conversation that also hold for each of its turns."""
    # With one turn both are the same.
    if turns == 1:
        return labels
    # Sources that a user must not see are forbidden in every turn; the calls are of the whole.
    return {name: value for name, value in labels.items() if name == "forbidden"}


def _labelled_whole(cases: Sequence[Case], labels: Mapping[str, object], place: Place) -> Case:
    labelled = case_of_row({"question": cases[0].question, **labels}, place, "")
    return replace(
        whole_case(cases),
        expected_tools=labelled.expected_tools,
        forbidden_tools=labelled.forbidden_tools,
        max_calls=labelled.max_calls,
        forbidden=labelled.forbidden,
    )


def _shared_columns(row: Mapping[str, object], key: str) -> dict[str, object]:
    """The columns of a row that count for all its turns."""
    # Here each turn has columns of its own, and the row only describes the conversation.
    if key == "conversation":
        return {}
    own = ("id", "question", *RESPONSE_COLUMNS)
    return {name: value for name, value in row.items() if name in COLUMNS and name not in own}


def _other_columns(row: Mapping[str, object]) -> dict[str, object]:
    described = (*_DESCRIPTION_KEYS, *CONVERSATION_KEYS)
    return {
        name: value for name, value in row.items() if name not in COLUMNS and name not in described
    }


def _turns(row: Mapping[str, object], key: str, place: Place) -> Iterator[dict[str, object]]:
    """The turns, each as a row."""
    if key == "messages":
        yield from _turns_of_chat(row, place)
        return
    if key == "sequence" and row.get("question"):  # a question of the row itself comes first
        yield {name: row[name] for name in ("question", *RESPONSE_COLUMNS) if name in row}
    for number, turn in enumerate(_in_order(items_of(row[key], key, place)), start=1):
        where = replace(place, line=number, unit="turn")
        if isinstance(turn, str):
            turn = {"user": turn}
        if not is_mapping(turn):
            raise where.error(key, turn, "a turn with user: …")
        yield _turn_row(turn, where)


def _turns_of_chat(row: Mapping[str, object], place: Place) -> Iterator[dict[str, object]]:
    """A turn per message of the user; the assistant's reply is its recorded answer."""
    turns = as_turns(row["messages"], "messages", place)
    has_calls = any(turn.tools for turn in turns)
    for turn in turns:
        columns: dict[str, object] = {"question": turn.user}
        if turn.answer:
            columns["answer"] = turn.answer
        # A last message of the user without a reply has no response at all.
        if turn.tools or (has_calls and turn.answer):
            columns["tools"] = turn.tools
        yield columns


def _in_order(turns: list[object]) -> list[object]:
    """The turns by their numbers, where all of them have one."""
    numbered: list[tuple[float, object]] = []
    for turn in turns:
        number = turn.get("turn") if is_mapping(turn) else None
        if not is_number(number):
            return turns
        numbered.append((number, turn))
    return [turn for _, turn in sorted(numbered, key=lambda pair: pair[0])]


def _turn_row(turn: Mapping[str, object], place: Place) -> dict[str, object]:
    named = {("question" if key == "user" else str(key)): value for key, value in turn.items()}
    columns = canonical_columns(list(named))
    row = {columns[key]: value for key, value in named.items() if columns[key] != "id"}
    contains = turn.get("expected_answer_contains")
    topics = turn.get("expected_topics")
    criteria = {
        "must_contain": as_list(contains, "expected_answer_contains", place),
        "must_contain_any": as_list(topics, "expected_topics", place),
    }
    # A turn's own criteria win over the short names.
    if any(criteria.values()) and "answer_criteria" not in row:
        row["answer_criteria"] = criteria
    return row
