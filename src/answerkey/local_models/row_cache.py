"""Rows of numbers that a model computed, kept in memory and on disk."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from answerkey.cache import DiskCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]

Key = TypeVar("Key", bound=str | tuple[str, ...])


class RowCache(Generic[Key]):
    """The row of each key, in memory and, with a `store`, on disk; `most` rows are kept in memory.

    `model` names the weights, `is_whole` says whether a row from the disk can be used. Safe with several threads.
    """

    def __init__(
        self, model: str, store: DiskCache | None, is_whole: Callable[[Row], bool], most: int
    ) -> None:
        self._model = model
        self.store = store
        self._is_whole = is_whole
        self._most = most
        self._memory: OrderedDict[Key, Row] = OrderedDict()
        self._lock = threading.Lock()

    def rows(
        self, keys: Sequence[Key], compute: Callable[[Sequence[Key]], Iterable[Row]], at_once: int
    ) -> list[Row]:
        """A row per key; missing ones are computed, `at_once` at a time, and stored after each round."""
        with self._lock:
            rows = {key: self._memory[key] for key in keys if key in self._memory}
        missing = [key for key in dict.fromkeys(keys) if key not in rows]
        if missing:
            rows |= self._read_store(missing)
            missing = [key for key in missing if key not in rows]
        for start in range(0, len(missing), at_once):
            part = missing[start : start + at_once]
            computed = dict(zip(part, compute(part), strict=True))
            self._write_store(computed)
            rows |= computed
        self._remember(rows)
        return [rows[key] for key in keys]

    def _read_store(self, keys: Sequence[Key]) -> dict[Key, Row]:
        if self.store is None:
            return {}
        import numpy as np

        by_digest = {self._digest(key): key for key in keys}
        rows: dict[Key, Row] = {}
        for digest, content in self.store.get(list(by_digest)).items():
            # Four bytes per number; anything else is a damaged entry, and is computed again.
            if len(content) % 4 == 0:
                row = np.frombuffer(content, "<f4")
                if self._is_whole(row):
                    rows[by_digest[digest]] = row
        return rows

    def _write_store(self, rows: dict[Key, Row]) -> None:
        if self.store is not None:
            self.store.put(
                {self._digest(key): row.astype("<f4").tobytes() for key, row in rows.items()}
            )

    def _remember(self, rows: dict[Key, Row]) -> None:
        with self._lock:
            for key, row in rows.items():
                self._memory[key] = row
                self._memory.move_to_end(key)
            while len(self._memory) > self._most:
                self._memory.popitem(last=False)

    def _digest(self, key: Key) -> bytes:
        parts = (key,) if isinstance(key, str) else key
        # A character that no text has between the parts: ("ab", "c") and ("a", "bc") are two keys.
        text = "\0".join((self._model, *parts))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).digest()
