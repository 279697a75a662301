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
_ASIDE = re.compile(r"\..+\.(\d+)\.[0-9a-f]{8}")


def write_file(path: Path, content: str | bytes, durable: bool = True) -> None:
    """Write all of `content` or nothing; with `durable` it is on the disk when this returns."""
    with _replacing(path) as file:
        file.write(
            content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
        )
        if durable:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def replace_file(path: Path) -> Generator[IO[str]]:
    """A text file to write to; it takes the place of `path` when the block ends, and is dropped when it fails."""
    with _replacing(path) as raw:
        file = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            yield file
        finally:
            file.detach()  # flushes; the file itself is closed by whoever opened it


@contextmanager
def _replacing(path: Path) -> Generator[IO[bytes]]:
    """A reader, or the next run after a crash, sees the old file or the new one, never part of it.

    Where the system can, the new file has no name until it is complete, so a killed process leaves nothing behind.
    """
    aside = path.with_name(f".{path.name[:80]}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        named = _open_nameless(path.parent)
        with named or aside.open("xb") as file:
            yield file
            file.flush()
            if not named or not _linked(file, path):
                _ = named and _linked(file, aside)
                os.replace(aside, path)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            aside.unlink()


def _linked(file: IO[bytes], path: Path) -> bool:
    """Whether the file without a name now has this one; no other file is replaced."""
    descriptor = (
        file.fileno()
    )  # src_dir_fd makes Python follow the link of /proc to the file itself
    try:
        os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor, follow_symlinks=True)
    except FileExistsError:
        return False
    return True


def remove_strays(folder: Path) -> None:
    """Remove what a process that was killed between two steps of a replacement left in a folder."""
    for path in folder.rglob(".*") if Path("/proc/self").exists() else ():
        left = _ASIDE.fullmatch(path.name)
        if (
            left and not Path("/proc", left[1]).exists()
        ):  # else the process that writes it still runs
            path.unlink(missing_ok=True)


def _open_nameless(folder: Path) -> IO[bytes] | None:
    """A file of the folder without a name; None where the system has none."""
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666), "wb")
    except OSError:
        return None


def json_line(value: object, sort: bool = False) -> bytes:
    """Compact JSON without a line end; what JSON has no form for becomes its text, NaN and infinity become null.

    With `sort`, equal values give equal bytes whatever the order of their keys.
    """
    try:
        return (_SORTED if sort else _FAST).encode(value)
    except (
        TypeError,
        ValueError,
        RecursionError,
    ):  # half a surrogate pair, a key that is not a string
        return (
            (_SLOW_SORTED if sort else _SLOW)
            .encode(json_value(value))
            .encode("utf-8", "backslashreplace")
        )


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


def read_as(line: bytes, kind: type[T]) -> T:
    """The value of a JSON text, its types checked; ValueError where they differ."""
    try:
        return _decoder(kind).decode(line)
    except (ValueError, RecursionError):  # half a surrogate pair, or damage
        return msgspec.convert(read_json(line), kind)


@cache
def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(kind)


def _finite(written: str) -> float:
    if not math.isfinite(number := float(written)):
        raise ValueError(f"{written[:20]} is no number of JSON")
    return number


_FAST = msgspec.json.Encoder(enc_hook=fallback_text)
_SORTED = msgspec.json.Encoder(enc_hook=fallback_text, order="deterministic")
_SLOW, _SLOW_SORTED = (
    json.JSONEncoder(
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
        default=fallback_text,
        sort_keys=sort,
    )
    for sort in (False, True)
)
