"""The names of attributes (traces.toml), and how to look them up in a span."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from answerkey.coerce.values import is_list, is_mapping, valid_text

NAMES: dict[str, Any] = tomllib.loads(
    files("answerkey.cases.traces").joinpath("traces.toml").read_text("utf-8")
)
Attributes = Mapping[str, object]
_DEEPEST = 20  # levels of a nested value that are looked into
_MOST_ITEMS = 10_000  # a hostile index such as `messages.999999999.role` must not make a long list


def first_value(attributes: Attributes, names: Iterable[str]) -> object:
    """The value of the first of these names that has one; None where none has."""
    for name in names:
        value = attributes.get(name)
        if value is not None and value not in ("", [], {}):
            return value
    return None


def first_text(attributes: Attributes, names: Iterable[str]) -> str:
    """As `first_value`, for a text or a number; "" where there is none."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, str) and value.strip():
            # Half a character, which JSON allows, cannot be stored.
            return valid_text(value).strip()
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
    return ""


def flatten(value: Mapping[str, object], prefix: str = "", depth: int = 0) -> dict[str, object]:
    """Nested attributes with dotted names; lists stay as they are.

    >>> flatten({"llm": {"token_count": {"prompt": 5}}, "tags": ["a"]})
    {'llm.token_count.prompt': 5, 'tags': ['a']}
    """
    flat: dict[str, object] = {}
    for key, item in value.items():
        name = f"{prefix}{key}"
        if is_mapping(item) and item and depth < _DEEPEST:
            flat.update(flatten(item, f"{name}.", depth + 1))
        else:
            flat[name] = item
    return flat


def gather_list(attributes: Attributes, name: str) -> list[object]:
    """The list that is flattened as `NAME.0.role`, `NAME.0.content`, …; empty where there is none.

    >>> gather_list({"llm.input_messages.0.message.role": "user"}, "llm.input_messages")
    [{'message': {'role': 'user'}}]
    """
    prefix = f"{name}."
    rest = {
        key[len(prefix) :]: value for key, value in attributes.items() if key.startswith(prefix)
    }
    nested = nest_names(rest)
    return list(nested) if is_list(nested) else []


def nest_names(flat: Mapping[str, object], depth: int = 0) -> object:
    """Dotted names as nested tables; a table whose names are all numbers becomes a list."""
    groups: dict[str, object] = {}
    inner: dict[str, dict[str, object]] = {}
    for name, value in flat.items():
        head, dot, tail = str(name).partition(".")
        if dot and tail and depth < _DEEPEST:
            inner.setdefault(head, {})[tail] = value
        else:
            groups[head if not dot else str(name)] = value
    for head, names in inner.items():
        groups[head] = nest_names(names, depth + 1)
    if groups and all(key.isascii() and key.isdecimal() for key in groups):
        # By length first: "10" comes after "9".
        order = sorted(groups, key=lambda key: (len(key.lstrip("0")), key))
        return [groups[key] for key in order[:_MOST_ITEMS]]
    return groups
