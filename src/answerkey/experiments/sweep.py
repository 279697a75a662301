"""The sweep: search once per method, fuse all α at once, measure every K in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from answerkey.errors import InputError
from answerkey.experiments.grid import MAIN, METRICS, RRF, STANDARD_K, Variant, cut_offs, weighted
from answerkey.experiments.labels import Labels, hits_in_pages, number_labels
from answerkey.experiments.timing import time_searches
from answerkey.metrics.ranking.formulas import measure
from answerkey.metrics.ranking.hits import Floats, Ints
from answerkey.retrieval.functions import load_function, rerank, rewrite
from answerkey.retrieval.fuse import Candidates, collapse, pool_candidates, reciprocal_ranks, weighted_sum
from answerkey.retrieval.index import Index
from answerkey.retrieval.retriever import passage_of
from answerkey.retrieval.settings import RetrievalSettings
from answerkey.types import Case

Step = Callable[[str], None]


@dataclass(frozen=True)
class Sweep:
    """`values` holds (variant, K, query, metric); `rankings` (variant, query, rank) numbers into `pages`, -1 for none.

    `milliseconds` holds (variant, query), NaN where a query was not timed.
    """

    cases: tuple[Case, ...]
    variants: tuple[Variant, ...]
    ks: tuple[int, ...]
    values: Floats
    rankings: Ints
    pages: list[str]
    labelled: Any
    milliseconds: Floats
    asked_alphas: tuple[float, ...]
    asked_ks: tuple[int, ...]
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    def mean(self, metric: int = MAIN) -> Floats:
        """(variant, K): the mean over the labelled queries."""
        return self.values[:, :, self.labelled, metric].mean(axis=2)

    @property
    def standard(self) -> int:
        """Which of the K is the standard one."""
        return self.ks.index(STANDARD_K)

    def alpha_rows(self) -> list[int]:
        """The variants of the α that were asked for, ascending."""
        return [
            n
            for n, v in enumerate(self.variants)
            if not v.stage and v.alpha is not None and v.alpha in self.asked_alphas
        ]

    def best_alpha(self) -> int:
        """The variant with the highest mean F1 at the standard K among the α asked for; the first of equals."""
        rows = self.alpha_rows()
        return rows[int(np.argmax(self.mean()[rows, self.standard]))]


def run_sweep(
    index: Index,
    cases: Sequence[Case],
    settings: RetrievalSettings,
    step: Step = lambda _: None,
    timed: bool = True,
) -> Sweep:
    """Every variant at every K for every case; `timed` says whether single searches are timed too."""
    labels = number_labels(cases, index.pages)
    if not labels.labelled.any():
        raise InputError(
            f"none of the {len(cases)} cases has a relevant page: give `relevant` in the case file"
        )
    questions = [case.question for case in cases]
    step(f"searching {len(index.chunks)} chunks for {len(cases)} questions")
    candidates = search_once(index, questions, settings.pool)
    variants = weighted(settings.alphas)
    ks = cut_offs(settings.ks)
    chunks = np.concatenate(
        [
            weighted_sum(candidates, [v.alpha for v in variants if v.alpha is not None]),
            reciprocal_ranks(candidates)[None],
        ]
    )
    variants.append(Variant(RRF, None))
    asked = tuple(round(alpha, 6) for alpha in settings.alphas)
    if settings.reranker or settings.rewriter:
        values = measure_grid(to_pages(index, chunks, settings.unit, max(ks)), labels, ks)
        rows = [n for n, v in enumerate(variants) if v.alpha in asked]
        means = values[rows, ks.index(STANDARD_K)][:, labels.labelled, MAIN].mean(axis=1)
        best = rows[int(np.argmax(means))]
        for extra, ranking in _staged(index, questions, settings, (variants[best], chunks[best]), step):
            variants.append(extra)
            chunks = np.concatenate([chunks, ranking[None]])
    rankings = to_pages(index, chunks, settings.unit, max(ks))
    step("measuring")
    values = measure_grid(rankings, labels, ks)
    if timed:
        step("timing single searches")
    milliseconds = time_searches(index, questions if timed else (), settings.pool, variants, len(questions))
    return Sweep(
        tuple(cases), tuple(variants), ks, values, rankings, index.pages, labels.labelled, milliseconds,
        asked, tuple(settings.ks), _facts(index, settings),
    )  # fmt: skip


def search_once(index: Index, questions: Sequence[str], pool: int) -> Candidates:
    """One dense and one sparse search for all questions."""
    return pool_candidates(
        index.dense.search(index.embed_questions(questions), pool), index.sparse.search(questions, pool)
    )


def to_pages(index: Index, chunks: Ints, unit: str, depth: int) -> Ints:
    """Chunk rankings as page rankings of at most `depth`; unit "page" keeps each page once."""
    one_chunk_a_page = len(index.pages) == len(index.chunks)
    if unit == "page" and not one_chunk_a_page:
        return collapse(chunks, index.page_of)[..., :depth]
    cut = chunks[..., :depth]
    return np.where(cut >= 0, index.page_of[cut], -1)


def measure_grid(rankings: Ints, labels: Labels, ks: Sequence[int]) -> Floats:
    """(variant, K, query, metric): every metric at every K."""
    columns = measure(hits_in_pages(rankings, labels), [f"{name}@{k}" for k in ks for name in METRICS])
    table = np.stack(list(columns.values())).reshape(len(ks), len(METRICS), len(rankings), labels.queries)
    return np.ascontiguousarray(table.transpose(2, 0, 3, 1))


def _staged(
    index: Index,
    questions: Sequence[str],
    settings: RetrievalSettings,
    best: tuple[Variant, Ints],
    step: Step,
) -> list[tuple[Variant, Ints]]:
    """The best α once more: with the suite's reranker, and with its rewriter."""
    variant, ranking = best
    alpha = 0.5 if variant.alpha is None else variant.alpha
    found: list[tuple[Variant, Ints]] = []
    if settings.reranker:
        step(f"reranking with {settings.reranker}")
        found.append(
            (
                Variant(f"{variant.name}+rerank", alpha, "rerank"),
                _reranked(index, questions, settings, ranking),
            )
        )
    if settings.rewriter:
        step(f"rewriting with {settings.rewriter}")
        asked = rewrite(load_function(settings.rewriter), questions)
        again = weighted_sum(search_once(index, asked, settings.pool), [alpha])[0]
        found.append((Variant(f"{variant.name}+rewrite", alpha, "rewrite"), again))
    return found


def _reranked(index: Index, questions: Sequence[str], settings: RetrievalSettings, ranking: Ints) -> Ints:
    function = load_function(settings.reranker or "")
    number = {chunk.id: n for n, chunk in enumerate(index.chunks)}
    result = np.full_like(ranking, -1)
    for row, question in enumerate(questions):
        passages = [
            passage_of(index, chunk) for chunk in ranking[row, : settings.pool].tolist() if chunk >= 0
        ]
        order = [number[passage.id or ""] for passage in rerank(function, question, passages)]
        result[row, : len(order)] = order
    return result


def _facts(index: Index, settings: RetrievalSettings) -> dict[str, Any]:
    """What shaped the result, for the record."""
    return {
        "source": index.source,
        "chunks": len(index.chunks),
        "pages": len(index.pages),
        "chunk_by": settings.chunk_by,
        "unit": settings.unit,
        "pool": settings.pool,
        "bm25": {"variant": settings.bm25, "k1": settings.k1, "b": settings.b},
        "embedding": {
            "name": index.embed.name,
            "digest": index.embed.digest,
            "precision": index.embed.precision,
        },
    }
