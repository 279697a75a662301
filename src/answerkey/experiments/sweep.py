"""The sweep: search once per method, fuse all α at once, measure every K in one pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from answerkey.cases import load_cases
from answerkey.config.declare import read_table
from answerkey.config.tables import RetrievalTable
from answerkey.embed import load_embedder
from answerkey.errors import InputError, SettingsError
from answerkey.experiments.grid import (
    MAIN,
    METRICS,
    RRF,
    STANDARD_K,
    Labels,
    Variant,
    cut_offs,
    hits_in_pages,
    number_labels,
    weighted,
)
from answerkey.metrics.ranking.formulas import measure
from answerkey.metrics.ranking.hits import Floats, Ints
from answerkey.retrieval.fuse import Candidates, collapse, pool_candidates, reciprocal_ranks, weighted_sum
from answerkey.retrieval.retriever import load_function, passage_of, rerank, rewrite
from answerkey.retrieval.search_index import SearchIndex, open_index
from answerkey.runs.suite import Suite
from answerkey.types import Case
from answerkey.user_code import import_from

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

    def ranked_pages(self, variant: int, query: int, k: int) -> list[str]:
        """The first `k` pages of one ranking."""
        numbers: list[int] = self.rankings[variant, query, :k].tolist()
        return [self.pages[page] for page in numbers if page >= 0]

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
    index: SearchIndex, cases: Sequence[Case], settings: RetrievalTable, step: Step = lambda _: None, timed: bool = True
) -> Sweep:
    """Every variant at every K for every case; `timed` says whether single searches are timed too."""
    labels = number_labels(cases, index.pages)
    if not labels.labelled.any():
        raise InputError(f"none of the {len(cases)} cases has a relevant page: give `relevant` in the case file")
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


def search_once(index: SearchIndex, questions: Sequence[str], pool: int) -> Candidates:
    """One dense and one sparse search for all questions."""
    return pool_candidates(
        index.dense.search(index.embed_questions(questions), pool), index.sparse.search(questions, pool)
    )


def to_pages(index: SearchIndex, chunks: Ints, unit: str, depth: int) -> Ints:
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
    index: SearchIndex, questions: Sequence[str], settings: RetrievalTable, best: tuple[Variant, Ints], step: Step
) -> list[tuple[Variant, Ints]]:
    """The best α once more: with the suite's reranker, and with its rewriter."""
    variant, ranking = best
    alpha = 0.5 if variant.alpha is None else variant.alpha
    found: list[tuple[Variant, Ints]] = []
    if settings.reranker:
        step(f"reranking with {settings.reranker}")
        found.append(
            (Variant(f"{variant.name}+rerank", alpha, "rerank"), _reranked(index, questions, settings, ranking))
        )
    if settings.rewriter:
        step(f"rewriting with {settings.rewriter}")
        asked = rewrite(load_function(settings.rewriter), questions)
        again = weighted_sum(search_once(index, asked, settings.pool), [alpha])[0]
        found.append((Variant(f"{variant.name}+rewrite", alpha, "rewrite"), again))
    return found


def _reranked(index: SearchIndex, questions: Sequence[str], settings: RetrievalTable, ranking: Ints) -> Ints:
    function = load_function(settings.reranker or "")
    number = {chunk.id: n for n, chunk in enumerate(index.chunks)}
    result = np.full_like(ranking, -1)
    for row, question in enumerate(questions):
        passages = [passage_of(index, chunk) for chunk in ranking[row, : settings.pool].tolist() if chunk >= 0]
        order = [number[passage.id or ""] for passage in rerank(function, question, passages)]
        result[row, : len(order)] = order
    return result


def _facts(index: SearchIndex, settings: RetrievalTable) -> dict[str, Any]:
    """What shaped the result, for the record."""
    return {
        "source": index.source,
        "chunks": len(index.chunks),
        "pages": len(index.pages),
        "chunk_by": settings.chunk_by,
        "unit": settings.unit,
        "pool": settings.pool,
        "bm25": {"variant": settings.bm25, "k1": settings.k1, "b": settings.b},
        "embedding": {"name": index.embed.name, "digest": index.embed.digest, "precision": index.embed.precision},
    }


@dataclass(frozen=True, slots=True)
class PreparedSweep:
    settings: RetrievalTable
    cases: list[Case]
    index: SearchIndex


def prepare(suite: Suite, step: Callable[[str], None] = lambda _: None) -> PreparedSweep:
    """Everything loaded and checked; the index comes from the cache where nothing changed."""
    if not suite.retrieval:
        raise SettingsError('the suite has no [retrieval] table: give documents = "docs" there')
    settings = read_table(RetrievalTable, suite.retrieval, "[retrieval]", suite.folder)
    cases = list(load_cases(suite.cases, suite.folder))
    if not cases:
        raise InputError("the suite has no case")
    import_from(suite.folder)
    embed = load_embedder(**suite.embedding)
    step("reading and indexing the documents (kept in the cache for the next time)")
    return PreparedSweep(settings, cases, open_index(settings, embed, step))


TIMED = 50


def time_searches(
    index: SearchIndex, questions: Sequence[str], pool: int, variants: Sequence[Variant], columns: int
) -> Floats:
    """(variant, question) in milliseconds: the stages that the variant needs, embedding the question included.

    The first `TIMED` questions are timed, the rest of the `columns` are NaN; so are variants with a function of the
    suite's own.
    """
    embed = getattr(index.embed, "inner", index.embed)  # without the cache, which a new question would miss
    table = np.full((len(variants), columns), np.nan)
    if questions:
        _timed(lambda: embed.embed(questions[:1]))  # the first call warms the model up
    for column, question in enumerate(questions[:TIMED]):
        embedding, vector = _timed(lambda: np.asarray(embed.embed([question]), np.float32))  # noqa: B023
        searching, dense = _timed(lambda: index.dense.search(vector, pool))  # noqa: B023
        by_words, sparse = _timed(lambda: index.sparse.search([question], pool))  # noqa: B023
        fusing, _ = _timed(lambda: weighted_sum(pool_candidates(dense, sparse), [0.5]))  # noqa: B023
        cost = {"dense": embedding + searching, "sparse": by_words}
        for row, variant in enumerate(variants):
            if not variant.stage:
                table[row, column] = sum(cost[use] for use in variant.uses) + (fusing if len(variant.uses) > 1 else 0.0)
    return table


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return (time.perf_counter() - start) * 1000.0, result
