"""Which rankings a sweep compares, at which cut-offs, and the hits of page rankings in the labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from answerkey.coerce.passages import clean_id
from answerkey.metrics.ranking.formulas import CUT_METRICS
from answerkey.metrics.ranking.hits import Floats, Hits, Ints, Places, ideal_places
from answerkey.types import Case

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
        return {1.0: ("dense",), 0.0: ("sparse",)}.get(-1.0 if self.alpha is None else self.alpha, ("dense", "sparse"))


def weighted(alphas: Iterable[float]) -> list[Variant]:
    """A variant for every α asked for and every named one, α ascending."""
    names = {alpha: name for name, alpha in NAMED.items()}
    every = sorted({round(alpha, 6) for alpha in (*alphas, *NAMED.values())})
    return [Variant(names.get(alpha, f"Hybrid_{alpha:g}"), alpha) for alpha in every]


def cut_offs(ks: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({*ks, STANDARD_K}))


@dataclass(frozen=True, slots=True)
class Labels:
    """Relevant pages by query: `code` is query · pages + page, sorted; pages that the index lacks are only in `ideal`."""

    queries: int
    pages: int
    code: Ints
    grade: Floats
    ideal: Places

    @property
    def labelled(self) -> np.ndarray:
        return np.bincount(self.ideal.query, minlength=self.queries) > 0


def number_labels(cases: Sequence[Case], pages: Sequence[str]) -> Labels:
    numbers = {page: number for number, page in enumerate(pages)}
    grades = [{clean_id(key): grade for key, grade in (case.relevant or {}).items()} for case in cases]
    pairs = sorted(
        (query * len(pages) + numbers[page], grade)
        for query, row in enumerate(grades)
        for page, grade in row.items()
        if grade > 0 and page in numbers
    )
    code = np.array([pair[0] for pair in pairs], np.int64)
    return Labels(len(cases), len(pages), code, np.array([pair[1] for pair in pairs]), ideal_places(grades))


def hits_in_pages(rankings: Ints, labels: Labels) -> Hits:
    """Hits of rankings (variant, query, rank) of page numbers, -1 for none; a row a variant and query."""
    variants, queries, depth = (int(size) for size in rankings.shape)
    codes = np.where(rankings >= 0, np.arange(queries)[None, :, None] * labels.pages + rankings, -1).reshape(-1, depth)
    place = np.searchsorted(labels.code, codes)
    place[place == len(labels.code)] = 0
    hit = (labels.code[place] == codes) if len(labels.code) else np.zeros(codes.shape, bool)
    row, column = np.nonzero(hit)
    found = Places(row, column + 1, labels.grade[place[row, column]] if len(row) else np.empty(0))
    ideal = labels.ideal
    shift = np.repeat(np.arange(variants) * queries, len(ideal.query))
    repeated = Places(
        np.tile(ideal.query, variants) + shift, np.tile(ideal.rank, variants), np.tile(ideal.grade, variants)
    )
    return Hits(variants * queries, found, repeated)
