"""One value as people write it: text, a number, a list.

A wrong shape is an error that names its place.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from numbers import Real
from typing import TypeGuard, cast

import msgspec

from answerkey.errors import InputError
from answerkey.types import LARGEST

# `["a", "b` and `[1, 2` were meant as lists; `[1] See page 3` and `[0, 1)` are texts.
_UNFINISHED_LIST = re.compile(r"""\[\s*(?:["'{]|[-\d.,\s]+$)""")
_PLAIN = (str, int, float, list, tuple, type(None))
_SEPARATOR = re.compile(r"[;,|]")
_DECIMAL_COMMA = re.compile(r"^\s*(-?\d+),(\d{1,2}|\d{4,})\s*$")  # three digits may be thousands
NO_VALUES = frozenset({"", "n/a", "na", "null", "none", "nan"})
_COLUMN_NAME = re.compile(r"\w+")
_LARGEST_EXTRA = 20_000
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a value, for messages about it.

    A `live` place is the reply of a bot: there an optional number that cannot be read is dropped,
    and a text with commas is one text. `names` are the file's own names of our columns.
    """

    file: str
    line: int = 0
    unit: str = "line"
    live: bool = False
    names: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)

    def __str__(self) -> str:
        if self.line:
            return f"{self.file}, {self.unit} {self.line}"
        return self.file

    def error(self, column: str, value: object, expected: str, fix: str = "") -> InputError:
        """An error in a cell, which names the column as the file writes it."""
        from answerkey.coerce.columns import EXAMPLES  # low-level packages need no table of names

        if not fix and not self.live and column in EXAMPLES:
            fix = f"for example {EXAMPLES[column]}"
        tail = f"; {fix}" if fix else ""
        # Parts of a cell are named `answer_criteria.regex` and `criteria[2]`.
        name, rest = _split_name(column)
        written = self.names.get(name, name) + rest
        found = describe_value(value)
        return InputError(f'{self}, column "{written}": found {found}, expected {expected}{tail}')


def _split_name(column: str) -> tuple[str, str]:
    match = _COLUMN_NAME.match(column)
    name = match[0] if match else column
    return name, column[len(name) :]


LIVE = Place("the target's reply", live=True)


def describe_value(value: object, most: int = 60) -> str:
    """The value as an error message quotes it, cut; an object of another kind by its type."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a whole number of more than 100 digits"
    kind = type(value).__name__
    if not isinstance(value, (str, int, float, list, tuple, dict, bool, type(None))):
        return f"an object of type {kind}"
    try:
        text = repr(cast("object", value))
    except Exception:  # an object that a bot puts into a list may raise anything
        return f"an object of type {kind}"
    if len(text) <= most:
        return text
    return f"{text[: most - 3]}..."


def valid_text(text: str) -> str:
    """Half characters (lone surrogates), which no file can hold, become `�`."""
    # Nearly all texts are ASCII, and encoding each of them takes longer than this look.
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def as_text(value: object, column: str, place: Place) -> str:
    """Text, stripped; a number is written as people write it; nothing is the empty text."""
    if isinstance(value, str):
        return valid_text(value).strip()
    if value is None:
        return ""
    # True is an int in Python, but "True" is no text of the user's.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise place.error(column, value, "text")
    return number_to_text(value)


def number_to_text(value: float) -> str:
    """`34` for 34 and for 34.0; a whole number of thousands of digits is cut."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if abs(value) > LARGEST:
        return describe_value(value)
    return str(value)


def as_name(value: object, column: str, place: Place) -> str | None:
    """Text, or None where it is empty or "N/A"."""
    text = as_text(value, column, place)
    return None if has_no_value(text) else text


def has_no_value(text: str) -> bool:
    """Whether an id, page or route says that there is none: empty, `N/A`, `null`, `None`, `nan`."""
    return text.strip().lower() in NO_VALUES


def as_texts(value: object, column: str, place: Place) -> tuple[str, ...]:
    """One string or a list of strings; a cell with a list in it is read as that list.

    Null is no string; "" is one empty string.
    """
    if value is None:
        return ()
    value = unpack_list(value, column, place)
    if is_list(value):
        return tuple(as_text(item, column, place) for item in value)
    return (as_text(value, column, place),)


def as_list(value: object, column: str, place: Place) -> tuple[str, ...]:
    """A list of short texts: a real list, a list in a cell, or separated by `,` `;` `|`."""
    return tuple(as_text(item, column, place) for item in items_of(value, column, place))


def items_of(value: object, column: str, place: Place) -> list[object]:
    """The items of a list, of a list in a cell, or of a cell separated by `,` `;` `|`.

    One value of another kind is a list of one.
    """
    if value is None:
        return []
    if isinstance(value, str):
        return _items_of_text(value, column, place)
    if is_list(value):
        return list(value)
    if is_set(value):
        # A set has no order; sorting makes every run the same.
        return sorted(value, key=str)
    return [value]


def _items_of_text(cell: str, column: str, place: Place) -> list[object]:
    text = cell.strip()
    if not text:
        return []
    if not text.startswith(("[", "{", "(")):
        # A bot's text with commas is one text; a cell with commas is a list.
        if place.live:
            return [cell]
        return [part for part in _SEPARATOR.split(cell) if part.strip()]
    value = parse_literal(cell, column, place)
    if isinstance(value, str) and not place.live:
        raise place.error(column, value, "a JSON list or a Python list")
    if isinstance(value, str):
        return [value]
    return items_of(value, column, place)


def unpack_list(value: object, column: str, place: Place) -> object:
    """A list that is written in a text cell, or else the value as it is.

    A list that was begun and not ended is an error.
    """
    if not isinstance(value, str) or not value.strip().startswith("["):
        return value
    items = parse_literal(value, column, place)
    if is_list(items):
        return items
    if not place.live and _UNFINISHED_LIST.match(value.strip()):
        raise place.error(column, value, "a JSON list or a Python list")
    return value


def is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    # The usual types first: an abstract class takes ten times as long.
    if isinstance(value, dict):
        return True
    return not isinstance(value, _PLAIN) and isinstance(value, Mapping)


def table_of(value: object) -> Mapping[str, object]:
    """The value where it has named values, else an empty table."""
    return value if is_mapping(value) else {}


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Whether it is a list or a tuple."""
    return isinstance(value, (list, tuple))


def is_set(value: object) -> TypeGuard[AbstractSet[object]]:
    return isinstance(value, (set, frozenset))


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number of any kind, numpy's included; true and false are not."""
    return not isinstance(value, bool) and isinstance(value, (float, int, Real))


def as_number(value: object, column: str, place: Place) -> float | None:
    """A finite number, also when written as text; None where there is none."""
    # The usual case first: files have millions of scores.
    if type(value) is float and abs(value) <= LARGEST:
        return value
    if value is None or (isinstance(value, str) and has_no_value(value)):
        return None
    number = _parse_number(value)
    if math.isfinite(number) and abs(number) <= LARGEST:
        return number
    if place.live:
        # A bot's optional number must not make its answer an error.
        return None
    raise place.error(column, value, "a finite number" if isinstance(value, float) else "a number")


def _parse_number(value: object) -> float:
    """The number that a value is or writes; NaN where it is none."""
    if isinstance(value, str):
        value = _DECIMAL_COMMA.sub(r"\1.\2", value)
    elif not is_number(value):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def as_amount(value: object, column: str, place: Place) -> float | None:
    """A time or a cost; below zero means unknown, as many logs write it."""
    number = as_number(value, column, place)
    if number is None or number < 0:
        return None
    return number


def as_count(value: object, column: str, place: Place) -> int | None:
    amount = as_amount(value, column, place)
    return None if amount is None else int(amount)


def as_truth(value: object, column: str, place: Place) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in {"true", "yes", "1"}:
        return True
    if text in {"false", "no", "0", ""}:
        return False
    raise place.error(column, value, "true or false")


def message_text(content: object) -> object:
    """The text of a chat message, whose content may be a list of parts.

    >>> message_text([{"type": "text", "text": "How long?"}])
    'How long?'
    """
    if not is_list(content):
        return content
    texts = (_part_text(part) for part in content)
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _part_text(part: object) -> object:
    if is_mapping(part):
        return part.get("text")
    return getattr(part, "text", None)


def parse_literal(cell: str, column: str, place: Place) -> object:
    """The value of a text that is JSON or a Python literal, or else the text.

    One that is nested too deeply is an error.
    """
    # JSON first, as it is faster; Python's literals have single quotes and None.
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(cell.strip())
        except (ValueError, SyntaxError, TypeError):
            pass
        except (MemoryError, RecursionError):
            if not place.live:
                raise place.error(column, cell, "a list", "it is nested too deeply") from None
    return cell


def plain_json(extra: Mapping[str, object]) -> dict[str, object]:
    """The values as strict JSON holds them; other and huge values as the start of their text."""
    return {valid_text(str(key)): _plain_json_value(value) for key, value in extra.items()}


def _plain_json_value(value: object) -> object:
    try:
        text = valid_text(json.dumps(value, allow_nan=False, ensure_ascii=False))
        if len(text) > _LARGEST_EXTRA:
            return text[:_LARGEST_EXTRA]
        # Read back, so that the value holds plain types only, whatever classes it had.
        return json.loads(text)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return valid_text(str(fallback_text(value)))[:_LARGEST_EXTRA]


def json_value(value: object, depth: int = 0) -> object:
    """The value as strict JSON has it: NaN as null; dates, bytes and huge numbers as text.

    >>> json_value({"rates": [0.5, float("inf")]})
    {'rates': [0.5, None]}
    """
    if isinstance(value, str | bool) or value is None:
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, float):
        if math.isfinite(value):
            # numpy's floats are floats too; JSON gets a plain one.
            return float(value)
        return None
    if is_mapping(value):
        return {str(fallback_text(key)): json_value(item, depth + 1) for key, item in value.items()}
    if is_list(value):
        return [json_value(item, depth + 1) for item in value]
    if isinstance(value, msgspec.Struct):
        return json_value(msgspec.structs.asdict(value), depth + 1)
    return fallback_text(value)


def fallback_text(value: object) -> float | str:
    """The text of what JSON has no form for; a float of numpy's is a float."""
    try:
        if isinstance(value, float):
            return float(value)
        return str(value)
    except Exception:  # a user's object may raise anything; a whole number may have too many digits
        return describe_value(value)
