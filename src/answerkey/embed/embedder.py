"""What an embedder is, what its vectors must be, and an embedder that remembers them."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from answerkey.cache import DiskCache
from answerkey.errors import EndpointError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """`digest` names the weights by their content; with `precision` it says whether two runs used one model."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...

    @property
    def precision(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A row of length 1 for each text, in order, as float32; (0, dimension) for no text."""
        ...


def unit_rows(given: object, count: int, dimension: int | None, source: str) -> Vectors:
    """The vectors as float32 rows of length 1, or an error that names `source` and what is wrong with them."""
    import numpy as np

    try:
        rows = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError):
        raise EndpointError(f"{source} returned something that is not a list of number lists of one length") from None
    if rows.ndim != 2 or len(rows) != count:
        raise EndpointError(f"{source} returned vectors of shape {rows.shape} for {count} texts")
    if dimension is not None and rows.shape[1] != dimension:
        raise EndpointError(
            f"{source} returned vectors of dimension {rows.shape[1]}, expected {dimension}: is it another model?"
        )
    if not np.isfinite(rows).all():
        raise EndpointError(f"{source} returned a vector with NaN or infinite numbers: its weights may be damaged")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if (lengths < 1e-12).any():
        raise EndpointError(f"{source} returned a zero vector: it has no direction to compare")
    return rows / lengths


KEPT_IN_MEMORY = 20_000
# What is computed between two writes to disk: an interrupted run loses no more.
TEXTS_PER_WRITE = 2_048
Key = TypeVar("Key", bound=str | tuple[str, ...])


class RowCache(Generic[Key]):
    """What a model gave for each key, in memory and, with a `store`, on disk; `most` rows are kept in memory.

    `name` has the model, `is_whole` says whether a row from the disk can be used. Safe with several threads.
    """

    def __init__(self, name: str, store: DiskCache | None, is_whole: Callable[[Vectors], bool], most: int) -> None:
        self._name, self.store, self._is_whole, self._most = name, store, is_whole, most
        self._memory: OrderedDict[Key, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, keys: Sequence[Key], compute: Callable[[Sequence[Key]], Vectors], at_once: int) -> list[Vectors]:
        """A row per key; those that are not known are computed, `at_once` at a time."""
        with self._lock:
            found = {key: self._memory[key] for key in keys if key in self._memory}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing and self.store:
            found |= self._stored(self.store, missing)
            missing = [key for key in missing if key not in found]
        for start in range(0, len(missing), at_once):
            part = missing[start : start + at_once]
            new = dict(zip(part, compute(part), strict=True))
            if self.store:
                self.store.put({self._digest(key): row.astype("<f4").tobytes() for key, row in new.items()})
            found |= new
        with self._lock:
            for key, row in found.items():
                self._memory[key] = row
                self._memory.move_to_end(key)
            while len(self._memory) > self._most:
                self._memory.popitem(last=False)
        return [found[key] for key in keys]

    def _stored(self, store: DiskCache, keys: Sequence[Key]) -> dict[Key, Vectors]:
        import numpy as np

        by_digest = {self._digest(key): key for key in keys}
        stored = store.get(list(by_digest))
        found = {by_digest[name]: np.frombuffer(row, "<f4") for name, row in stored.items() if len(row) % 4 == 0}
        return {key: row for key, row in found.items() if self._is_whole(row)}

    def _digest(self, key: Key) -> bytes:
        named = "\0".join((self._name, *((key,) if isinstance(key, str) else key)))
        return hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=20).digest()


class CachedEmbedder:
    """`cache` None keeps vectors in memory only."""

    def __init__(self, inner: Embedder, cache: DiskCache | None = None) -> None:
        self.inner = inner
        self.name, self.digest, self.precision = inner.name, inner.digest, inner.precision
        model = f"{inner.digest}:{inner.precision}"
        self._rows: RowCache[str] = RowCache(model, cache, self._is_unit, KEPT_IN_MEMORY)

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if isinstance(texts, str):
            raise TypeError("embed takes a list of strings, not one string")
        rows = self._rows.rows(texts, self.inner.embed, TEXTS_PER_WRITE)
        return np.stack(rows) if rows else np.empty((0, self.dimension), np.float32)

    def _is_unit(self, row: Vectors) -> bool:
        return len(row) == self.dimension and abs(float(row @ row) - 1) < 1e-3
