"""What an embedder is, what its vectors must be, and an embedder that remembers them."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

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


class CachedEmbedder:
    """`cache` None keeps vectors in memory only."""

    def __init__(self, inner: Embedder, cache: DiskCache | None = None) -> None:
        self.inner = inner
        self.cache = cache
        self.name, self.digest, self.precision = inner.name, inner.digest, inner.precision
        self._model = f"{inner.digest}:{inner.precision}"
        self._memory: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if isinstance(texts, str):
            raise TypeError("embed takes a list of strings, not one string")
        found = self._remembered(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing and self.cache:
            found |= self._stored(self.cache, missing)
            missing = [text for text in missing if text not in found]
        for start in range(0, len(missing), TEXTS_PER_WRITE):
            part = missing[start : start + TEXTS_PER_WRITE]
            new = dict(zip(part, self.inner.embed(part), strict=True))
            if self.cache:
                self.cache.put({self._key(text): row.astype("<f4").tobytes() for text, row in new.items()})
            found |= new
        self._remember(found)
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return np.stack([found[text] for text in texts])

    def _stored(self, cache: DiskCache, texts: Sequence[str]) -> dict[str, Vectors]:
        """The vectors on disk, those of length 1 and of the right dimension."""
        import numpy as np

        by_key = {self._key(text): text for text in texts}
        found = {
            by_key[key]: np.frombuffer(blob, dtype="<f4")
            for key, blob in cache.get(list(by_key)).items()
            if len(blob) == 4 * self.dimension
        }
        return {text: vector for text, vector in found.items() if abs(float(vector @ vector) - 1) < 1e-3}

    def _key(self, text: str) -> bytes:
        named = f"{self._model}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(named, digest_size=20).digest()

    def _remembered(self, texts: Sequence[str]) -> dict[str, Vectors]:
        with self._lock:
            return {text: self._memory[text] for text in texts if text in self._memory}

    def _remember(self, found: dict[str, Vectors]) -> None:
        with self._lock:
            for text, vector in found.items():
                self._memory[text] = vector
                self._memory.move_to_end(text)
            while len(self._memory) > KEPT_IN_MEMORY:
                self._memory.popitem(last=False)
