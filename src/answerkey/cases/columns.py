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
        expected=as_texts(row.get("expected"), "expected", place),
        type=as_text(row.get("type"), "type", place) or None,
        expected_route=as_text(row.get("expected_route"), "expected_route", place) or None,
        acceptable_routes=as_list(row.get("acceptable_routes"), "acceptable_routes", place),
        relevant=_relevant(row, place),
        criteria=as_criteria(row.get("answer_criteria"), place),
        history=as_turns(row.get("history"), "history", place),
        priority=as_text(row.get("priority"), "priority", place) or None,
        note=as_text(row.get("note"), "note", place) or None,
        tags=as_list(row.get("tags"), "tags", place),
        source_file=str(extra.pop("source_file", None) or place.file),
        question_num=_question_num(extra.pop("question_num", None)),
        recorded=row_to_response(row, place) if not _RESPONSE.isdisjoint(row) else None,
        extra=extra,
    )


def row_to_response(row: Mapping[str, Any], place: Place) -> Response:
    """The recorded response of a row. A null answer is an empty one; no answer column is none at all."""
    retrieved = row.get("retrieved")
    return Response(
        answer=as_text(row["answer"], "answer", place) if "answer" in row else None,
        passages=as_passages(row.get("contexts"), "contexts", place),
        route=as_text(row.get("route"), "route", place) or None,
        sources=as_list(row.get("sources"), "sources", place),
        retrieved=None if retrieved is None else as_list(retrieved, "retrieved", place),
        seconds=as_number(row.get("response_time"), "response_time", place),
        prompt_tokens=as_whole(row.get("prompt_tokens"), "prompt_tokens", place),
        completion_tokens=as_whole(row.get("completion_tokens"), "completion_tokens", place),
        cost=as_number(row.get("cost"), "cost", place),
        error=as_text(row.get("error"), "error", place) or None,
    )


def as_criteria(value: Any, place: Place) -> AnswerCriteria:
    """`answer_criteria` of a row, every key checked."""
    given = as_mapping(value, "answer_criteria", place)
    if not given:
        return _NO_CRITERIA
    readers: dict[str, Callable[..., Any]] = {
        "min_semantic_similarity": as_number,
        "expected_value": as_number,
        "numerical_range": _as_range,
        "regex": _as_pattern,
        "clarification_expected": _as_truth,
        "out_of_scope": _as_truth,
    }
    kept: dict[str, Any] = {}
    for key, cell in given.items():
        if key not in _CRITERIA:
            raise place.error(
                f"answer_criteria.{key}", cell, "a known criterion", did_you_mean(key, _CRITERIA).strip("; ")
            )
        if cell is not None:
            kept[key] = readers.get(key, as_list)(cell, f"answer_criteria.{key}", place)
    return AnswerCriteria(**kept)


_NO_CRITERIA = AnswerCriteria()


def _relevant(row: Mapping[str, Any], place: Place) -> Mapping[str, float] | None:
    value = row.get("relevant")
    if value is None:
        return None
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = as_mapping(value, "relevant", place)
    if isinstance(value, Mapping):
        grades = {str(key).strip(): as_number(grade, "relevant", place) for key, grade in value.items()}
        return {key: grade for key, grade in grades.items() if grade is not None}
    return dict.fromkeys(as_list(value, "relevant", place), 1.0)


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


def _near(plain: str) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(plain, list(_CANONICAL), n=1, cutoff=0.8)), "")
