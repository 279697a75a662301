"""Dense search: cosine over embeddings, exact, one matrix product for all questions."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from answerkey.cache import digest, kept_file
from answerkey.retrieval.top import Top, merge_blocks, select_top

if TYPE_CHECKING:
    from answerkey.embed.embedder import Embedder

_NUMBERS_AT_ONCE = 16_000_000
_TEXTS_AT_ONCE = 512
_TELL_EVERY = 5.0  # seconds
_NOISE = 5e-7  # of a cosine in 32 bits, with room to spare


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
        parts = [self._best(vectors[start : start + step], pool) for start in range(0, len(vectors), step)]
        return merge_blocks(parts, pool)

    def _best(self, asked: Any, pool: int) -> Top:
        """The 7th decimal of a product depends on its place in the matrices: what is that close is worked out apart."""
        scores = asked @ self.vectors.T
        top = select_top(scores, pool + 1)  # one more, to see a tie at the edge
        close = (np.diff(top.score, axis=1) > -_NOISE).any(axis=1)
        for row in np.flatnonzero(close):
            edge = top.score[row, :pool].min()
            near = np.flatnonzero(scores[row] >= edge - _NOISE)
            exact = (self.vectors[near].astype(np.float64) * asked[row]).sum(axis=1)
            order = np.argsort(-exact, kind="stable")[:pool]
            top.chunk[row, :pool], top.score[row, :pool] = near[order], exact[order]
        return Top(top.chunk[:, :pool], top.score[:, :pool])


def embed_chunks(texts: Sequence[str], embed: Embedder, step: Callable[[str], None] = lambda _: None) -> Any:
    """The vectors of the texts, cached per texts and model; `step` receives the progress."""
    key = digest("vectors-2", embed.name, embed.digest, embed.precision, list(texts))

    def make() -> bytes:
        buffer = io.BytesIO()
        np.save(buffer, _embedded(texts, embed, step), allow_pickle=False)
        return buffer.getvalue()

    return np.load(io.BytesIO(kept_file("vectors", key, make)), allow_pickle=False)


def _embedded(texts: Sequence[str], embed: Embedder, step: Callable[[str], None]) -> Any:
    """In large batches, with a word now and then on how long it will take."""
    vectors = np.empty((len(texts), embed.dimension), np.float32)
    begin = told = time.monotonic()
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        part = texts[start : start + _TEXTS_AT_ONCE]
        vectors[start : start + len(part)] = embed.embed(part)
        done, now = start + len(part), time.monotonic()
        if now - told >= _TELL_EVERY and done < len(texts):
            told = now
            left = (now - begin) / done * (len(texts) - done)
            step(f"embedded {done:,} of {len(texts):,} chunks, about {left:.0f} s left")
    return vectors
