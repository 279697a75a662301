"""The protocol of an embedding model, the check of its vectors, and a cache in front of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from answerkey.cache import DiskCache
from answerkey.errors import EndpointError
from answerkey.local_models.row_cache import RowCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

KEPT_IN_MEMORY = 20_000
# Computed between two writes to disk: an interrupted run loses no more.
TEXTS_PER_WRITE = 2_048


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The prefixes that a model needs before texts to compare, questions and passages."""

    plain: str = ""
    query: str = ""
    passage: str = ""


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


def unit_rows(values: object, count: int, dimension: int | None, source: str) -> Vectors:
    """The vectors as float32 rows of length 1, or an error that names `source` and what is wrong with them."""
    import numpy as np

    try:
        # A number that float32 can't hold becomes infinite, which is refused below.
        with np.errstate(over="ignore"):
            rows = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise EndpointError(
            f"{source} returned something that is not a list of number lists of one length"
        ) from None
    if rows.ndim != 2 or len(rows) != count:
        raise EndpointError(f"{source} returned vectors of shape {rows.shape} for {count} texts")
    if dimension is not None and rows.shape[1] != dimension:
        raise EndpointError(
            f"{source} returned vectors of dimension {rows.shape[1]}, expected {dimension}: "
            "is it another model?"
        )
    if not np.isfinite(rows).all():
        raise EndpointError(
            f"{source} returned a vector with NaN or infinite numbers: its weights may be damaged"
        )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if (lengths < 1e-12).any():
        raise EndpointError(f"{source} returned a zero vector: it has no direction to compare")
    return rows / lengths


class CachedEmbedder:
    """An embedder whose vectors are computed once; `cache` None keeps them in memory only."""

    def __init__(self, inner: Embedder, cache: DiskCache | None = None) -> None:
        self.inner = inner
        self.name = inner.name
        self.digest = inner.digest
        self.precision = inner.precision
        self.prefixes: Prefixes = getattr(inner, "prefixes", Prefixes())
        model = f"{inner.digest}:{inner.precision}"
        self._rows: RowCache[str] = RowCache(model, cache, self._is_unit, KEPT_IN_MEMORY)

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts that are compared with each other."""
        return self._embed(texts, self.prefixes.plain)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions, to search passages with."""
        return self._embed(texts, self.prefixes.query)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages, to be searched."""
        return self._embed(texts, self.prefixes.passage)

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        import numpy as np

        if isinstance(texts, str):
            raise TypeError("embed takes a list of strings, not one string")
        if prefix:
            texts = [f"{prefix}{text}" for text in texts]
        rows = self._rows.rows(texts, self.inner.embed, TEXTS_PER_WRITE)
        if not rows:
            return np.empty((0, self.dimension), np.float32)
        return np.stack(rows)

    def _is_unit(self, row: Vectors) -> bool:
        return len(row) == self.dimension and abs(float(row @ row) - 1) < 1e-3


def embed_queries(embed: Embedder, questions: Sequence[str]) -> Vectors:
    """Vectors of questions, with the model's prefix for them where it has one."""
    return getattr(embed, "embed_queries", embed.embed)(questions)


def embed_passages(embed: Embedder, passages: Sequence[str]) -> Vectors:
    """Vectors of passages, with the model's prefix for them where it has one."""
    return getattr(embed, "embed_passages", embed.embed)(passages)
