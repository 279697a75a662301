"""Replies kept on disk, one file each, under a hash of everything that shaped them.

A write is a rename, so a reader sees a whole entry or none. An entry that cannot be read is deleted and counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from pathlib import Path
from typing import Any, get_type_hints

from answerkey.llm.chat import Reply

FORMAT = 1
_SORTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_TYPES = get_type_hints(Reply)


def digest(*parts: Any) -> str:
    """One hash of plain values, whatever their order of keys."""
    return hashlib.sha256(_SORTED.encode(parts).encode()).hexdigest()


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
                return Reply(**{name: _typed(name, values[name]) for name in _TYPES})
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
        values = {name: getattr(reply, name) for name in _TYPES}
        entry = {"format": FORMAT, "key": key, "sum": digest(values), "reply": values}
        path = self._path(key)
        temporary = path.with_suffix(f".{threading.get_ident()}.{os.getpid()}.part")
        try:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(entry), "utf-8")
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
