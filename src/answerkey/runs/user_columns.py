"""The columns of the user's own data, under the names that they have there.

Cases are read into fields with our names; tables for people show them under the user's names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath

from answerkey.runs.records import to_json
from answerkey.types import Case, Outcome, Response


def _one_or_list(values: tuple[str, ...]) -> object:
    if len(values) == 1:
        return values[0]
    return list(values)


CASE_CELLS: Mapping[str, Callable[[Case], object]] = {
    "id": lambda case: case.id,
    "question": lambda case: case.question,
    "expected": lambda case: _one_or_list(case.expected),
    "type": lambda case: case.type,
    "expected_route": lambda case: case.expected_route,
    "acceptable_routes": lambda case: list(case.acceptable_routes),
    "relevant": lambda case: list(case.relevant or ()),
    "priority": lambda case: case.priority,
    "note": lambda case: case.note,
    "tags": lambda case: list(case.tags),
    "history": lambda case: [{"user": turn.user, "answer": turn.answer} for turn in case.history],
    "answer_criteria": lambda case: to_json(case.criteria),
    "criteria": lambda case: [requirement.ask for requirement in case.requirements],
    "criteria_threshold": lambda case: case.criteria_threshold,
}
RESPONSE_CELLS: Mapping[str, Callable[[Response], object]] = {
    "answer": lambda response: response.answer,
    "contexts": lambda response: list(response.contexts),
    "route": lambda response: response.route,
    "sources": lambda response: list(response.sources),
    "retrieved": lambda response: list(response.retrieved or ()),
    "response_time": lambda response: response.seconds,
    "prompt_tokens": lambda response: response.prompt_tokens,
    "completion_tokens": lambda response: response.completion_tokens,
    "cost": lambda response: response.cost,
    "error": lambda response: response.error,
}


class ColumnSurvey:
    """Collects which columns the cases have: our name, and the name in the user's data."""

    def __init__(self) -> None:
        self._columns: dict[str, str] = {}

    def add(self, case: Case) -> None:
        written = case.written
        columns = self._columns
        for name, read in CASE_CELLS.items():
            if name not in columns and _is_filled(read(case)) and not _is_default_id(name, case):
                columns[name] = written.get(name, name)
        if case.recorded is not None:
            for name, read in RESPONSE_CELLS.items():
                if name not in columns and _is_filled(read(case.recorded)):
                    columns[name] = written.get(name, name)
        for name in case.extra:
            if name not in columns:
                columns[name] = written.get(name, name)

    def columns(self) -> dict[str, str]:
        """Our name of each column to the user's, in the order of our fields, then the others."""
        fields = [name for name in (*CASE_CELLS, *RESPONSE_CELLS) if name in self._columns]
        return {name: self._columns[name] for name in dict.fromkeys((*fields, *self._columns))}


def user_cell(outcome: Outcome, column: str) -> object:
    """The value of a column, by our name; None where there is none."""
    if column in CASE_CELLS:
        value = CASE_CELLS[column](outcome.case)
    elif column in RESPONSE_CELLS:
        value = RESPONSE_CELLS[column](outcome.response)
    else:
        value = outcome.case.extra.get(column)
    return value if _is_filled(value) else None


def _is_filled(value: object) -> bool:
    # 0 and False are values; an empty text is one, too: an answer may be empty.
    return value is not None and value != [] and value != {}


def _is_default_id(name: str, case: Case) -> bool:
    """Whether the id was made for a row without one, as in `file#3`."""
    return name == "id" and case.id.startswith(f"{PurePath(case.source_file or '').stem}#")
