"""A row with our column names to a `Case`, and what it says of an answer to a `Response`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from answerkey.coerce import values
from answerkey.coerce.columns import COLUMNS, LIVE_ANSWERS, RESPONSE_COLUMNS, canonical_columns
from answerkey.coerce.passages import as_ids, as_labels, as_passages, as_sources
from answerkey.coerce.requirements import as_requirements, pattern_problem
from answerkey.coerce.values import (
    LIVE,
    Place,
    is_list,
    is_mapping,
    parse_literal,
    table_of,
    valid_text,
)
from answerkey.errors import InputError, did_you_mean
from answerkey.types import AnswerCriteria, Case, Response

Cells = Mapping[str, object]
CellReader = Callable[[object, str, Place], Any]
_CRITERIA = {field.name for field in fields(AnswerCriteria)}
_RECORDED = frozenset(RESPONSE_COLUMNS)
_CELLS = ("question", "answer", "expected")
_TOKENS = {
    "prompt_tokens": ("prompt_tokens", "prompt", "input_tokens"),
    "completion_tokens": ("completion_tokens", "completion", "output_tokens"),
}


def case_of_row(row: Cells, place: Place, default_id: str) -> Case:
    """The case of a row with canonical names; what the row says of an answer becomes its recorded response."""
    row = spread_cells(row, place)
    if "question" not in row:
        near, names = (
            did_you_mean("question", [name for name in row if name not in COLUMNS]),
            ", ".join(row) or "none",
        )
        raise InputError(
            f'{place}: no column "question" among {names}{near}; rename the column to "question"'
        )
    if not (question := values.as_text(row["question"], "question", place)):
        raise place.error("question", row["question"], "a question", "fill it in or remove the row")
    extra = {key: value for key, value in row.items() if key not in COLUMNS}
    own_id = values.as_text(row.get("id"), "id", place)
    if own_id and (
        setup := extra.get("config_name")
    ):  # the same query under several configurations
        own_id = f"{setup}/{own_id}"
    return Case(
        id=own_id or default_id,
        question=question,
        source_file=str(extra.pop("source_file", None) or place.file),
        question_num=_question_num(extra.pop("question_num", None)),
        recorded=response_of_row(row, place) if not _RECORDED.isdisjoint(row) else None,
        extra=table_of(values.json_value(extra)),
        **_read(_CASE_FIELDS, row, place),
    )


def response_of_row(row: Cells, place: Place) -> Response:
    """The response that a row with canonical names records. No answer column, and a null answer, is no answer."""
    answer = row.get("answer")
    if place.live and isinstance(answer, str) and valid_text(answer) != answer:
        raise InputError("the answer is not valid text: it has half a character (a lone surrogate)")
    found = row.get("usage")
    usage = table_of(parse_literal(found, "usage", place) if isinstance(found, str) else found)
    tokens = {
        kind: next((usage[name] for name in names if name in usage), None)
        for kind, names in _TOKENS.items()
    }
    text = None if answer is None else values.as_text(answer, "answer", place)
    return Response(text, **_read(_RESPONSE_FIELDS, {**tokens, **row}, place))


def response_of_reply(reply: Mapping[str, object]) -> Response:
    """The response of a live bot's dict, whatever it calls things; what has no name of ours goes into `extra`."""
    given = {str(key): value for key, value in reply.items()}
    known = canonical_columns(list(given))
    row = {
        known[name]: value
        for name, value in given.items()
        if known[name] in _RECORDED and value is not None
    }
    rest = {name: value for name, value in given.items() if known[name] not in _RECORDED}
    for name in LIVE_ANSWERS:
        if "answer" not in row and isinstance(rest.get(name), (str, int, float)):
            row["answer"] = rest.pop(name)
    return replace(response_of_row(row, LIVE), extra=values.plain_json(rest))


def _read(readers: Mapping[str, CellReader], row: Cells, place: Place) -> dict[str, Any]:
    """The fields that the row gives a value for, each by its own reader."""
    given = {column: cell for column, cell in row.items() if cell is not None and column in readers}
    return {
        _FIELDS.get(column, column): readers[column](cell, column, place)
        for column, cell in given.items()
    }


def as_criteria(value: object, column: str, place: Place) -> AnswerCriteria:
    """`answer_criteria` of a row, every key checked."""
    kept: dict[str, Any] = {}
    given: object = parse_literal(value, column, place) if isinstance(value, str) else value
    if given == "":
        return AnswerCriteria()
    if not is_mapping(given):
        raise place.error(column, given, "an object with named values")
    for key, cell in given.items():
        if key not in _CRITERIA:
            hint = did_you_mean(key, _CRITERIA).strip("; ")
            raise place.error(f"{column}.{key}", cell, "a known criterion", hint)
        if cell is not None:
            kept[key] = _CRITERION_READERS.get(key, values.as_list)(cell, f"{column}.{key}", place)
    return AnswerCriteria(**kept)


def _question_num(value: object) -> int | None:
    try:
        return int(value) if isinstance(value, (str, int, float)) else None
    except (ValueError, OverflowError):
        return None


def _as_range(value: object, column: str, place: Place) -> tuple[float, float]:
    if is_list(value) and len(value) == 2:
        low, high = (values.as_number(end, column, place) for end in value)
        if low is not None and high is not None and low <= high and math.isfinite(low + high):
            return low, high
    raise place.error(column, value, "two numbers [low, high]")


def _as_pattern(value: object, column: str, place: Place) -> str:
    pattern = values.as_text(value, column, place)
    if problem := pattern_problem(pattern):
        raise place.error(column, value, "a regular expression", problem)
    return pattern


def _as_error(value: object, column: str, place: Place) -> str | None:
    if not place.live:
        return values.as_name(value, column, place)
    return valid_text(str(value)).strip() or None if value else None


# What reads the cells of a column.
_CASE_FIELDS: Mapping[str, CellReader] = {
    "expected": values.as_texts,
    "type": values.as_name,
    "expected_route": values.as_name,
    "relevant": as_labels,
    "acceptable_routes": values.as_list,
    "answer_criteria": as_criteria,
    "criteria": as_requirements,
    "criteria_threshold": values.as_number,
    "history": values.as_turns,
    "priority": values.as_name,
    "note": values.as_name,
    "tags": values.as_list,
}
_RESPONSE_FIELDS: Mapping[str, CellReader] = {
    "contexts": as_passages,
    "route": values.as_name,
    "sources": as_sources,
    "retrieved": as_ids,
    "response_time": values.as_amount,
    "prompt_tokens": values.as_count,
    "completion_tokens": values.as_count,
    "cost": values.as_amount,
    "error": _as_error,
}
# Fields that have another name than their column.
_FIELDS = {
    "answer_criteria": "criteria",
    "criteria": "requirements",
    "contexts": "passages",
    "response_time": "seconds",
}
_CRITERION_READERS: dict[str, CellReader] = {
    "min_semantic_similarity": values.as_number,
    "expected_value": values.as_number,
    "numerical_range": _as_range,
    "regex": _as_pattern,
    "clarification_expected": values.as_truth,
    "out_of_scope": values.as_truth,
}


def spread_cells(row: Cells, place: Place) -> Cells:
    """The row with cells that hold several values spread over columns; what the row itself gives stays.

    Such cells are the `inputs` and `outputs` of other tools, chat messages, and answers with positions.

    >>> spread_cells({"question": {"query": "How long?"}, "answer": {"output": "30 days"}}, Place("x"))
    {'question': 'How long?', 'answer': '30 days'}
    """
    question = _object_in(row.get("question"), place)
    cells = {column: row[column] for column in _CELLS if column in row}
    if is_mapping(question):
        cells = {column: _object_in(value, place) for column, value in cells.items()}
    if not any(
        is_mapping(value) or (is_list(value) and any(map(is_mapping, value)))
        for value in cells.values()
    ):
        return row
    made = {**row, **cells}
    if is_mapping(answer := cells.get("answer")):
        # The reply of a chat endpoint, as Inspect and OpenAI write it, by its first choice.
        choices = answer.get("choices")
        if (
            is_list(choices)
            and choices
            and (message := table_of(table_of(choices[0]).get("message")))
        ):
            answer = {**answer, "answer": values.message_text(message.get("content"))}
        made |= _columns_in(answer, "answer", made, RESPONSE_COLUMNS)
    expected = cells.get("expected")
    if is_list(expected):
        made["expected"] = [
            item.get("text", item) if is_mapping(item) else item for item in expected
        ]
    elif is_mapping(expected):  # SQuAD has {"text": […], "answer_start": […]}
        found = _columns_in(expected, "answer", {}, _CELLS)
        made["expected"] = (
            expected.get("text") or found.get("expected") or found.get("answer", expected)
        )
    if is_mapping(question):
        made |= _columns_in(question, "question", made, tuple(COLUMNS))
    elif is_list(question) and (turns := values.as_turns(question, "question", place)):
        # The last message of the user as the question, those before it as history, a reply after it as the answer.
        history = [{"user": turn.user, "answer": turn.answer} for turn in turns[:-1]]
        found = {"question": turns[-1].user, "history": history, "answer": turns[-1].answer}
        made |= {
            name: value
            for name, value in found.items()
            if name == "question" or (value and name not in made)
        }
    return made


def _object_in(value: object, place: Place) -> object:
    """A cell in which an object is written, as that object."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return found if is_mapping(found := parse_literal(value, "question", place)) else value
    return value


def _columns_in(data: Cells, column: str, row: Cells, wanted: Sequence[str]) -> dict[str, object]:
    """The values that have the name of a column; a single text, whatever its name, is that of `column`."""
    names = canonical_columns([str(key) for key in data])
    made = {names[str(key)]: value for key, value in data.items() if names[str(key)] in wanted}
    if (
        column not in made
        and len(texts := [value for value in data.values() if isinstance(value, str)]) == 1
    ):
        made[column] = texts[0]
    return {name: value for name, value in made.items() if name == column or name not in row}
