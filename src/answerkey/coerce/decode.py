"""Bytes to text, and text to JSON, TOML or YAML values; a failure is one line of error."""

from __future__ import annotations

import codecs
import json
import logging
import math
import os
import re
import stat
import tomllib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from answerkey.coerce.values import is_list, is_mapping
from answerkey.errors import InputError, SettingsError
from answerkey.text import printable

log = logging.getLogger("answerkey.cases")

_BLOCK = 1 << 20
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DEEPEST = 100  # levels; Python's own parsers end in a RecursionError at about a thousand
_TOO_DEEP = f"nested more than {_DEEPEST} levels deep"
_CONTAINERS = frozenset({dict, list})
_MOST_YAML_VALUES = 1_000_000  # the aliases of a YAML file can stand for far more than it writes
_KEY_END = re.compile(r'"\s*:')
# Numbers of 19 digits and more, and large exponents, which the slow reader treats specially.
_LARGE_NUMBER = re.compile(r"[0-9](?:[0-9]{18}|[eE]\+?[0-9]{3})")
_MOST_DIGITS = 100  # Python refuses to convert numbers of thousands of digits, and they are slow


@cache  # a run reads its cases more than once
def warn_once(message: str, about: object = None) -> None:
    """Log a warning, once for the same message and `about`, the file that it is about."""
    log.warning("%s", printable(message))


def check_regular(path: Path) -> None:
    """Refuse what is no ordinary file: a pipe would block for ever, /dev/zero has no end."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(f"{path}: a pipe or a device, expected an ordinary file; copy it to one")


@dataclass(slots=True)
class _EncodingSurvey:
    """Facts about the bytes of a file, collected block by block."""

    size: int = 0
    lines: int = 0
    first_bad_line: int = 0
    is_utf8: bool = False  # has other UTF-8 characters, or bytes that cp1252 does not have

    def add(self, lines: list[bytes]) -> None:
        block = b"".join(lines)
        nul = block.find(0)
        if nul >= 0:
            place = f"byte {self.size + nul} is NUL"
            raise ValueError(f"{place}, so this is not text; save it as UTF-8 text")
        try:
            block.decode()
            self.is_utf8 = self.is_utf8 or not block.isascii()
        except UnicodeDecodeError as error:
            if not self.first_bad_line:
                self.first_bad_line = self.lines + block.count(b"\n", 0, error.start) + 1
            self.is_utf8 = self.is_utf8 or _looks_like_utf8(block)
        self.size += len(block)
        self.lines += len(lines)


def _looks_like_utf8(block: bytes) -> bool:
    """Whether a block with a bad byte has UTF-8 characters too, or bytes that cp1252 lacks."""
    # cp1252 leaves five bytes without a character.
    if block.decode("cp1252", "ignore").encode("cp1252") != block:
        return True
    decoded = block.decode("utf-8", "surrogateescape")
    return not all(char.isascii() or "\udc80" <= char <= "\udcff" for char in decoded)


def encoding_of(path: Path) -> str:
    """Find a file's encoding in one pass: UTF-8, UTF-16 with its mark, else cp1252 with a warning.

    A file with UTF-8 characters and one bad byte is an error: cp1252 would garble the good ones.
    """
    check_regular(path)
    survey = _EncodingSurvey()
    try:
        with path.open("rb") as file:
            if file.read(2) in _UTF16_MARKS:
                _check_utf16(path)
                return "utf-16"
            file.seek(0)
            # Whole lines, so that no character is cut in two at the end of a block.
            while lines := file.readlines(_BLOCK):
                survey.add(lines)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeError:
        fix = "save it as UTF-8 text"
        raise InputError(f"{path}: starts as UTF-16 but is not valid UTF-16; {fix}") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    if not survey.first_bad_line:
        # Also reads plain UTF-8; a byte-order mark would become part of the first column's name.
        return "utf-8-sig"
    if survey.is_utf8:
        place = f"{path}, line {survey.first_bad_line}"
        fix = "correct the character, or save the file as UTF-8"
        raise InputError(f"{place}: a byte is not valid UTF-8; {fix}")
    warn_once(f"{path.name} is not UTF-8; it is read as cp1252 (Western European)", path.resolve())
    return "cp1252"


def _check_utf16(path: Path) -> None:
    with path.open(encoding="utf-16") as text:
        # Reads and drops everything: an error in the last line must be found before the first case.
        deque(text, maxlen=0)


def read_text(path: Path) -> str:
    """The whole file, with line ends as \\n."""
    with path.open(encoding=encoding_of(path)) as file:
        return file.read()


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Stream each line that is not blank, with its number from 1."""
    # A carriage return inside a line is part of it; only \n ends a line of JSON.
    with path.open(encoding=encoding_of(path), newline="\n") as file:
        yield from _numbered_lines(file)


def _numbered_lines(file: IO[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file, start=1):
        stripped = line.strip()
        if stripped:
            yield number, stripped


def parse_json(text: str, where: str, *, in_line: bool = False) -> object:
    """The value of strict JSON text. `where` names it in errors, with `in_line` its line too."""
    # The fast reader keeps the last of two equal keys silently. It is trusted where the value has
    # as many keys as the text.
    has_large = _LARGE_NUMBER.search(text) is not None
    if not has_large:
        # The slow reader below finds out what is wrong, and warns of keys that are given twice.
        with suppress(ValueError, RecursionError):
            value = msgspec.json.decode(text)
            if _count_keys(value) == len(_KEY_END.findall(text)):
                return value
    repeated: list[str] = []
    try:
        value = _slow_decoder(repeated, has_large).decode(text)
        _count_keys(value)
    except json.JSONDecodeError as error:
        line = "" if in_line else f", line {error.lineno}"
        problem = f"{error.msg} at column {error.colno}"
        raise InputError(f"{where}{line}: not valid JSON: {problem}") from None
    except RecursionError:
        raise InputError(f"{where}: not valid JSON: {_TOO_DEEP}") from None
    except ValueError as error:
        raise InputError(f"{where}: not valid JSON: {error}") from None
    for name in dict.fromkeys(repeated):
        problem = f'the key "{name}" is given twice; the last value is used'
        warn_once(f"{where}: {problem}. Remove one of them")
    return value


def _slow_decoder(repeated: list[str], has_large: bool) -> json.JSONDecoder:
    """A strict decoder that adds keys which are given twice to `repeated`."""

    def collect(pairs: list[tuple[str, object]]) -> dict[str, object]:
        table = dict(pairs)
        if len(table) < len(pairs):
            names = [name for name, _ in pairs]
            repeated.extend(name for name in table if names.count(name) > 1)
        return table

    if not has_large:
        return json.JSONDecoder(object_pairs_hook=collect, parse_constant=_refuse_constant)
    return json.JSONDecoder(
        object_pairs_hook=collect,
        parse_constant=_refuse_constant,
        parse_int=_whole_number,
        parse_float=_finite_number,
    )


def _count_keys(value: object, deepest: int = _DEEPEST) -> int:
    """The keys of all objects in a value; ValueError where it is nested too deeply."""
    count = 0
    items: Iterable[object] = ()
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        count = len(table)
        items = table.values()
    elif isinstance(value, list):
        items = cast("list[object]", value)
    for item in items:
        if type(item) in _CONTAINERS:
            if deepest <= 1:
                raise ValueError(_TOO_DEEP)
            count += _count_keys(item, deepest - 1)
    return count


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not allowed in JSON; use null where a value is unknown")


def _whole_number(text: str) -> int | str:
    """Beyond 64 bits a whole number is an id and is kept as it is written."""
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a whole number of {len(text)} digits; write it as text")
    return int(text) if len(text) < 19 else text


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]} is too large")
    return number


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The table of TOML text; `where` names it in errors."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise SettingsError(f"{where}: not valid TOML: {error}") from None


def read_yaml(path: Path) -> object:
    """The plain values of a YAML file: it constructs no objects, and its aliases cannot explode."""
    import yaml

    text = read_text(path)
    try:
        return _YamlValues().convert(yaml.safe_load(text))
    # PyYAML wraps only some errors: `"\\U99999999"` is an OverflowError, `!!bool x` a KeyError.
    except Exception as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: not valid YAML: {problem}") from None


class _YamlValues:
    """Converts parsed YAML to what JSON can hold: keys and dates as text. Counts as it goes."""

    def __init__(self) -> None:
        self._count = 0

    def convert(self, value: object, depth: int = 0) -> object:
        self._count += 1
        if self._count > _MOST_YAML_VALUES or depth > _DEEPEST:
            raise ValueError(f"more than {_MOST_YAML_VALUES:,} values, or {_TOO_DEEP}")
        if is_mapping(value):
            return {_key_text(key): self.convert(item, depth + 1) for key, item in value.items()}
        if is_list(value):
            return [self.convert(item, depth + 1) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{value} is not allowed; use null where a value is unknown")
        if isinstance(value, int) and abs(value) >= 2**63:
            return _large_whole_number(value)
        if isinstance(value, (str, int, float, bool, type(None))):
            return value
        return str(value)


def _key_text(key: object) -> str:
    if isinstance(key, int) and not isinstance(key, bool) and abs(key) >= 2**63:
        return str(_large_whole_number(key))
    return str(key)


def _large_whole_number(value: int) -> int | str:
    # str() of a number of thousands of digits raises ValueError.
    if value.bit_length() > _MOST_DIGITS * 4:
        digits = int(value.bit_length() * math.log10(2))
        raise ValueError(f"a whole number of about {digits} digits; write it as text")
    return _whole_number(str(value))
