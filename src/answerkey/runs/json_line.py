"""A record as one line of JSON and back: the fast library for the usual, the standard one for what it refuses."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

from answerkey.types import Json

_slow = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str).encode
_slow_sorted = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str, sort_keys=True
).encode


def encode(record: Any) -> bytes:
    """Compact UTF-8 without a line end; NaN is null, and what JSON has no form for is written as its text."""
    try:
        return orjson.dumps(record, _plain)
    except TypeError:  # half a character, a number past 64 bits, a key that is no text
        return _slow(_finite(record)).encode("utf-8", "surrogatepass")


def encode_sorted(record: Any) -> bytes:
    """The same for equal records, whatever the order of their keys."""
    try:
        return orjson.dumps(record, _plain, orjson.OPT_SORT_KEYS)
    except TypeError:
        return _slow_sorted(_finite(record)).encode("utf-8", "surrogatepass")


def decode(line: bytes) -> Json:
    try:
        return orjson.loads(line)
    except ValueError:
        return json.loads(line)


def _finite(value: Any) -> Any:
    """NaN and infinities as null, at any depth, as the fast library writes them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, float) else str(value)
