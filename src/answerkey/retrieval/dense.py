"""Dense search: cosine over embeddings, exact, one matrix product for all questions."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from answerkey.retrieval.cache import digest, kept
from answerkey.retrieval.top import Top, merge_blocks, select_top

if TYPE_CHECKING:
    from answerkey.embed.base import Embedder

_NUMBERS_AT_ONCE = 16_000_000


class DenseSearch(Protocol):
    def search(self, vectors: Any, pool: int) -> Top:
        """The best chunks for each question's vector, by cosine."""
        ...


@dataclass(frozen=True, slots=True)
class Exact:
    """Unit vectors, a row a chunk."""

    vectors: Any

    def search(self, vectors: Any, pool: int) -> Top:
        step = max(1, _NUMBERS_AT_ONCE // max(len(self.vectors), 1))
        parts = [
            select_top(vectors[start : start + step] @ self.vectors.T, pool)
            for start in range(0, len(vectors), step)
        ]
        return merge_blocks(parts, pool)


def embed_chunks(texts: Sequence[str], embed: Embedder) -> Any:
    """The vectors of the texts, from the cache where the same texts and model were seen before."""
    key = digest(["vectors-1", embed.name, embed.digest, embed.precision, *texts])
    cached = kept("vectors", key, ".npy")
    if cached.found:
        return np.load(cached.path, allow_pickle=False)
    vectors = np.asarray(embed.embed(texts), dtype=np.float32)
    buffer = io.BytesIO()
    np.save(buffer, vectors, allow_pickle=False)
    cached.write(buffer.getvalue())
    return vectors
