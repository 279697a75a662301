"""Files that are whole or absent, and strict JSON: no NaN, always valid UTF-8.

write_file(folder / "summary.json", json_text({"passed": 3}))
read_json(json_line({"score": float("nan")}))      # {"score": None}
"""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from answerkey.coerce.values import fallback_text, json_value
from answerkey.errors import StorageError

T = TypeVar("T")
# `.NAME.PROCESS.RANDOM`: the names of files that are still being written.
_ASIDE = re.compile(r"\..+\.(\d+)\.[0-9a-f]{8}")


def write_file(path: Path, content: str | bytes, durable: bool = True) -> None:
    """Write all of `content` or nothing; with `durable` it is on the disk when this returns."""
    if isinstance(content, str):
        # An answer may hold half a surrogate pair, which UTF-8 cannot write.
        content = content.encode("utf-8", "backslashreplace")
    with _replacing(path) as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def replace_file(path: Path) -> Generator[IO[str]]:
    """A text file to write to; it replaces `path` when the block ends without an error."""
    with _replacing(path) as raw:
        file = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            yield file
        finally:
            file.detach()  # flushes; the file itself is closed by whoever opened it


@contextmanager
def _replacing(path: Path) -> Generator[IO[bytes]]:
    """A reader, also after a crash, sees the old file or the new one, never part of it."""
    # The name holds the process, so that `remove_strays` can tell a file that is still written.
    aside = path.with_name(f".{path.name[:80]}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with aside.open("xb") as file:
            yield file
        os.replace(aside, path)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            aside.unlink()


def remove_strays(folder: Path) -> None:
    """Remove temporary files that a killed process left in a folder."""
    processes = Path("/proc")
    if not (processes / "self").exists():
        return  # without /proc nobody knows whether the process still runs
    for path in folder.rglob(".*"):
        name = _ASIDE.fullmatch(path.name)
        if name and not (processes / name[1]).exists():
            path.unlink(missing_ok=True)


def json_line(value: object, sort: bool = False) -> bytes:
    """Compact JSON without a line end; NaN and infinity become null, other objects their text.

    With `sort`, equal values give equal bytes whatever the order of their keys.
    """
    # msgspec refuses half a surrogate pair, which a bot may return; the standard library does not.
    encoder = _SORTED if sort else _FAST
    try:
        return encoder.encode(value)
    except (TypeError, ValueError, RecursionError):
        pass  # half a surrogate pair, or a key that is not a string
    slow_encoder = _SLOW_SORTED if sort else _SLOW
    return slow_encoder.encode(json_value(value)).encode("utf-8", "backslashreplace")


def json_text(value: object, indent: int = 1) -> str:
    """JSON for people and programs, with a line end; raises ValueError for NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=str) + "\n"


def read_json(line: bytes | str) -> Any:
    """The value of a JSON text; ValueError where it is none, or holds NaN or infinity."""
    try:
        return msgspec.json.decode(line)
    except (ValueError, RecursionError):  # half a surrogate pair
        pass
    try:
        return json.loads(line, parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_as(line: bytes | str, kind: type[T]) -> T:
    """The value of a JSON text, its types checked; ValueError where they differ."""
    try:
        return _decoder(kind).decode(line)
    except (ValueError, RecursionError):  # half a surrogate pair, or damage
        return msgspec.convert(read_json(line), kind)


@cache
def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(kind)


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(f"{written[:20]} is no number of JSON")
    return number


_FAST = msgspec.json.Encoder(enc_hook=fallback_text)
_SORTED = msgspec.json.Encoder(enc_hook=fallback_text, order="deterministic")


def _slow_encoder(sort: bool) -> json.JSONEncoder:
    return json.JSONEncoder(
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
        default=fallback_text,
        sort_keys=sort,
    )


_SLOW = _slow_encoder(sort=False)
_SLOW_SORTED = _slow_encoder(sort=True)
