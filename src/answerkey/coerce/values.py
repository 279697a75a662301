"""One value as people write it: text, a number, a list, earlier turns. A wrong shape is an error with its place."""

from __future__ import annotations

import ast
import contextlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from numbers import Real
from typing import TypeGuard, cast

import msgspec

from answerkey.errors import InputError
from answerkey.types import LARGEST, Turn

# `["a", "b` and `[1, 2` were meant as lists; `[1] See page 3`, `[Figure 3: the` and `[0, 1)` are texts.
_UNFINISHED_LIST = re.compile(r"""\[\s*(?:["'{]|[-\d.,\s]+$)""")
_PLAIN = (str, int, float, list, tuple, type(None))
_SEPARATOR = re.compile(r"[;,|]")
_DECIMAL_COMMA = re.compile(r"^\s*(-?\d+),(\d{1,2}|\d{4,})\s*$")  # three digits may be thousands
NO_VALUES = frozenset({"", "n/a", "na", "null", "none", "nan"})
_LARGEST_EXTRA = 20_000
_DEEPEST = 100


# What a cell of these columns may hold, for the messages.
_EXAMPLES = {
    "contexts": '["the text of a passage"]',
    "relevant": '["34", "manual.pdf#35"]',
    "retrieved": '["34", "12"]',
    "sources": '["manual.pdf"]',
    "history": '[{"user": "How long?", "answer": "30 days"}]',
    "answer_criteria": '{"must_contain": ["30 days"]}',
    "tags": '["refunds"]',
    "acceptable_routes": '["sales_kpi"]',
    "response_time": "1.5",
    "cost": "0.002",
    "prompt_tokens": "120",
    "completion_tokens": "40",
    "usage": '{"prompt_tokens": 120, "completion_tokens": 40}',
    "conversation": '[{"user": "How long?"}]',
    "sequence": '["And in June?"]',
    "messages": '[{"role": "user", "content": "How long?"}]',
    "expected": '["30 days", "one month"]',
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands, for the message of an error in it. A `live` place is the reply of a bot: there an optional
    number that is none is dropped, and a text with commas is one text."""

    file: str
    line: int = 0
    unit: str = "line"
    live: bool = False

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.line}" if self.line else self.file

    def error(self, column: str, found: object, expected: str, fix: str = "") -> InputError:
        example = (
            f"for example {_EXAMPLES[column]}" if column in _EXAMPLES and not self.live else ""
        )
        tail = f"; {fix or example}" if fix or example else ""
        return InputError(
            f'{self}, column "{column}": found {describe_value(found)}, expected {expected}{tail}'
        )


LIVE = Place("the target's reply", live=True)


def describe_value(value: object, most: int = 60) -> str:
    """The value as an error message quotes it, cut; an object that is not plain data by its type."""
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a whole number of more than 100 digits"
    if not isinstance(value, (str, int, float, list, tuple, dict, bool, type(None))):
        return f"an object of type {type(value).__name__}"
    try:
        text = repr(cast("object", value))
    except Exception:  # of what a bot puts into a list anything may be raised
        return f"an object of type {type(cast('object', value)).__name__}"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def valid_text(text: str) -> str:
    """Half characters (lone surrogates), which no file can hold, become `�`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def as_text(value: object, column: str, place: Place) -> str:
    """Text, stripped; a number is written as people write it; nothing is the empty text."""
    if isinstance(value, str):
        return valid_text(value).strip()
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise place.error(column, value, "text")
    return number_to_text(value)


def number_to_text(value: float) -> str:
    """`34` for 34 and for 34.0; a whole number of thousands of digits is cut."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if abs(value) <= LARGEST else describe_value(value)


def as_name(value: object, column: str, place: Place) -> str | None:
    """Text, or None where it is empty or "N/A"."""
    text = as_text(value, column, place)
    return None if has_no_value(text) else text


def has_no_value(text: str) -> bool:
    """Whether an id, page or route says that there is none: empty, `N/A`, `null`, `None`, `nan`."""
    return text.strip().lower() in NO_VALUES


def as_texts(value: object, column: str, place: Place) -> tuple[str, ...]:
    """One string or a list of strings; a cell with a list in it is read as that list. Null is none, "" is one empty string."""
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
    """The items of a list, of a list in a cell, or of a cell separated by `,` `;` `|`; one value is a list of one."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return []
    if isinstance(value, str):
        if value.strip().startswith(("[", "{", "(")):
            value = parse_literal(value, column, place)
            if isinstance(value, str):
                if place.live:
                    return [value]
                raise place.error(column, value, "a JSON list or a Python list")
        elif not place.live:
            return [part for part in _SEPARATOR.split(value) if part.strip()]
    if is_list(value):
        return list(value)
    if is_set(value):
        return sorted(value, key=str)
    return [value]


def unpack_list(value: object, column: str, place: Place) -> object:
    """A list that is written in a text cell, or else the value as it is; a list that was begun and not ended is an error."""
    if not isinstance(value, str) or not value.strip().startswith("["):
        return value
    listed = parse_literal(value, column, place)
    if is_list(listed):
        return listed
    if not place.live and _UNFINISHED_LIST.match(value.strip()):
        raise place.error(column, value, "a JSON list or a Python list")
    return value


def is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    # The usual types first: an abstract class takes ten times as long.
    return isinstance(value, dict) or (not isinstance(value, _PLAIN) and isinstance(value, Mapping))


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
    if type(value) is float and abs(value) <= LARGEST:
        return value
    if value is None or (isinstance(value, str) and has_no_value(value)):
        return None
    number = math.nan
    if is_number(value) or isinstance(value, str):
        with contextlib.suppress(ValueError, OverflowError):
            number = float(_DECIMAL_COMMA.sub(r"\1.\2", value) if isinstance(value, str) else value)
    if math.isfinite(number) and abs(number) <= LARGEST:
        return number
    if place.live:
        return None
    raise place.error(column, value, "a finite number" if isinstance(value, float) else "a number")


def as_amount(value: object, column: str, place: Place) -> float | None:
    """A time or a cost; below zero means unknown, as many logs write it."""
    number = as_number(value, column, place)
    return None if number is None or number < 0 else number


def as_count(value: object, column: str, place: Place) -> int | None:
    amount = as_amount(value, column, place)
    return None if amount is None else int(amount)


def as_truth(value: object, column: str, place: Place) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in {"true", "yes", "1", "false", "no", "0", ""}:
        return text in {"true", "yes", "1"}
    raise place.error(column, value, "true or false")


def as_turns(value: object, column: str, place: Place) -> tuple[Turn, ...]:
    """Earlier turns: `{user, answer}`, `{role, content}`, `{type, content}`, `{from, value}`, pairs, or the user's lines."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        value = parse_literal(value, column, place)
    if not is_list(value):
        raise place.error(column, value, "a list of earlier turns")
    turns: list[Turn] = []
    for item in value:
        if is_mapping(item) and (role := item.get("role", item.get("type", item.get("from")))):
            content = as_text(message_text(item.get("content", item.get("value"))), column, place)
            if role in ("assistant", "ai", "gpt") and turns:
                turns[-1] = Turn(turns[-1].user, content or turns[-1].answer)
            elif role in ("user", "human"):
                turns.append(Turn(content))
        elif is_mapping(item):
            user = item.get("user", item.get("question"))
            turns.append(
                Turn(as_text(user, column, place), as_text(item.get("answer"), column, place))
            )
        elif is_list(item) and len(item) == 2:
            user, answer = item
            turns.append(Turn(as_text(user, column, place), as_text(answer, column, place)))
        else:
            turns.append(Turn(as_text(item, column, place)))
    return tuple(turns)


def message_text(content: object) -> object:
    """The text of a chat message, whose content may be a list of parts: `[{"type": "text", "text": "How long?"}]`."""
    if not is_list(content):
        return content
    texts = (
        part.get("text") if is_mapping(part) else getattr(part, "text", None) for part in content
    )
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def parse_literal(cell: str, column: str, place: Place) -> object:
    """The value of a text that is JSON or a Python literal, or else the text; one nested too deeply is an error."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(cell.strip())
        except (ValueError, SyntaxError, TypeError):
            pass
        except (MemoryError, RecursionError):
            if not place.live:
                raise place.error(column, cell, "a list", "it is nested too deeply") from None
    return cell


def plain_json(extra: Mapping[str, object]) -> dict[str, object]:
    """Only what strict JSON can hold; anything else, or what is huge, as the beginning of its text."""
    plain: dict[str, object] = {}
    for key, value in extra.items():
        try:
            text = valid_text(json.dumps(value, allow_nan=False, ensure_ascii=False))
            held = json.loads(text) if len(text) <= _LARGEST_EXTRA else text[:_LARGEST_EXTRA]
        except (TypeError, ValueError, RecursionError, OverflowError):
            held = valid_text(str(fallback_text(value)))[:_LARGEST_EXTRA]
        plain[valid_text(str(key))] = held
    return plain


def json_value(value: object, depth: int = 0) -> object:
    """The value as strict JSON has it: NaN and infinities as null; dates, bytes, huge whole numbers as text.

    >>> json_value({"rates": [0.5, float("inf")]})
    {'rates': [0.5, None]}
    """
    if (
        isinstance(value, str | bool)
        or value is None
        or (isinstance(value, int) and abs(value) < 2**63)
    ):
        return value
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
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
        return float(value) if isinstance(value, float) else str(value)
    except Exception:  # a user's object may raise anything; a whole number may have too many digits
        return describe_value(value)
