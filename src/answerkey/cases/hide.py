"""Secrets and personal data, taken out of rows and texts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import TypeVar, cast

from answerkey.coerce.values import is_list, is_mapping
from answerkey.errors import SettingsError, did_you_mean

T = TypeVar("T")
_TABLES: dict[str, dict[str, dict[str, str]]] = tomllib.loads(
    files("answerkey.cases").joinpath("secrets.toml").read_text("utf-8")
)
ALWAYS = "secrets"
KINDS = tuple(kind for kind in _TABLES if kind != ALWAYS)
_MARKS = {kind: f"[{kind.removesuffix('s')}]" for kind in _TABLES}
_DEEPEST = 50


def hide_text(text: str, kinds: Sequence[str] = ()) -> str:
    """The text without keys and tokens, and without these kinds of personal data.

    >>> hide_text("Mail ann@example.org, key sk-abcdefghij0123456789", ["emails"])
    'Mail [email], key [secret]'
    """
    lowered = text.lower()
    for kind in (ALWAYS, *kinds):
        for cue, pattern in _patterns(kind):
            # The cue is a plain text that each match has: most texts need no expression at all.
            if cue in lowered:
                # `kind=kind` binds the value now; a lambda looks names up when it is called.
                text = pattern.sub(lambda match, kind=kind: _replace_group(match, kind), text)
    return text


def _replace_group(match: re.Match[str], kind: str) -> str:
    """The match with its group, or all of it, replaced."""
    if not match.re.groups or match[1] is None:
        return _MARKS[kind]
    # A pattern may need the name of the field before the secret; only its group is hidden.
    start = match.start(1) - match.start()
    end = match.end(1) - match.start()
    return match[0][:start] + _MARKS[kind] + match[0][end:]


@cache
def _patterns(kind: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    entries = _TABLES[kind].values()
    return tuple((entry["cue"], re.compile(entry["pattern"])) for entry in entries)


def hide_in(value: T, kinds: Sequence[str] = (), depth: int = 0) -> T:
    """The same for every text in a value; keys stay as they are."""
    hidden: object = value
    if isinstance(value, str):
        hidden = hide_text(value, kinds)
    elif depth > _DEEPEST:
        hidden = value
    elif is_mapping(value):
        hidden = {key: hide_in(item, kinds, depth + 1) for key, item in value.items()}
    elif is_list(value):
        hidden = [hide_in(item, kinds, depth + 1) for item in value]
    return cast("T", hidden)


def hide_secrets(row: dict[str, object]) -> dict[str, object]:
    """A row without keys and tokens."""
    return hide_in(row)


def parse_kinds(names: str) -> tuple[str, ...]:
    """The kinds of personal data of an option such as `emails,phones`."""
    kinds = [name.strip().lower() for name in names.split(",") if name.strip()]
    return tuple(_check_kinds(kinds))


def _check_kinds(kinds: Iterable[str]) -> Iterable[str]:
    for kind in kinds:
        if kind not in KINDS:
            hint = did_you_mean(kind, KINDS)
            raise SettingsError(f'--hide "{kind}": expected {", ".join(KINDS)}{hint}')
        yield kind
