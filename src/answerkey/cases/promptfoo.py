"""Data sets of promptfoo: its tests and its `__expected` columns, as rows of ours.

Assertions whose meaning is clear become `criteria`; the others are listed in a notice and carried along in `x_assert`.
ragas and deepeval need nothing but their column names, which columns.py knows.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeGuard

from answerkey.coerce.requirements import ASKED, CHECKS

log = logging.getLogger("answerkey.cases")

_QUESTION_VARIABLES = ("question", "query", "input", "user_input", "message", "prompt", "text")
# An assertion of promptfoo that is one of our checks of words as well.
_CRITERIA = {
    "contains": "must_contain", "icontains": "must_contain", "contains-all": "must_contain", "icontains-all": "must_contain",
    "contains-any": "must_contain_any", "icontains-any": "must_contain_any",
    "not-contains": "must_not_contain", "not-icontains": "must_not_contain",
}  # fmt: skip
_EXPECTED = {"equals", "similar", "factuality", "model-graded-factuality", "answer-relevance"}
_EXPECTED_COLUMN = re.compile(r"__expected\d*")
_CELL = re.compile(r"\s*(?P<type>[a-z][a-z-]*)(?:\((?P<threshold>[^)]*)\))?:\s*(?P<value>.*)", re.DOTALL)
_BARE_CELL = re.compile(r"\s*(?:not-)?(?:is-json|contains-json)\s*")
_IN_CELLS = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_KEPT = ("type", "value", "threshold", "weight", "metric")
Assertion = Mapping[str, Any]


def is_promptfoo(data: Any) -> bool:
    """A configuration with `tests`, or the list of its tests."""
    tests = data.get("tests") if _is_table(data) else data
    return isinstance(tests, list) and bool(tests) and all(_is_table(t) and "vars" in t for t in tests)  # pyright: ignore[reportUnknownVariableType]


def promptfoo_rows(data: Any, file: str = "promptfoo") -> list[dict[str, Any]]:
    """One row per test: the question among its variables, and its assertions as criteria; `defaultTest` counts for all."""
    config: Mapping[str, Any] = data if _is_table(data) else {"tests": data}
    default = config.get("defaultTest")
    default = default if _is_table(default) else {}
    templates = config.get("assertionTemplates") or {}
    rows: list[dict[str, Any]] = []
    left_out: Counter[str] = Counter()
    for test in config["tests"]:
        variables = {**_table(default.get("vars")), **_table(test["vars"])}
        name, question = _question(variables, config.get("prompts"))
        listed = [*(default.get("assert") or []), *(test.get("assert") or [])]
        asserts = [_filled(each, variables) for each in _flat(listed, templates) if each]
        row = {"question": question, "note": test.get("description"), **_criteria(asserts, left_out)}
        others = {f"x_{key}": value for key, value in variables.items() if key != name}
        rows.append({key: value for key, value in (row | others).items() if value is not None})
    _announce(file, left_out)
    return rows


def with_expected_columns(row: dict[str, Any], file: str = "promptfoo") -> dict[str, Any]:
    """The row with promptfoo's `__expected`, `__expected1`, … cells turned into criteria."""
    cells = [str(row[key]) for key in row if key.startswith("__") and _EXPECTED_COLUMN.fullmatch(key)]
    if not cells:
        return row
    left_out: Counter[str] = Counter()
    made = _criteria([_assertion_of_cell(cell) for cell in cells if cell.strip()], left_out)
    _announce(file, left_out)
    rest = {key: value for key, value in row.items() if not key.startswith("__")}
    note = {"note": row["__description"]} if "__description" in row else {}
    return {**made, **note, **rest}


def _assertion_of_cell(cell: str) -> Assertion:
    if _BARE_CELL.fullmatch(cell):
        return {"type": cell.strip()}
    match = _CELL.match(cell)
    if match is None:
        return {"type": "equals", "value": cell.strip()}
    threshold = {"threshold": match["threshold"]} if match["threshold"] else {}
    kind = _IN_CELLS.get(match["type"], match["type"])
    return {"type": kind, "value": match["value"].strip(), **threshold}


def _flat(listed: Iterable[Any], templates: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The assertions with references to templates resolved and sets opened."""
    flat: list[dict[str, Any]] = []
    for item in listed:
        if not _is_table(item):
            continue
        reference = str(item.get("$ref", "")).rpartition("/")[2]
        if reference:
            item = {**_table(templates.get(reference)), **{k: v for k, v in item.items() if k != "$ref"}}
        if item.get("type") == "assert-set" and item.get("threshold") is None:
            flat += _flat(item.get("assert") or [], templates)
        else:
            flat.append(dict(item))
    return flat


def _filled(assertion: dict[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
    """Variables of the test stand in values as `{{name}}`."""

    def fill(value: Any) -> Any:
        if isinstance(value, str):
            return _VARIABLE.sub(lambda found: str(variables.get(found[1], found[0])), value)
        return [fill(each) for each in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]

    return {**assertion, "value": fill(assertion.get("value"))}


def _question(variables: Mapping[str, Any], prompts: Any) -> tuple[str, Any]:
    """The variable that is the question and its text; otherwise the first prompt, filled with the variables."""
    for name in _QUESTION_VARIABLES:
        if isinstance(variables.get(name), str):
            return name, variables[name]
    first = prompts[0] if isinstance(prompts, list) and prompts else prompts  # pyright: ignore[reportUnknownVariableType]
    if isinstance(first, str) and _VARIABLE.search(first) and "\n" not in first.strip():
        return "", _VARIABLE.sub(lambda found: str(variables.get(found[1], found[0])), first)
    return next(((name, value) for name, value in variables.items() if isinstance(value, str)), ("", None))


def _criteria(asserts: Iterable[Assertion], left_out: Counter[str]) -> dict[str, Any]:
    checks: dict[str, Any] = {}
    row: dict[str, Any] = {}
    for assertion in asserts:
        kind, value = str(assertion.get("type", "")), assertion.get("value")
        if kind in _CRITERIA:
            texts = value if isinstance(value, list) else _parts(kind, str(value))
            checks.setdefault(_CRITERIA[kind], []).extend(str(text) for text in texts)  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        elif kind == "regex" and _compiles(value):
            checks["regex"] = str(value)
        elif kind in _EXPECTED:
            row.setdefault("expected", []).append(str(value))
        why = _unsupported(assertion, kind, value)
        if why is None:
            kept = {key: assertion[key] for key in _KEPT if assertion.get(key) is not None}
            row.setdefault("criteria", []).append(kept)
        else:
            left_out[why] += 1
            if kind not in _EXPECTED:
                row.setdefault("x_assert", []).append({"type": kind, "value": value})
    return row | ({"answer_criteria": checks} if checks else {})


def _unsupported(assertion: Assertion, kind: str, value: Any) -> str | None:
    """What is not supported about an assertion, as it is listed; None where it is."""
    plain = kind.removeprefix("not-")
    if plain in ("is-json", "contains-json"):
        return f"{kind} with a schema" if value else None
    if plain in ("latency", "cost"):
        return None if isinstance(assertion.get("threshold"), int | float) else f"{kind} without a threshold"
    if plain not in CHECKS and plain not in ASKED:
        return kind or "an assertion without a type"
    if assertion.get("transform"):
        return f"{kind} with a transform"
    if isinstance(value, Mapping) or value is None or (isinstance(value, str) and value.startswith("file://")):
        return f"{kind} with a file or an object"
    return f"{kind} that Python can't read" if plain == "regex" and not _compiles(value) else None


@cache  # a run reads its cases more than once, and a CSV has them row by row
def _announce_kinds(file: str, kinds: str) -> None:
    log.warning("%s: assertions that are not supported and are left out: %s", file, kinds)


def _announce(file: str, left_out: Counter[str]) -> None:
    if left_out:
        _announce_kinds(file, ", ".join(f"{kind} ({count})" for kind, count in sorted(left_out.items())))


def _compiles(value: Any) -> bool:
    try:
        return bool(re.compile(str(value)))
    except (re.error, RecursionError, OverflowError):
        return False


def _parts(kind: str, value: str) -> list[str]:
    return [part.strip() for part in value.split(",")] if kind.endswith(("-any", "-all")) else [value]


def _is_table(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _table(value: Any) -> Mapping[str, Any]:
    return value if _is_table(value) else {}
