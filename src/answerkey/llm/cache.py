"""Replies kept on disk, one file each, under a hash of everything that shaped them.

A write is a rename, so a reader sees a whole entry or none. An entry that cannot be read is deleted and counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, get_type_hints

from answerkey.llm.base import Reply

FORMAT = 1
_TYPES = get_type_hints(Reply)


def digest(*parts: Any) -> str:
    """One hash of plain values, whatever their order of keys."""
    written = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()


def cache_folder() -> Path:
    given = os.environ.get("ANSWERKEY_CACHE")
    return (Path(given) if given else Path.home() / ".cache" / "answerkey") / "replies"


class ReplyCache:
    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or cache_folder()
        self._usable = True

    def get(self, key: str) -> Reply | None:
        path = self._path(key)
        try:
            entry = json.loads(path.read_text("utf-8"))
            values = entry["reply"]
            if entry["format"] == FORMAT and entry["key"] == key and entry["sum"] == digest(values):
                return Reply(**{f.name: _typed(f.name, values[f.name]) for f in fields(Reply)})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass
        self.drop(key)
        return None

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply. A cache that cannot be written is no reason to stop: it is then left alone."""
        if not self._usable:
            return
        values = asdict(reply)
        entry = {"format": FORMAT, "key": key, "sum": digest(values), "reply": values}
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
            with open(handle, "w", encoding="utf-8") as file:
                json.dump(entry, file)
            os.replace(temporary, path)
        except OSError:
            self._usable = False

    def drop(self, key: str) -> None:
        with contextlib.suppress(OSError):
            self._path(key).unlink()

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


def _typed(name: str, value: Any) -> Any:
    if not isinstance(value, _TYPES[name]):
        raise TypeError(name)
    return value
