"""Requirements: the column `criteria` of a case and the table `[[criteria]]` of a suite.

A requirement is a sentence for a judge, or a check that needs none, as promptfoo writes its
assertions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from answerkey.coerce.patterns import pattern_problem
from answerkey.coerce.values import (
    Place,
    as_number,
    as_text,
    is_list,
    is_mapping,
    is_number,
    unpack_list,
)
from answerkey.errors import did_you_mean
from answerkey.types import Requirement

JUDGED_KINDS = ("pass", "0-5")
# Each compares the answer with the texts in `value`; a leading "not-" negates it.
CHECKS = (
    "equals",
    "contains",
    "icontains",
    "contains-all",
    "icontains-all",
    "contains-any",
    "icontains-any",
    "starts-with",
    "regex",
    "is-json",
    "contains-json",
    "levenshtein",
    "latency",
    "cost",
)
_WITHOUT_VALUE = {"is-json", "contains-json", "latency", "cost"}
_NEED_THRESHOLD = {"latency", "cost"}
_AGREES = "The answer agrees with this statement and contradicts no part of it: {value}"
# Assertions of promptfoo that a judge decides, and the sentence that it is asked about.
ASKED = {
    "llm-rubric": "{value}",
    "model-graded-closedqa": "{value}",
    "g-eval": "{value}",
    "factuality": _AGREES,
    "model-graded-factuality": _AGREES,
}
_KEYS = {
    "ask": "ask",
    "criterion": "ask",
    "text": "ask",
    "kind": "kind",
    "type": "kind",
    "value": "value",
    "name": "name",
    "metric": "name",
    "threshold": "threshold",
    "weight": "weight",
}
_IGNORED_KEYS = ("provider", "rubricPrompt", "description", "transform", "config")
_NUMBER = re.compile(r"\s*[-+]?[\d.,]+(?:e[-+]?\d+)?\s*|nan|n/a")
_BULLET = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+")


def as_requirements(value: object, column: str, place: Place) -> tuple[Requirement, ...]:
    """The requirements of a cell: a sentence, bulleted lines, or a list of sentences and tables.

    A bare number is a score from an earlier run, and no requirement.

    >>> cell = "- It is polite.\\n- It names a price."
    >>> [each.ask for each in as_requirements(cell, "criteria", Place("x"))]
    ['It is polite.', 'It names a price.']
    """
    value = unpack_list(value, column, place)
    if is_number(value) or isinstance(value, bool) or value in (None, ""):
        return ()
    if isinstance(value, str):
        items = _items_of_text(value)
    elif is_list(value):
        items = list(value)
    else:
        items = [value]
    return tuple(
        requirement_of(item, f"{column}[{n}]", place, f"c{n}")
        for n, item in enumerate(items, start=1)
    )


def _items_of_text(cell: str) -> list[object]:
    # Earlier results have a column "criteria" with a score.
    if _NUMBER.fullmatch(cell.lower()):
        return []
    lines = [line for line in cell.splitlines() if line.strip()]
    if len(lines) > 1 and all(_BULLET.match(line) for line in lines):
        return [_BULLET.sub("", line, count=1) for line in lines]
    return [cell]


def requirement_of(item: object, column: str, place: Place, default_name: str = "") -> Requirement:
    """One requirement: a sentence, or a table with `ask` and `kind` (or promptfoo's keys)."""
    if isinstance(item, str) and item.strip():
        return Requirement(as_text(item, column, place), default_name)
    if not is_mapping(item):
        raise place.error(column, item, "a criterion: a sentence, or a table with ask")
    table = _canonical_keys(item, column, place)
    kind = as_text(table.get("kind"), column, place).lower() or "pass"
    check = kind.removeprefix("not-")
    weight = as_number(table.get("weight"), column, place)
    if weight is not None and weight < 0:
        raise place.error(f"{column}.weight", weight, "a number of 0 or more")
    requirement = Requirement(
        "",
        as_text(table.get("name"), column, place) or default_name,
        threshold=as_number(table.get("threshold"), column, place),
        weight=1.0 if weight is None else weight,
    )
    if kind in JUDGED_KINDS or check in ASKED:
        return _judged_requirement(requirement, table, kind, column, place)
    if check not in CHECKS:
        hint = did_you_mean(check, (*JUDGED_KINDS, *CHECKS, *ASKED)).strip("; ")
        raise place.error(f"{column}.kind", kind, "a known kind", hint)
    return _checked_requirement(requirement, table, kind, column, place)


def _canonical_keys(item: Mapping[str, object], column: str, place: Place) -> dict[str, object]:
    table: dict[str, object] = {}
    for key, value in item.items():
        if str(key) in _KEYS:
            table.setdefault(_KEYS[str(key)], value)
        elif str(key) not in _IGNORED_KEYS:
            hint = did_you_mean(str(key), _KEYS).strip("; ")
            raise place.error(f"{column}.{key}", value, "a known key", hint)
    return table


def _judged_requirement(
    requirement: Requirement, table: Mapping[str, object], kind: str, column: str, place: Place
) -> Requirement:
    """A requirement that a judge decides."""
    ask = as_text(table.get("ask", table.get("value")), column, place)
    if not ask:
        raise place.error(column, dict(table), "a sentence in ask")
    check = kind.removeprefix("not-")
    if check not in ASKED:
        return replace(requirement, ask=ask, kind=kind)
    ask = ASKED[check].format(value=ask)
    if kind != check:
        ask = f"This does not hold: {ask}"
    # promptfoo's threshold is a share of a scale, which a yes-or-no question does not have.
    return replace(requirement, ask=ask, kind="pass" if requirement.threshold is None else "0-5")


def _checked_requirement(
    requirement: Requirement, table: Mapping[str, object], kind: str, column: str, place: Place
) -> Requirement:
    """A requirement that is checked without a judge."""
    check = kind.removeprefix("not-")
    texts = _texts_of_check(table.get("value"), check, column, place)
    if check in _NEED_THRESHOLD and requirement.threshold is None:
        raise place.error(f"{column}.threshold", None, "a number, the most that is allowed")
    compared = ", ".join(f'"{text}"' for text in texts)
    if not compared and requirement.threshold is not None:
        compared = f"at most {requirement.threshold:g}"
    ask = f"{kind} {compared}".strip()
    return replace(requirement, ask=ask, kind=check, value=texts, negated=kind != check)


def _texts_of_check(value: object, check: str, column: str, place: Place) -> tuple[str, ...]:
    if check in _WITHOUT_VALUE:
        return ()
    takes_several = check.endswith(("-any", "-all"))
    # promptfoo writes several texts with commas in one cell.
    if takes_several and isinstance(value, str) and not value.strip().startswith("["):
        value = [part.strip() for part in value.split(",") if part.strip()]
    value = unpack_list(value, column, place)
    items: list[object] = list(value) if is_list(value) else [value]
    texts = tuple(as_text(item, column, place) for item in items)
    if not texts or not all(texts):
        raise place.error(f"{column}.value", value, f"the text for {check}")
    if check == "regex":
        for text in texts:
            problem = pattern_problem(text)
            if problem:
                raise place.error(f"{column}.value", text, "a regular expression", problem)
    return texts
