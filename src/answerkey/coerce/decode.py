"""Bytes to text, and text to JSON or YAML values: one line of error where that cannot be done."""

from __future__ import annotations

import codecs
import json
import logging
import math
import re
import tomllib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec

from answerkey.coerce.values import is_list, is_mapping
from answerkey.errors import InputError, SettingsError

log = logging.getLogger("answerkey.cases")

_BLOCK = 1 << 20
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DEEPEST = 100
_TOO_DEEP = f"nested more than {_DEEPEST} levels deep"
_NESTED = frozenset({dict, list})
_MOST_VALUES = 1_000_000  # of a YAML file, whose aliases can stand for far more than it writes
_KEY_END = re.compile(r'"\s*:')
_LARGE_NUMBER = re.compile(r"[0-9](?:[0-9]{18}|[eE]\+?[0-9]{3})")


def encoding_of(path: Path) -> str:
    """The file's encoding, from a pass over it: UTF-8, UTF-16 with its mark, else cp1252, which is announced. A file
    with other UTF-8 characters in it, or with bytes that cp1252 has not, is UTF-8 with a bad byte."""
    bad = before = number = 0
    is_utf8 = False
    try:
        with path.open("rb") as file:
            if file.read(2) in _UTF16_MARKS:
                with path.open(encoding="utf-16") as text:
                    deque(text, maxlen=0)
                return "utf-16"
            file.seek(0)
            while lines := file.readlines(_BLOCK):
                block = b"".join(lines)
                if (byte := block.find(0)) >= 0:
                    raise InputError(
                        f"{path}: byte {before + byte} is NUL, so this is not text; save it as UTF-8 text"
                    )
                try:
                    block.decode()
                    is_utf8 = is_utf8 or not block.isascii()
                except UnicodeDecodeError as error:
                    bad = bad or number + block.count(b"\n", 0, error.start) + 1
                    rest = [
                        c
                        for c in block.decode("utf-8", "surrogateescape")
                        if not "\udc80" <= c <= "\udcff"
                    ]
                    western = block.decode("cp1252", "ignore").encode("cp1252") == block
                    is_utf8 = is_utf8 or not western or not "".join(rest).isascii()
                before, number = before + len(block), number + len(lines)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeError:
        raise InputError(
            f"{path}: starts as UTF-16 but is not valid UTF-16; save it as UTF-8 text"
        ) from None
    if not bad:
        return "utf-8-sig"
    if is_utf8:
        fix = "correct the character, or save the file as UTF-8"
        raise InputError(f"{path}, line {bad}: a byte is not valid UTF-8; {fix}")
    warn_once(f"{path.name} is not UTF-8; it is read as cp1252 (Western European)", path.resolve())
    return "cp1252"


@cache  # a run reads its cases more than once
def warn_once(message: str, about: object = None) -> None:
    """A warning that is not repeated for the same message and `about`, the file it is about."""
    log.warning("%s", message)


def read_text(path: Path) -> str:
    """The whole file, with line ends as \\n."""
    with path.open(encoding=encoding_of(path)) as file:
        return file.read()


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Each line that is not blank, with its number from 1; streamed."""
    with path.open(encoding=encoding_of(path), newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if line := line.strip():
                yield number, line


def parse_json(text: str, where: str, *, in_line: bool = False) -> object:
    """The value of strict JSON text; `where` names it in errors. `in_line`: `where` names the line already."""
    large = _LARGE_NUMBER.search(text) is not None
    with suppress(ValueError, RecursionError):  # the slow reader finds out what is wrong
        value = None if large else msgspec.json.decode(text)
        if not large and _number_of_keys(value) == len(
            _KEY_END.findall(text)
        ):  # otherwise one may be given twice
            return value
    repeated: list[str] = []

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            repeated.extend(name for name in made if names.count(name) > 1)
        return made

    try:
        whole, finite = (_whole, _finite) if large else (None, None)
        value = json.JSONDecoder(
            object_pairs_hook=once, parse_constant=_no_constant, parse_int=whole, parse_float=finite
        ).decode(text)
        _number_of_keys(value)
    except json.JSONDecodeError as error:
        line = "" if in_line else f", line {error.lineno}"
        raise InputError(
            f"{where}{line}: not valid JSON: {error.msg} at column {error.colno}"
        ) from None
    except RecursionError:
        raise InputError(f"{where}: not valid JSON: {_TOO_DEEP}") from None
    except ValueError as error:
        raise InputError(f"{where}: not valid JSON: {error}") from None
    for name in dict.fromkeys(repeated):
        warn_once(
            f'{where}: the key "{name}" is given twice; the last value is used. Remove one of them'
        )
    return value


def _number_of_keys(value: object, deepest: int = _DEEPEST) -> int:
    """Of all its objects together; ValueError where it is nested too deeply."""
    keys, items = 0, cast("Iterable[object]", value if isinstance(value, list) else ())
    if isinstance(value, dict):
        keys, items = (
            len(cast("dict[str, object]", value)),
            cast("dict[str, object]", value).values(),
        )
    for item in items:
        if type(item) in _NESTED:
            if deepest <= 1:
                raise ValueError(_TOO_DEEP)
            keys += _number_of_keys(item, deepest - 1)
    return keys


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not allowed in JSON; use null where a value is unknown")


def _whole(text: str) -> int | str:
    """Beyond 64 bits a whole number is an id, kept as it is written."""
    if len(text) > 100:
        raise ValueError(f"a whole number of {len(text)} digits; write it as text")
    return int(text) if len(text) < 19 else text


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"the number {text[:20]} is too large")
    return number


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The table of TOML text; `where` names it in errors."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise SettingsError(f"{where}: not valid TOML: {error}") from None


def read_yaml(path: Path) -> object:
    """The plain values of a YAML file; it can't construct objects, and its aliases can't explode."""
    import yaml

    try:
        return _plain(yaml.safe_load(read_text(path)), [0], 0)
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid YAML: {error}") from None


def _plain(value: object, count: list[int], depth: int) -> object:
    """As JSON would hold it: keys and dates as text."""
    count[0] += 1
    if count[0] > _MOST_VALUES or depth > _DEEPEST:
        raise ValueError(f"more than {_MOST_VALUES:,} values, or {_TOO_DEEP}")
    if is_mapping(value):
        return {str(key): _plain(item, count, depth + 1) for key, item in value.items()}
    if is_list(value):
        return [_plain(item, count, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not allowed; use null where a value is unknown")
    if isinstance(value, int) and abs(value) >= 2**63:
        return _whole(str(value))
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
