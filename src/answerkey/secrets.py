"""Keys that must not be stored or printed, found in every spelling: raw, JSON-escaped, percent-encoded, base64.

hide = Secrets(["sk-1234567890"]).hide
hide("you sent Bearer sk-1234567890")            # 'you sent Bearer ***'
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

from answerkey.coerce.values import is_list, is_mapping
from answerkey.errors import SettingsError

HIDDEN = "***"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SHORTEST = 8  # what is shorter is no key, and taking every "1" out of an answer would change it


class Secrets:
    """The keys of one endpoint. Hide them after decoding: what was `\\u0073k-…` in a reply is the key again then."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        for value in values:
            self.add(value)

    def __bool__(self) -> bool:
        return bool(self._values)

    def add(self, value: str) -> None:
        value = value.strip()
        if len(value) >= _SHORTEST and value not in self._values:
            self._values.add(value)
            spelled = {spelling for key in self._values for spelling in _spellings(key)}
            # The longest spelling first: otherwise a part of it would be hidden, and the rest shown.
            self._pattern = re.compile(
                "|".join(map(re.escape, sorted(spelled, key=len, reverse=True))), re.I
            )

    def hide(self, text: str) -> str:
        """The text with every key replaced by `***`."""
        if self._pattern:
            return self._pattern.sub(HIDDEN, text)
        return text

    def hide_in(self, value: object) -> Any:
        """The same for every string of a decoded JSON value, its keys included."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.hide(value)
        if is_mapping(value):
            return {self.hide_in(key): self.hide_in(item) for key, item in value.items()}
        if is_list(value):
            return [self.hide_in(item) for item in value]
        return value


def key_from_variable(variable: str) -> str:
    """The key in an environment variable; "" where no variable is named."""
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise SettingsError(f"the environment variable {variable} is not set: export {variable}=…")
    if not key.isascii() or not key.isprintable() or " " in key:
        reason = "it has blanks or non-ASCII characters"
        raise SettingsError(f"the environment variable {variable} does not hold a key: {reason}")
    return key


def _spellings(value: str) -> Iterator[str]:
    yield value
    for ascii_only in (True, False):
        escaped = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield from (
            escaped,
            escaped.replace("/", "\\/"),
            json.dumps(escaped, ensure_ascii=ascii_only)[1:-1],
        )
    yield "".join(f"\\u{ord(char):04x}" for char in value)
    yield from (quote(value, safe=""), quote(value), quote_plus(value), escape(value))
    yield repr(value)[1:-1]
    raw = value.encode("utf-8", "replace")
    # A key inside a longer text, such as `user:key`, starts at any of three places of a group.
    for before in range(3):
        whole = b64encode(b"\0" * before + raw).decode().rstrip("=")
        # The first and last characters mix with the neighbours; what is between is the key's alone.
        inner = whole[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))


def with_variables(text: str, secrets: Secrets) -> str:
    """`${NAME}` becomes the variable's value, which is added to `secrets` so that it can be kept out of files."""

    def value(match: re.Match[str]) -> str:
        variable = os.environ.get(match[1])
        if not variable:
            problem = f"but the variable {match[1]} is not set: export it first"
            raise SettingsError(f"[target] uses {match[0]}, {problem}")
        secrets.add(variable)
        return variable

    return _VARIABLE.sub(value, text)
