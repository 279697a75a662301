"""Data sets of promptfoo: its tests and its `__expected` columns, as rows of ours.

ragas and deepeval need nothing but their column names, which columns.py knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from answerkey.coerce.values import is_list, is_mapping

_QUESTION_VARIABLES = ("question", "query", "input", "user_input", "message", "prompt", "text")
# An assertion of promptfoo to a criterion of ours; what needs a program or a model of its own is carried along.
_CRITERIA = {
    "contains": "must_contain", "icontains": "must_contain", "contains-all": "must_contain", "icontains-all": "must_contain",
    "contains-any": "must_contain_any", "icontains-any": "must_contain_any",
    "not-contains": "must_not_contain", "not-icontains": "must_not_contain",
}  # fmt: skip
_EXPECTED = {"equals", "similar", "factuality", "model-graded-factuality", "answer-relevance"}
_EXPECTED_COLUMN = re.compile(r"__expected\d*")
_CELL = re.compile(r"\s*(?P<type>[a-z][a-z-]*)(?:\([^)]*\))?:\s*(?P<value>.*)", re.DOTALL)


def is_promptfoo(data: Any) -> bool:
    """A configuration with `tests`, or the list of its tests."""
    tests = data.get("tests") if is_mapping(data) else data
    return is_list(tests) and bool(tests) and all(is_mapping(t) and "vars" in t for t in tests)


def promptfoo_rows(data: Any) -> list[dict[str, Any]]:
    """One row per test: the question among its variables, and its assertions as criteria."""
    tests: list[Mapping[str, Any]] = data["tests"] if is_mapping(data) else data
    rows: list[dict[str, Any]] = []
    for test in tests:
        given: Any = test["vars"]
        variables: Mapping[str, Any] = given if is_mapping(given) else {}
        name = _question_variable(variables)
        asserts = [(a.get("type", ""), a.get("value")) for a in _list(test.get("assert")) if is_mapping(a)]
        row = {"question": variables.get(name), "note": test.get("description"), **_criteria(asserts)}
        others = {f"x_{key}": value for key, value in variables.items() if key != name}
        rows.append({key: value for key, value in (row | others).items() if value is not None})
    return rows


def with_expected_columns(row: dict[str, Any]) -> dict[str, Any]:
    """The row with promptfoo's `__expected`, `__expected1`, … cells turned into criteria."""
    cells = [str(row[key]) for key in row if key.startswith("__") and _EXPECTED_COLUMN.fullmatch(key)]
    if not cells:
        return row
    asserts = [
        (m["type"], m["value"].strip()) if (m := _CELL.match(cell)) else ("equals", cell) for cell in cells
    ]
    rest = {key: value for key, value in row.items() if not key.startswith("__")}
    note = {"note": row["__description"]} if "__description" in row else {}
    return {**_criteria(asserts), **note, **rest}


def _question_variable(variables: Mapping[str, Any]) -> str:
    for name in (*_QUESTION_VARIABLES, *variables):
        if isinstance(variables.get(name), str):
            return name
    return ""


def _criteria(asserts: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    criteria: dict[str, Any] = {}
    row: dict[str, Any] = {}
    for kind, value in asserts:
        if kind in _CRITERIA:
            texts = value if is_list(value) else _parts(kind, str(value))
            criteria.setdefault(_CRITERIA[kind], []).extend(str(text) for text in texts)
        elif kind == "regex":
            criteria["regex"] = str(value)
        elif kind in _EXPECTED:
            row.setdefault("expected", []).append(str(value))
        else:
            row.setdefault("x_assert", []).append({"type": kind, "value": value})
    return row | ({"answer_criteria": criteria} if criteria else {})


def _parts(kind: str, value: str) -> list[str]:
    return [part.strip() for part in value.split(",")] if kind.endswith(("-any", "-all")) else [value]


def _list(value: Any) -> Sequence[Any]:
    return value if is_list(value) else []
