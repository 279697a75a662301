"""Replies of a model, kept on disk."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from answerkey.background import start_thread
from answerkey.cache import DiskCache, cache_folder
from answerkey.llm.chat import Reply

# Seconds. A write of its own for every reply took as long as the rest of the call (benchmarks/judge.py at 200 at once).
# A kill may lose this much of the replies, which are then asked for again.
_BETWEEN_WRITES = 0.25


class ReplyCache:
    """Replies kept on disk, under a hash of everything that shaped them; those of a moment are written together."""

    def __init__(self, folder: Path | None = None) -> None:
        self._disk = DiskCache((folder or cache_folder()) / "replies.sqlite")
        self._unwritten: dict[bytes, bytes] = {}
        self._waiting = False
        self._lock = threading.RLock()

    def get(self, key: str) -> Reply | None:
        waiting = self._unwritten.get(key.encode())
        for value in [waiting] if waiting else self._disk.get([key.encode()]).values():
            with suppress(msgspec.MsgspecError, ValueError):
                return msgspec.json.decode(value, type=Reply)
        return None

    def put(self, key: str, reply: Reply) -> None:
        # A reply with half a surrogate pair cannot be encoded: it is not kept, and asked for again.
        with suppress(ValueError), self._lock:
            self._unwritten[key.encode()] = msgspec.json.encode(reply)
            if not self._waiting:
                self.write()
                self._waiting = True
                start_thread(self._write_later)

    def write(self) -> None:
        with self._lock:
            values = self._unwritten
            self._unwritten = {}
            if values:
                self._disk.put(values)

    def _write_later(self) -> None:
        time.sleep(_BETWEEN_WRITES)
        with self._lock:
            self._waiting = False
            self.write()

    def drop(self, key: str) -> None:
        self.write()
        self._disk.drop(key.encode())
