"""Data sets of promptfoo: its tests and its `__expected` columns, as rows of ours.

Assertions whose meaning is clear become `criteria`; the others are listed in a notice and carried along in `x_assert`.
ragas and deepeval need only their column names, which columns.py knows.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from glob import glob
from pathlib import Path
from typing import TypeGuard

from answerkey.coerce.decode import parse_json, read_lines, read_text, read_yaml, warn_once
from answerkey.coerce.requirements import ASKED, CHECKS, pattern_problem
from answerkey.coerce.values import is_list, is_mapping, table_of
from answerkey.errors import InputError

_QUESTION_VARIABLES = ("question", "query", "input", "user_input", "message", "prompt", "text")
# An assertion of promptfoo that is one of our checks of words as well.
_CRITERIA = {
    "contains": "must_contain",
    "icontains": "must_contain",
    "contains-all": "must_contain",
    "icontains-all": "must_contain",
    "contains-any": "must_contain_any",
    "icontains-any": "must_contain_any",
    "not-contains": "must_not_contain",
    "not-icontains": "must_not_contain",
}
_EXPECTED = {"equals", "similar", "factuality", "model-graded-factuality", "answer-relevance"}
_EXPECTED_COLUMN = re.compile(r"__expected\d*")
_CELL = re.compile(
    r"\s*(?P<type>[a-z][a-z-]*)(?:\((?P<threshold>[^)]*)\))?:\s*(?P<value>.*)", re.DOTALL
)
_BARE_CELL = re.compile(r"\s*(?:not-)?(?:is-json|contains-json)\s*")
_IN_CELLS = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_FILE = "file://"
_KEPT = ("type", "value", "threshold", "weight", "metric")
Assertion = Mapping[str, object]


def is_promptfoo(data: object) -> bool:
    """A configuration with `tests`, inline or in files, or the list of its tests."""
    tests = data.get("tests") if is_mapping(data) else data
    listed = list[object]([tests] if isinstance(tests, str) else tests if is_list(tests) else ())
    configured = is_mapping(data) and ("prompts" in data or "providers" in data)
    return bool(listed) and all(
        "vars" in test and "response" not in test
        if is_mapping(test)
        else _is_reference(test) or (configured and isinstance(test, str))
        for test in listed
    )


def promptfoo_rows(data: object, file: str, folder: Path) -> list[dict[str, object]]:
    """One row per test: the question among its variables, and its assertions as criteria; `defaultTest` counts for all.
    References to files of tests are relative to `folder`."""
    config: Mapping[str, object] = data if is_mapping(data) else {"tests": data}
    default = config.get("defaultTest")
    default = table_of(
        _file_values(default, folder, file)[0] if _is_reference(default) else default
    )
    templates = table_of(config.get("assertionTemplates"))
    rows: list[dict[str, object]] = []
    left_out: Counter[str] = Counter()
    for test in _tests(config["tests"], folder, file):
        variables = {**table_of(default.get("vars")), **table_of(test.get("vars"))}
        name, question = _question(variables, config.get("prompts"))
        listed = [each for given in (default, test) for each in _listed(given.get("assert"))]
        asserts = [
            each | {"value": _fill(each.get("value"), variables)}
            for each in _flat(listed, templates)
            if each
        ]
        row = {
            "question": question,
            "note": test.get("description"),
            **_criteria(asserts, left_out),
        }
        row["criteria_threshold"] = test.get("threshold", default.get("threshold"))
        others = {f"x_{key}": value for key, value in variables.items() if key != name}
        rows.append({key: value for key, value in (row | others).items() if value is not None})
    _announce(file, left_out)
    return rows


def _listed(given: object) -> list[object]:
    return list(given) if is_list(given) else [given] if given else []


def _tests(given: object, folder: Path, file: str) -> list[Mapping[str, object]]:
    """The tests, with those of other files in the place of their references."""
    tests: list[object] = []
    for item in given if is_list(given) else [given]:
        for value in _file_values(item, folder, file) if isinstance(item, str) else [item]:
            tests += value if is_list(value) else [value]
    return [test for test in tests if is_mapping(test)]


def _file_values(reference: str, folder: Path, file: str) -> list[object]:
    """The content of the files that a reference such as `file://tests/*.yaml` means."""
    pattern = reference.removeprefix(_FILE)
    values: list[object] = []
    for path in sorted(map(Path, glob(str(folder / pattern), recursive=True))):
        if path.suffix == ".csv":
            values += [
                _test_of_cells(row)
                for row in csv.DictReader(read_text(path).splitlines(keepends=True))
            ]
        elif path.suffix in (".yaml", ".yml"):
            values.append(read_yaml(path))
        elif path.suffix == ".json":
            values.append(parse_json(read_text(path), path.name))
        elif path.suffix == ".jsonl":
            values += [
                parse_json(line, f"{path.name}, line {n}", in_line=True)
                for n, line in read_lines(path)
            ]
        else:
            raise InputError(
                f'{file}: tests of "{reference}" can\'t be read; expected .yaml, .json, .jsonl or .csv'
            )
    if not values:
        raise InputError(
            f'{file}: no file of tests at "{reference}"; paths are relative to the configuration'
        )
    return values


def _is_reference(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.startswith(_FILE)


def _test_of_cells(row: Mapping[str | object, object]) -> dict[str, object]:
    """A row of a CSV file as a test: what is no variable begins with two underscores."""
    cells = {str(key): str(value or "") for key, value in row.items() if isinstance(key, str)}
    expected = [
        cell for key, cell in cells.items() if _EXPECTED_COLUMN.fullmatch(key) and cell.strip()
    ]
    asserts = [_assertion_of_cell(cell) for cell in expected]
    own = {"description": cells.get("__description"), "threshold": cells.get("__threshold") or None}
    return {
        "vars": {key: cell for key, cell in cells.items() if not key.startswith("__")},
        "assert": asserts,
        **own,
    }


def with_expected_columns(row: dict[str, object], file: str = "promptfoo") -> dict[str, object]:
    """The row with promptfoo's `__expected`, `__expected1`, … cells turned into criteria."""
    cells = [
        str(row[key]) for key in row if key.startswith("__") and _EXPECTED_COLUMN.fullmatch(key)
    ]
    if not cells:
        return row
    left_out: Counter[str] = Counter()
    made = _criteria([_assertion_of_cell(cell) for cell in cells if cell.strip()], left_out)
    _announce(file, left_out)
    rest = {key: value for key, value in row.items() if not key.startswith("__")}
    about = {"note": row.get("__description"), "criteria_threshold": row.get("__threshold") or None}
    return {**made, **{key: value for key, value in about.items() if value is not None}, **rest}


def _assertion_of_cell(cell: str) -> Assertion:
    if _BARE_CELL.fullmatch(cell):
        return {"type": cell.strip()}
    match = _CELL.match(cell)
    if match is None:
        return {"type": "equals", "value": cell.strip()}
    threshold = {"threshold": match["threshold"]} if match["threshold"] else {}
    kind = _IN_CELLS.get(match["type"], match["type"])
    return {"type": kind, "value": match["value"].strip(), **threshold}


def _flat(listed: Iterable[object], templates: Mapping[str, object]) -> list[dict[str, object]]:
    """The assertions with references to templates resolved and sets opened."""
    flat: list[dict[str, object]] = []
    for item in listed:
        if not is_mapping(item):
            continue
        reference = str(item.get("$ref", "")).rpartition("/")[2]
        if reference:
            item = {
                **table_of(templates.get(reference)),
                **{k: v for k, v in item.items() if k != "$ref"},
            }
        if item.get("type") == "assert-set" and item.get("threshold") is None:
            flat += _flat(_listed(item.get("assert")), templates)
        else:
            flat.append(dict(item))
    return flat


def _fill(value: object, variables: Mapping[str, object]) -> object:
    """Variables of the test stand in texts as `{{name}}`."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: str(variables.get(found[1], found[0])), value)
    return [_fill(each, variables) for each in value] if is_list(value) else value


def _question(variables: Mapping[str, object], prompts: object) -> tuple[str, object]:
    """The variable that is the question and its text; otherwise the first prompt, filled with the variables."""
    for name in _QUESTION_VARIABLES:
        if isinstance(variables.get(name), str):
            return name, variables[name]
    first = prompts[0] if is_list(prompts) and prompts else prompts
    if isinstance(first, str) and _VARIABLE.search(first) and "\n" not in first.strip():
        return "", _fill(first, variables)
    return next(
        ((name, value) for name, value in variables.items() if isinstance(value, str)), ("", None)
    )


def _criteria(asserts: Iterable[Assertion], left_out: Counter[str]) -> dict[str, object]:
    checks: dict[str, list[str]] = defaultdict(list)
    row: dict[str, list[object]] = defaultdict(list)
    pattern: dict[str, str] = {}
    for assertion in asserts:
        kind, value = str(assertion.get("type", "")), assertion.get("value")
        if kind in _CRITERIA:
            parts = (
                [part.strip() for part in str(value).split(",")]
                if kind.endswith(("-any", "-all"))
                else [value]
            )
            checks[_CRITERIA[kind]] += map(str, value if is_list(value) else parts)
        elif kind == "regex" and not pattern_problem(str(value)):
            pattern["regex"] = str(value)
        elif kind in _EXPECTED:
            row["expected"].append(str(value))
        why = _unsupported(assertion, kind, value)
        if why is None:
            row["criteria"].append(
                {key: assertion[key] for key in _KEPT if assertion.get(key) is not None}
            )
        else:
            left_out[why] += 1
            if kind not in _EXPECTED:
                row["x_assert"].append({"type": kind, "value": value})
    return {**row, **({"answer_criteria": {**checks, **pattern}} if checks or pattern else {})}


def _unsupported(assertion: Assertion, kind: str, value: object) -> str | None:
    """What is not supported about an assertion, as it is listed; None where it is."""
    plain = kind.removeprefix("not-")
    if plain in ("is-json", "contains-json"):
        return f"{kind} with a schema" if value else None
    if plain in ("latency", "cost"):
        return (
            None
            if isinstance(assertion.get("threshold"), int | float)
            else f"{kind} without a threshold"
        )
    if plain not in CHECKS and plain not in ASKED:
        return kind or "an assertion without a type"
    if assertion.get("transform"):
        return f"{kind} with a transform"
    if (
        is_mapping(value)
        or value is None
        or (isinstance(value, str) and value.startswith("file://"))
    ):
        return f"{kind} with a file or an object"
    return (
        f"{kind} that Python can't read"
        if plain == "regex" and pattern_problem(str(value))
        else None
    )


def _announce(file: str, left_out: Counter[str]) -> None:
    if left_out:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(left_out.items()))
        warn_once(f"{file}: assertions that are not supported and are left out: {kinds}")
