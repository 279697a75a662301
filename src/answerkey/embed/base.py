"""What an embedder is, and what its vectors must be before anything is measured with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

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


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """One text, token by token, without the markers at its ends: unit rows, and where each token lies in the text."""

    tokens: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]
    vectors: Vectors


def unit_rows(given: Any, count: int, dimension: int | None, source: str) -> Vectors:
    """The vectors as float32 rows of length 1, or an error that names `source` and what is wrong with them."""
    import numpy as np

    try:
        rows = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError):
        raise EndpointError(
            f"{source} returned something that is not a list of number lists of one length"
        ) from None
    if rows.ndim != 2 or len(rows) != count:
        raise EndpointError(f"{source} returned vectors of shape {rows.shape} for {count} texts")
    if dimension is not None and rows.shape[1] != dimension:
        raise EndpointError(
            f"{source} returned vectors of dimension {rows.shape[1]}, expected {dimension}: is it another model?"
        )
    if not np.isfinite(rows).all():
        raise EndpointError(
            f"{source} returned a vector with NaN or infinite numbers: its weights may be damaged"
        )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if (lengths < 1e-12).any():
        raise EndpointError(f"{source} returned a zero vector: it has no direction to compare")
    return rows / lengths
