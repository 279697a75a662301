"""JSON objects as models write them: in prose, in fences, with comments, single quotes, trailing commas.

`find_objects` gives every object of a text in order. An object is read strictly where it can be, and otherwise token by token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

_START = re.compile(r"""\{\s*(?:["'“‘`\w/#*}])""")
_STRICT = json.JSONDecoder(strict=False)  # strict=False: raw newlines in strings are read
_MOST_STARTS = 300  # that are no object, before only the tail of the text is looked at
_TAIL = 20_000
_COST_OF_LONG = 30  # a start that was followed far in vain counts as so many
_LONGEST_LOOSE = 20_000

# What may follow a closing quote; a quote before anything else belongs to the text.
_AFTER = r"(?=\s*(?:[,:}\]]|//|/\*|$))"
_TOKEN = re.compile(
    r"(?P<skip>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)"
    r"|(?P<mark>[{}\[\]:,])"
    rf"|(?P<string>\"(?:\\.|[^\"\\]|\"(?!{_AFTER}))*+\"|'(?:\\.|[^'\\]|'(?!{_AFTER}))*+'|“[^”]*”|‘[^’]*’|`[^`]*`)"
    r"|(?P<amount>[-+]?\d+(?:[.,]\d+)?\s*(?:%|(?:/|out\s+of)\s*\d+(?:[.,]\d+)?)|[-+]?\d+,\d+(?=\s*[,}]))"
    r"|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<word>[^\W\d][\w-]*)",
    re.DOTALL,
)
_WORDS = {"true": True, "false": False, "null": None, "none": None}


@dataclass(frozen=True, slots=True)
class PlacedObject:
    """One object of the text, and where it stands."""

    value: dict[str, object]
    start: int
    end: int


class TooLong(ValueError):
    """No object within the length that is read loosely."""


class Unclosed(Exception):
    """The text ended inside the object that starts at `start`."""

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.start = start


def find_objects(text: str) -> tuple[list[PlacedObject], int | None]:
    """The objects from left to right, none inside another, and where one starts that the text's end cuts off."""
    objects: list[PlacedObject] = []
    place = misses = 0
    while match := _START.search(text, place):
        try:
            value, place = _read(text, match.start())
            objects.append(PlacedObject(value, match.start(), place))
        except Unclosed as error:
            return objects, error.start
        except ValueError as error:
            tail = misses >= _MOST_STARTS
            misses += _COST_OF_LONG if isinstance(error, TooLong) else 1
            place = match.start() + 1
            if misses >= _MOST_STARTS and not tail:
                place = max(place, len(text) - _TAIL)
            elif misses > 10 * _MOST_STARTS:
                break
    return objects, None


def _read(text: str, start: int) -> tuple[dict[str, object], int]:
    try:
        value, end = _STRICT.raw_decode(text, start)
        return value, end
    except RecursionError:
        raise ValueError("nested too deep") from None
    except ValueError:
        return _read_loosely(text, start)


def _read_loosely(text: str, start: int) -> tuple[dict[str, object], int]:
    piece = text[start : start + _LONGEST_LOOSE]
    tokens = _tokens(piece)
    next(tokens)
    try:
        value, end = _object(tokens, 1)
    except StopIteration:
        if len(piece) < len(text) - start:
            raise TooLong from None
        raise Unclosed(start) from None
    return value, start + end


Token = tuple[str, object, int]


def _tokens(piece: str) -> Iterator[Token]:
    place = 0
    while place < len(piece):
        match = _TOKEN.match(piece, place)
        if match is None:
            if piece[place] in "\"'“‘`":  # a string that nothing closes
                yield "open", None, len(piece)
                return
            raise ValueError(f"unexpected {piece[place]!r}")
        place = match.end()
        kind = match.lastgroup or ""
        if kind != "skip":
            yield kind, _plain(kind, match[0]), place


def _plain(kind: str, written: str) -> object:
    if kind == "string":
        inner = re.sub(r'(?<!\\)"', r"\"", written[1:-1].replace("\\'", "'"))
        try:
            return _STRICT.decode(f'"{inner}"')
        except ValueError:
            return written[1:-1]
    if kind == "number":
        if re.fullmatch(r"[-+]?\d{1,18}", written):
            return int(written)
        return float(written)
    if kind == "word":
        return _WORDS.get(written.lower(), written)
    return written


def _object(tokens: Iterator[Token], depth: int) -> tuple[dict[str, object], int]:
    """The pairs up to the closing brace; a comma may be missing or one too many."""
    value: dict[str, object] = {}
    while True:
        kind, key, end = next(tokens)
        if (kind, key) == ("mark", "}"):
            return value, end
        if (kind, key) == ("mark", ","):
            continue
        if kind == "open":
            raise StopIteration
        if kind not in {"string", "word", "number"} or next(tokens)[:2] != ("mark", ":"):
            raise ValueError("expected a key")
        value[str(key)] = _value(tokens, next(tokens), depth)


def _array(tokens: Iterator[Token], depth: int) -> list[object]:
    values: list[object] = []
    while True:
        token = next(tokens)
        if token[:2] == ("mark", "]"):
            return values
        if token[:2] != ("mark", ","):
            values.append(_value(tokens, token, depth))


def _value(tokens: Iterator[Token], token: Token, depth: int) -> object:
    kind, plain, _ = token
    if depth > 50:
        raise ValueError("nested too deep")
    if kind == "open":
        raise StopIteration
    if kind != "mark":
        return plain
    if plain == "{":
        return _object(tokens, depth + 1)[0]
    if plain == "[":
        return _array(tokens, depth + 1)
    raise ValueError(f"unexpected {plain!r}")
