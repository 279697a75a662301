"""Column names as people write them, and the check of each cell. A row in, a `Case` out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from answerkey.cases.cells import (
    as_list,
    as_mapping,
    as_number,
    as_passages,
    as_text,
    as_texts,
    as_turns,
    as_whole,
)
from answerkey.errors import InputError, did_you_mean
from answerkey.types import AnswerCriteria, Case, Response

ALIASES: dict[str, tuple[str, ...]] = {
    "question": ("query", "user_input", "input"),
    "expected": (
        "reference_answer",
        "expected_answer",
        "expected_output",
        "reference",
        "ground_truth",
        "ground_truths",
    ),
    "answer": ("response", "output", "actual_output", "chatbot_answer"),
    "contexts": ("retrieved_contexts", "retrieval_context", "context"),
    "relevant": ("relevant_docs", "expected_pages", "relevant_pages"),
    "type": ("query_type", "category"),
    "id": (),
    "expected_route": ("preferred_route",),
    "acceptable_routes": (),
    "priority": (),
    "note": (),
    "tags": (),
    "history": (),
    "answer_criteria": (),
    "route": ("actual_route",),
    "sources": (),
    "retrieved": ("retrieved_pages",),
    "response_time": (),
    "prompt_tokens": (),
    "completion_tokens": (),
    "cost": (),
    "error": (),
}
# Columns that real files carry beside these; near to a known name, and not meant as it.
CARRIED = frozenset(
    {"source", "source_file", "question_num", "label", "group", "model", "title", "url", "tag", "page"}
    # Of ragas and deepeval: test-set columns that say how a row was made.
    | {
        "query_style",
        "query_length",
        "reference_contexts",
        "expected_tools",
        "evolution_type",
        "additional_metadata",
    }
)
_CANONICAL = {alias: name for name, aliases in ALIASES.items() for alias in (name, *aliases)}
_RESPONSE = frozenset({"answer", "contexts", "route", "sources", "retrieved", "response_time", "error"})
Reader = Callable[[Any, str, "Place"], Any]
_CRITERIA = {field.name for field in fields(AnswerCriteria)}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands, for the message of an error in it."""

    file: str
    line: int
    unit: str = "line"

    def error(self, column: str, found: object, expected: str, fix: str = "") -> InputError:
        shown = repr(found) if len(repr(found)) <= 60 else repr(found)[:57] + "..."
        tail = f"; {fix}" if fix else ""
        return InputError(
            f'{self.file}, {self.unit} {self.line}, column "{column}": found {shown}, expected {expected}{tail}'
        )


def canonical_columns(names: list[str], place: Place) -> dict[str, str]:
    """Each name as written, to the name we use; an unknown name that is near to a known one is an error."""
    columns: dict[str, str] = {}
    for written in names:
        plain = written.strip().lower().replace(" ", "_").replace("-", "_")
        if plain.startswith("__") or (plain == "context" and "retrieval_context" in names):
            # promptfoo's own columns; and deepeval's ideal context, which is not what was retrieved.
            columns[written] = plain if plain.startswith("__") else "x_context"
            continue
        known = _CANONICAL.get(plain)
        if known is None:
            if plain not in CARRIED and (near := _near(plain)):
                raise InputError(
                    f'{place.file}, {place.unit} {place.line}: unknown column "{written}"; did you mean "{near}"? '
                    "Rename it, or prefix it with x_ to carry it along"
                )
            columns[written] = plain if plain in CARRIED else written
            continue
        if known in columns.values():
            both = [w for w, k in columns.items() if k == known]
            raise InputError(
                f'{place.file}, {place.unit} {place.line}: columns "{both[0]}" and "{written}" both mean "{known}"; keep one'
            )
        columns[written] = known
    return columns


def row_to_case(row: Mapping[str, Any], place: Place, default_id: str) -> Case:
    """A row with canonical names to a case; what the row says of an answer becomes its recorded response."""
    question = as_text(row.get("question"), "question", place)
    if not question:
        raise place.error("question", row.get("question"), "a question", "fill it in or remove the row")
    extra = {key: value for key, value in row.items() if key not in ALIASES}
    return Case(
        id=as_text(row.get("id"), "id", place) or default_id,
        question=question,
        source_file=str(extra.pop("source_file", None) or place.file),
        question_num=_question_num(extra.pop("question_num", None)),
        recorded=row_to_response(row, place) if not _RESPONSE.isdisjoint(row) else None,
        extra=extra,
        **_read(_CASE_FIELDS, row, place),
    )


def row_to_response(row: Mapping[str, Any], place: Place) -> Response:
    """The recorded response of a row. A null answer is an empty one; no answer column is none at all."""
    return Response(
        answer=as_text(row["answer"], "answer", place) if "answer" in row else None,
        **_read(_RESPONSE_FIELDS, row, place),
    )


def _read(fields: Mapping[str, tuple[str, Reader]], row: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """The fields that the row gives a value for, each by its own reader."""
    given: dict[str, Any] = {}
    for column, value in row.items():
        if value is not None and column in fields:
            name, reader = fields[column]
            given[name] = reader(value, column, place)
    return given


def as_criteria(value: Any, column: str, place: Place) -> AnswerCriteria:
    """`answer_criteria` of a row, every key checked."""
    given = as_mapping(value, column, place)
    if not given:
        return _NO_CRITERIA
    kept: dict[str, Any] = {}
    for key, cell in given.items():
        if key not in _CRITERIA:
            raise place.error(
                f"{column}.{key}", cell, "a known criterion", did_you_mean(key, _CRITERIA).strip("; ")
            )
        if cell is not None:
            kept[key] = _CRITERION_READERS.get(key, as_list)(cell, f"{column}.{key}", place)
    return AnswerCriteria(**kept)


_NO_CRITERIA = AnswerCriteria()


def _as_grades(value: Any, column: str, place: Place) -> Mapping[str, float]:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = as_mapping(value, column, place)
    if isinstance(value, Mapping):
        grades = {str(key).strip(): as_number(grade, column, place) for key, grade in value.items()}
        return {key: grade for key, grade in grades.items() if grade is not None}
    return dict.fromkeys(as_list(value, column, place), 1.0)


def _as_name(value: Any, column: str, place: Place) -> str | None:
    return as_text(value, column, place) or None


def _question_num(value: Any) -> int | None:
    try:
        return None if value in (None, "") else int(value)
    except (TypeError, ValueError):
        return None


def _as_range(value: Any, column: str, place: Place) -> tuple[float, float]:
    if isinstance(value, (list, tuple)) and len(value) == 2:
        low, high = (as_number(end, column, place) for end in value)
        if low is not None and high is not None and low <= high and math.isfinite(low + high):
            return low, high
    raise place.error(column, value, "two numbers [low, high]")


def _as_pattern(value: Any, column: str, place: Place) -> str:
    pattern = as_text(value, column, place)
    try:
        re.compile(pattern)
    except re.error as error:
        raise place.error(column, value, "a regular expression", str(error)) from None
    return pattern


def _as_truth(value: Any, column: str, place: Place) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).strip().lower() in {"true", "yes", "1"}:
        return True
    if str(value).strip().lower() in {"false", "no", "0", ""}:
        return False
    raise place.error(column, value, "true or false")


_CASE_FIELDS: dict[str, tuple[str, Reader]] = {
    "expected": ("expected", as_texts),
    "type": ("type", _as_name),
    "expected_route": ("expected_route", _as_name),
    "acceptable_routes": ("acceptable_routes", as_list),
    "relevant": ("relevant", _as_grades),
    "answer_criteria": ("criteria", as_criteria),
    "history": ("history", as_turns),
    "priority": ("priority", _as_name),
    "note": ("note", _as_name),
    "tags": ("tags", as_list),
}
_RESPONSE_FIELDS: dict[str, tuple[str, Reader]] = {
    "contexts": ("passages", as_passages),
    "route": ("route", _as_name),
    "sources": ("sources", as_list),
    "retrieved": ("retrieved", as_list),
    "response_time": ("seconds", as_number),
    "prompt_tokens": ("prompt_tokens", as_whole),
    "completion_tokens": ("completion_tokens", as_whole),
    "cost": ("cost", as_number),
    "error": ("error", _as_name),
}
_CRITERION_READERS: dict[str, Reader] = {
    "min_semantic_similarity": as_number,
    "expected_value": as_number,
    "numerical_range": _as_range,
    "regex": _as_pattern,
    "clarification_expected": _as_truth,
    "out_of_scope": _as_truth,
}


def _near(plain: str) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(plain, list(_CANONICAL), n=1, cutoff=0.8)), "")
