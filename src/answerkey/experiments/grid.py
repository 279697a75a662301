"""Which rankings a sweep compares, and at which cut-offs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from answerkey.metrics.ranking.formulas import CUT_METRICS

NAMED = {
    "Pure_Dense_FAISS": 1.0,
    "Dense_Heavy_Hybrid": 0.7,
    "Balanced_Hybrid": 0.5,
    "Sparse_Heavy_Hybrid": 0.3,
    "Pure_Sparse_BM25": 0.0,
}
RRF = "Reciprocal_Rank_Fusion"
STANDARD_K = 5
METRICS = CUT_METRICS
MAIN = METRICS.index("f1")


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to rank. `alpha` is None for reciprocal ranks; `stage` is "rerank" or "rewrite" where one was used."""

    name: str
    alpha: float | None
    stage: str = ""

    @property
    def uses(self) -> tuple[str, ...]:
        """Which searches it needs."""
        return {1.0: ("dense",), 0.0: ("sparse",)}.get(
            -1.0 if self.alpha is None else self.alpha, ("dense", "sparse")
        )


def weighted(alphas: Iterable[float]) -> list[Variant]:
    """A variant for every α asked for and every named one, α ascending."""
    names = {alpha: name for name, alpha in NAMED.items()}
    every = sorted({round(alpha, 6) for alpha in (*alphas, *NAMED.values())})
    return [Variant(names.get(alpha, f"Hybrid_{alpha:g}"), alpha) for alpha in every]


def cut_offs(ks: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({*ks, STANDARD_K}))
