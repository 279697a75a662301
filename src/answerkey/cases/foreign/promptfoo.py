"""promptfoo: its tests and its `__expected` columns, as rows of ours.

Assertions whose meaning is clear become `criteria`; the others are listed in a notice and kept in
`x_assert`.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from glob import glob
from pathlib import Path
from typing import TypeGuard

from answerkey.coerce.decode import parse_json, read_lines, read_text, read_yaml, warn_once
from answerkey.coerce.patterns import pattern_problem
from answerkey.coerce.requirements import ASKED, CHECKS
from answerkey.coerce.values import is_list, is_mapping, table_of
from answerkey.errors import InputError

Assertion = Mapping[str, object]
_QUESTION_VARIABLES = ("question", "query", "input", "user_input", "message", "prompt", "text")
# Assertions that are one of our checks of words as well.
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


def detects(value: object) -> bool:
    """A configuration with `tests`, inline or in files, or the list of its tests."""
    if is_mapping(value):
        tests = value.get("tests")
    else:
        tests = value
    if isinstance(tests, str):
        tests = [tests]
    if not is_list(tests) or not tests:
        return False
    is_configuration = is_mapping(value) and ("prompts" in value or "providers" in value)
    return all(_is_test(test, is_configuration) for test in tests)


def _is_test(test: object, in_configuration: bool) -> bool:
    if is_mapping(test):
        # With a response it is a result, which other readers take.
        return "vars" in test and "response" not in test
    return _is_reference(test) or (in_configuration and isinstance(test, str))


def rows(value: object, file: str, folder: Path) -> list[dict[str, object]]:
    """One row per test: the question among its variables, and its assertions as criteria.

    `defaultTest` counts for all tests. References to files are relative to `folder`.
    """
    config: Mapping[str, object] = value if is_mapping(value) else {"tests": value}
    reader = _TestReader(config, file, folder)
    test_rows = [reader.row(test) for test in _tests(config["tests"], folder, file)]
    _announce(file, reader.left_out)
    return test_rows


class _TestReader:
    """Turns tests into rows, and counts the assertions that are left out."""

    def __init__(self, config: Mapping[str, object], file: str, folder: Path) -> None:
        default = config.get("defaultTest")
        if _is_reference(default):
            default = next(_file_values(default, folder, file))
        self._default = table_of(default)
        self._templates = table_of(config.get("assertionTemplates"))
        self._prompts = config.get("prompts")
        self.left_out: Counter[str] = Counter()

    def row(self, test: Mapping[str, object]) -> dict[str, object]:
        variables = {**table_of(self._default.get("vars")), **table_of(test.get("vars"))}
        name, question = _question(variables, self._prompts)
        row: dict[str, object] = {
            "question": question,
            "note": test.get("description"),
            **_columns_of_assertions(self._assertions(test, variables), self.left_out),
            "criteria_threshold": test.get("threshold", self._default.get("threshold")),
        }
        row |= {f"x_{key}": value for key, value in variables.items() if key != name}
        return {key: value for key, value in row.items() if value is not None}

    def _assertions(
        self, test: Mapping[str, object], variables: Mapping[str, object]
    ) -> list[Assertion]:
        written = [*_as_list(self._default.get("assert")), *_as_list(test.get("assert"))]
        resolved = _resolve_assertions(written, self._templates)
        return [{**each, "value": _fill(each.get("value"), variables)} for each in resolved if each]


def _as_list(value: object) -> list[object]:
    if is_list(value):
        return list(value)
    return [value] if value else []


def _tests(value: object, folder: Path, file: str) -> list[Mapping[str, object]]:
    """The tests, with those of other files in the place of their references."""
    tests: list[object] = []
    for item in value if is_list(value) else [value]:
        if isinstance(item, str):
            values = _file_values(item, folder, file)
        else:
            values = [item]
        for each in values:
            tests += each if is_list(each) else [each]
    return [test for test in tests if is_mapping(test)]


def _file_values(reference: str, folder: Path, file: str) -> Iterator[object]:
    """The content of the files that a reference such as `file://tests/*.yaml` means."""
    pattern = str(folder / reference.removeprefix(_FILE))
    paths = [Path(path) for path in sorted(glob(pattern, recursive=True))]
    if not paths:
        fix = "paths are relative to the configuration"
        raise InputError(f'{file}: no file of tests at "{reference}"; {fix}')
    for path in paths:
        yield from _values_of_file(path, reference, file)


def _values_of_file(path: Path, reference: str, file: str) -> Iterator[object]:
    match path.suffix:
        case ".csv":
            lines = read_text(path).splitlines(keepends=True)
            yield from (_test_of_cells(row) for row in csv.DictReader(lines))
        case ".yaml" | ".yml":
            yield read_yaml(path)
        case ".json":
            yield parse_json(read_text(path), path.name)
        case ".jsonl":
            for number, line in read_lines(path):
                yield parse_json(line, f"{path.name}, line {number}", in_line=True)
        case _:
            expected = "expected .yaml, .json, .jsonl or .csv"
            raise InputError(f'{file}: tests of "{reference}" can\'t be read; {expected}')


def _is_reference(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.startswith(_FILE)


def _test_of_cells(row: Mapping[str | object, object]) -> dict[str, object]:
    """A row of a CSV file as a test: columns that are no variable begin with two underscores."""
    cells = {str(key): str(value or "") for key, value in row.items() if isinstance(key, str)}
    expected = [
        cell for key, cell in cells.items() if _EXPECTED_COLUMN.fullmatch(key) and cell.strip()
    ]
    return {
        "vars": {key: cell for key, cell in cells.items() if not key.startswith("__")},
        "assert": [_assertion_of_cell(cell) for cell in expected],
        "description": cells.get("__description"),
        "threshold": cells.get("__threshold") or None,
    }


def has_expected_columns(row: Mapping[str, object]) -> bool:
    return any(key.startswith("__") and _EXPECTED_COLUMN.fullmatch(key) for key in row)


def read_expected_columns(row: Mapping[str, object], file: str) -> dict[str, object]:
    """The row with the cells of `__expected`, `__expected1`, … turned into criteria."""
    cells = [str(row[key]) for key in row if _EXPECTED_COLUMN.fullmatch(key)]
    left_out: Counter[str] = Counter()
    assertions = [_assertion_of_cell(cell) for cell in cells if cell.strip()]
    columns = _columns_of_assertions(assertions, left_out)
    _announce(file, left_out)
    about = {"note": row.get("__description"), "criteria_threshold": row.get("__threshold") or None}
    columns |= {key: value for key, value in about.items() if value is not None}
    own = {key: value for key, value in row.items() if not key.startswith("__")}
    return {**columns, **own}


def _assertion_of_cell(cell: str) -> Assertion:
    if _BARE_CELL.fullmatch(cell):
        return {"type": cell.strip()}
    match = _CELL.match(cell)
    if match is None:
        return {"type": "equals", "value": cell.strip()}
    kind = _IN_CELLS.get(match["type"], match["type"])
    assertion: dict[str, object] = {"type": kind, "value": match["value"].strip()}
    if match["threshold"]:
        assertion["threshold"] = match["threshold"]
    return assertion


def _resolve_assertions(
    written: Iterable[object], templates: Mapping[str, object]
) -> list[Assertion]:
    """The assertions with references to templates resolved and sets opened."""
    resolved: list[Assertion] = []
    for item in written:
        if not is_mapping(item):
            continue
        template = str(item.get("$ref", "")).rpartition("/")[2]
        if template:
            own = {key: value for key, value in item.items() if key != "$ref"}
            item = {**table_of(templates.get(template)), **own}
        # A set with a threshold needs only some of its assertions, which a list can't say.
        if item.get("type") == "assert-set" and item.get("threshold") is None:
            resolved += _resolve_assertions(_as_list(item.get("assert")), templates)
        else:
            resolved.append(dict(item))
    return resolved


def _fill(value: object, variables: Mapping[str, object]) -> object:
    """Fill variables of the test, which stand in texts as `{{name}}`."""
    if isinstance(value, str):
        # An unknown variable stays as it is written.
        return _VARIABLE.sub(lambda name: str(variables.get(name[1], name[0])), value)
    if is_list(value):
        return [_fill(each, variables) for each in value]
    return value


def _question(variables: Mapping[str, object], prompts: object) -> tuple[str, object]:
    """The variable that is the question and its text; otherwise the first prompt, filled."""
    for name in _QUESTION_VARIABLES:
        if isinstance(variables.get(name), str):
            return name, variables[name]
    if is_list(prompts) and prompts:
        first = prompts[0]
    else:
        first = prompts
    # A prompt of several lines is an instruction to the model, no question.
    if isinstance(first, str) and _VARIABLE.search(first) and "\n" not in first.strip():
        return "", _fill(first, variables)
    texts = ((name, value) for name, value in variables.items() if isinstance(value, str))
    return next(texts, ("", None))


def _columns_of_assertions(
    assertions: Iterable[Assertion], left_out: Counter[str]
) -> dict[str, object]:
    """The columns `criteria`, `expected`, `answer_criteria` and `x_assert` of a test."""
    assertions = list(assertions)
    columns: dict[str, list[object]] = defaultdict(list)
    for assertion in assertions:
        kind = str(assertion.get("type", ""))
        value = assertion.get("value")
        if kind in _EXPECTED:
            columns["expected"].append(str(value))
        problem = _describe_unsupported(assertion, kind, value)
        if problem is None:
            kept = {key: assertion[key] for key in _KEPT if assertion.get(key) is not None}
            columns["criteria"].append(kept)
            continue
        left_out[problem] += 1
        # As an expected answer it is not lost.
        if kind not in _EXPECTED:
            columns["x_assert"].append({"type": kind, "value": value})
    answer_criteria = _answer_criteria(assertions)
    if answer_criteria:
        return {**columns, "answer_criteria": answer_criteria}
    return dict(columns)


def _answer_criteria(assertions: Iterable[Assertion]) -> dict[str, object]:
    """The assertions that are one of our own checks of words or patterns."""
    words: dict[str, list[str]] = defaultdict(list)
    pattern: dict[str, object] = {}
    for assertion in assertions:
        kind = str(assertion.get("type", ""))
        value = assertion.get("value")
        if kind in _CRITERIA:
            words[_CRITERIA[kind]] += _words_of_check(kind, value)
        elif kind == "regex" and not pattern_problem(str(value)):
            pattern["regex"] = str(value)
    return {**words, **pattern}


def _words_of_check(kind: str, value: object) -> list[str]:
    if is_list(value):
        return [str(item) for item in value]
    if kind.endswith(("-any", "-all")):
        return [part.strip() for part in str(value).split(",")]
    return [str(value)]


def _describe_unsupported(assertion: Assertion, kind: str, value: object) -> str | None:
    """The part of an assertion that is not supported, as the notice lists it; None where it is."""
    check = kind.removeprefix("not-")
    if check in ("is-json", "contains-json"):
        return f"{kind} with a schema" if value else None
    if check in ("latency", "cost"):
        has_threshold = isinstance(assertion.get("threshold"), int | float)
        if has_threshold:
            return None
        return f"{kind} without a threshold"
    if check not in CHECKS and check not in ASKED:
        return kind or "an assertion without a type"
    if assertion.get("transform"):
        return f"{kind} with a transform"
    if is_mapping(value) or value is None or _is_reference(value):
        return f"{kind} with a file or an object"
    if check == "regex" and pattern_problem(str(value)):
        return f"{kind} that Python can't read"
    return None


def _announce(file: str, left_out: Counter[str]) -> None:
    if left_out:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(left_out.items()))
        warn_once(f"{file}: assertions that are not supported and are left out: {kinds}")
