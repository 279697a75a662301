"""The shape of a profile's TOML: each value of the kind that its key asks for, before anything is made of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from answerkey.errors import SettingsError, did_you_mean

_TEXT = frozenset({"metric", "name", "status", "reading", "better"})
_TRUTH = frozenset({"required", "needs_route"})
_NUMBER = frozenset({"at", "floor", "weight", "maximum", "scale", "pass"})
_OF_A_GROUP = ("criteria", "pass", "bands")


def check_shapes(table: Mapping[str, Any], source: str) -> None:
    """An error that names the first value of a wrong kind."""
    _check_rules(table, source)
    for key in ("on", "routes", "words"):
        if not isinstance(table.get(key, {}), Mapping):
            raise _wrong(source, key, table[key], f"a table [{key}]")
    for group, own in table.get("on", {}).items():
        if not isinstance(own, Mapping):
            raise _wrong(source, f"on.{group}", own, f"a table [on.{group}]")
        for key in own:
            if key not in _OF_A_GROUP:
                hint = did_you_mean(key, _OF_A_GROUP) or f"; it takes {', '.join(_OF_A_GROUP)}"
                raise SettingsError(f'profile {source}: unknown key "{key}" in [on.{group}]{hint}')
        _check_rules(own, f"{source} [on.{group}]")
    version = table.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int):
        raise _wrong(source, "version", version, "a whole number")
    if not isinstance(table.get("name", ""), str):
        raise _wrong(source, "name", table["name"], "a text")


def check_values(item: Mapping[str, Any], source: str, what: str) -> None:
    """The values of one criterion or band."""
    for key, value in item.items():
        if key in _TEXT and not isinstance(value, str):
            raise _wrong(f"{source}, {what}", key, value, "a text")
        if key in _TRUTH and not isinstance(value, bool):
            raise _wrong(f"{source}, {what}", key, value, "true or false")
        if key in _NUMBER and not _is_number(value):
            raise _wrong(f"{source}, {what}", key, value, "a number")


def _check_rules(table: Mapping[str, Any], source: str) -> None:
    for key in ("scale", "pass"):
        if key in table and not _is_number(table[key]):
            raise _wrong(source, key, table[key], "a number")
    for key in ("criteria", "bands"):
        if not isinstance(table.get(key, []), list):
            raise _wrong(source, key, table[key], f"a list, as [[{key}]] gives")
    if "bands" in table and not table["bands"]:
        raise _wrong(source, "bands", [], "at least one band")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _wrong(source: str, key: str, value: Any, expected: str) -> SettingsError:
    return SettingsError(f"profile {source}: {key} is {value!r}, expected {expected}")
