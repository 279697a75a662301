"""Reading the suite's `[target]` table: the right type, or one line that says what was expected."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from answerkey.errors import SettingsError, did_you_mean

Table = Mapping[str, Any]
T = TypeVar("T")

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_KEY_LENGTH = 8  # what is shorter is no key, and taking every "1" out of an answer would change it
_NAMES: dict[type, str] = {
    str: "text",
    float: "a number",
    int: "a whole number",
    dict: "a table",
    bool: "true or false",
}


def check_keys(table: Table, known: Iterable[str]) -> None:
    names = set(known)
    for key in table:
        if key not in names:
            hint = did_you_mean(key, names) or f"; known: {', '.join(sorted(names))}"
            raise SettingsError(f'[target] has no key "{key}" for this kind{hint}')


def take(table: Table, key: str, kind: type[T], default: T) -> T:
    """The value of `key`; a whole number is a number too, but true is not."""
    value = table.get(key, default)
    right = isinstance(value, (int, float) if kind is float else kind)
    if not right or (isinstance(value, bool) and kind is not bool):
        raise SettingsError(f"[target] {key} = {value!r}: expected {_NAMES.get(kind, kind.__name__)}")
    return value  # type: ignore[return-value]


def need(table: Table, key: str, example: str) -> str:
    value = take(table, key, str, "")
    if not value.strip():
        raise SettingsError(f"[target] needs {key}, for example {key} = {example}")
    return value


def at_least(table: Table, key: str, least: int, default: int) -> int:
    value = take(table, key, int, default)
    if value < least:
        raise SettingsError(f"[target] {key} = {value}: expected {least} or more")
    return value


def seconds(table: Table, key: str, default: float) -> float:
    value = take(table, key, float, default)
    if not 0 < value < float("inf"):
        raise SettingsError(f"[target] {key} = {value}: expected seconds above 0")
    return float(value)


def with_variables(text: str, secrets: set[str]) -> str:
    """`${NAME}` becomes the variable's value, which is added to `secrets` so that it can be kept out of files."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if not found:
            raise SettingsError(
                f"[target] uses ${{{match[1]}}}, but the variable {match[1]} is not set: export it first"
            )
        if len(found) >= _KEY_LENGTH:
            secrets.add(found)
        return found

    return _VARIABLE.sub(value, text)
