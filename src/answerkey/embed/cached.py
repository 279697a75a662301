"""Any embedder with a memory: each text once, what is known from memory or disk, the rest in one batch."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from answerkey.embed.base import Embedder, TokenVectors
from answerkey.embed.cache import VectorCache
from answerkey.errors import SettingsError

if TYPE_CHECKING:
    from answerkey.embed.base import Vectors

KEPT_IN_MEMORY = 20_000
# What is computed between two writes to disk: an interrupted run loses no more.
TEXTS_A_WRITE = 2_048


class CachedEmbedder:
    """`cache` None keeps vectors in memory only."""

    def __init__(self, inner: Embedder, cache: VectorCache | None = None) -> None:
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
            raise TypeError("embed takes a list of texts, not one text")
        found = self._remembered(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing and self.cache:
            found |= self._usable(self.cache.get(self._model, missing))
            missing = [text for text in missing if text not in found]
        for start in range(0, len(missing), TEXTS_A_WRITE):
            part = missing[start : start + TEXTS_A_WRITE]
            new = dict(zip(part, self.inner.embed(part), strict=True))
            if self.cache:
                self.cache.put(self._model, new)
            found |= new
        self._remember(found)
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return np.stack([found[text] for text in texts])

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Token vectors, each text computed once; not kept, they are a hundred times as large."""
        inner = getattr(self.inner, "embed_tokens", None)
        if inner is None:
            raise SettingsError(
                f'the embedding model "{self.name}" gives no token vectors; all-MiniLM-L6-v2 does'
            )
        unique = list(dict.fromkeys(texts))
        found = dict(zip(unique, inner(unique), strict=True))
        return [found[text] for text in texts]

    def _usable(self, stored: dict[str, Vectors]) -> dict[str, Vectors]:
        return {text: vector for text, vector in stored.items() if len(vector) == self.dimension}

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
