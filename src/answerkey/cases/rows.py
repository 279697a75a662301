"""A row with our column names as a `Case`, with the response that it records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import PurePath
from typing import Any

from answerkey.cases.nested_cells import spread_cells
from answerkey.coerce.columns import COLUMNS, RESPONSE_COLUMNS
from answerkey.coerce.expected_tools import as_expected_tools, as_forbidden
from answerkey.coerce.labels import as_labels
from answerkey.coerce.patterns import pattern_problem
from answerkey.coerce.requirements import as_requirements
from answerkey.coerce.responses import CellReader, Cells, read_cells, response_of_row
from answerkey.coerce.turns import as_turns
from answerkey.coerce.values import (
    Place,
    as_count,
    as_list,
    as_name,
    as_number,
    as_text,
    as_texts,
    as_truth,
    is_list,
    is_mapping,
    json_value,
    parse_literal,
    table_of,
)
from answerkey.errors import InputError, did_you_mean
from answerkey.types import AnswerCriteria, Case

_ANSWER_CRITERIA = {field.name for field in fields(AnswerCriteria)}
# Fields of `Case` that have another name than their column.
_FIELD_NAMES = {"answer_criteria": "criteria", "criteria": "requirements"}


def case_of_row(row: Cells, place: Place, default_id: str) -> Case:
    """The case of a row with canonical names, with the response that the row records."""
    return case_of_cells(spread_cells(row, place), place, default_id)


def case_of_cells(row: Cells, place: Place, default_id: str) -> Case:
    """The same for a row whose question and answer are texts, even if they look like JSON."""
    question = _question_of(row, place)
    extra = {key: value for key, value in row.items() if key not in COLUMNS}
    has_response = any(column in row for column in RESPONSE_COLUMNS)
    source_file = str(extra.pop("source_file", None) or place.file)
    question_num = None
    if "question_num" in extra:
        question_num = _question_num(extra.pop("question_num"))
    case_id = _id_of(row, extra, place)
    # The id that the question has in its Markdown file, so that old results pair with a new run.
    if not case_id and question_num is not None and "source_file" in row:
        case_id = f"{PurePath(source_file).stem}#Q{question_num}"
    return Case(
        id=case_id or default_id,
        question=question,
        source_file=source_file,
        question_num=question_num,
        recorded=response_of_row(row, place) if has_response else None,
        # Anything may be in other columns; what JSON can't hold becomes text.
        extra=table_of(json_value(extra)),
        written=place.names,
        **read_cells(_CASE_READERS, row, place, _FIELD_NAMES),
    )


def _question_of(row: Cells, place: Place) -> str:
    if "question" not in row:
        near = did_you_mean("question", [name for name in row if name not in COLUMNS])
        names = ", ".join(row) or "none"
        problem = f'no column "question" among {names}{near}'
        raise InputError(f'{place}: {problem}; rename the column to "question"')
    question = as_text(row["question"], "question", place)
    if not question:
        raise place.error("question", row["question"], "a question", "fill it in or remove the row")
    return question


def _id_of(row: Cells, extra: Mapping[str, object], place: Place) -> str:
    own_id = as_text(row.get("id"), "id", place)
    configuration = extra.get("config_name")
    if own_id and configuration:  # the same query under several configurations
        return f"{configuration}/{own_id}"
    return own_id


def _question_num(value: object) -> int | None:
    if not isinstance(value, (str, int, float)):
        return None
    try:
        return int(value)
    except (ValueError, OverflowError):
        # A number that can't be read is only a label and no reason to refuse the row.
        return None


def as_answer_criteria(value: object, column: str, place: Place) -> AnswerCriteria:
    """`answer_criteria` of a row, every key checked."""
    if isinstance(value, str):
        table = parse_literal(value, column, place)
    else:
        table = value
    if table == "":
        return AnswerCriteria()
    if not is_mapping(table):
        raise place.error(column, table, "an object with named values")
    criteria: dict[str, Any] = {}
    for key, cell in table.items():
        if key not in _ANSWER_CRITERIA:
            hint = did_you_mean(key, _ANSWER_CRITERIA).strip("; ")
            raise place.error(f"{column}.{key}", cell, "a known criterion", hint)
        if cell is not None:
            read = _CRITERION_READERS.get(key, as_list)
            criteria[key] = read(cell, f"{column}.{key}", place)
    return AnswerCriteria(**criteria)


def _as_range(value: object, column: str, place: Place) -> tuple[float, float]:
    if is_list(value) and len(value) == 2:
        low = as_number(value[0], column, place)
        high = as_number(value[1], column, place)
        # Infinite ends would make every number right.
        if low is not None and high is not None and low <= high and math.isfinite(low + high):
            return low, high
    raise place.error(column, value, "two numbers [low, high]")


def _as_pattern(value: object, column: str, place: Place) -> str:
    pattern = as_text(value, column, place)
    problem = pattern_problem(pattern)
    if problem:
        raise place.error(column, value, "a regular expression", problem)
    return pattern


_CASE_READERS: Mapping[str, CellReader] = {
    "expected": as_texts,
    "type": as_name,
    "expected_route": as_name,
    "relevant": as_labels,
    "acceptable_routes": as_list,
    "answer_criteria": as_answer_criteria,
    "criteria": as_requirements,
    "criteria_threshold": as_number,
    "history": as_turns,
    "priority": as_name,
    "note": as_name,
    "tags": as_list,
    "expected_tools": as_expected_tools,
    "forbidden_tools": as_list,
    "max_calls": as_count,
    "forbidden": as_forbidden,
}
_CRITERION_READERS: Mapping[str, CellReader] = {
    "min_semantic_similarity": as_number,
    "expected_value": as_number,
    "numerical_range": _as_range,
    "regex": _as_pattern,
    "clarification_expected": as_truth,
    "out_of_scope": as_truth,
}
