"""The sweep: search once per method and index, fuse all α at once, measure every K in one pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from answerkey.cases import read_cases
from answerkey.coerce.values import LIVE, as_texts
from answerkey.config.declare import read_table
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.embed import load_embedder
from answerkey.errors import InputError, SettingsError
from answerkey.experiments import grid
from answerkey.experiments.grid import METRICS, Labels, QuoteLabels, SweepPlan, Variant, make_plan
from answerkey.experiments.label_check import LabelCheck, check_labels, collect_labels
from answerkey.metrics.ranking.hits import Floats, Ints
from answerkey.retrieval.fuse import collapse, pool_candidates, reciprocal_ranks, weighted_sum
from answerkey.retrieval.question_types import classify
from answerkey.retrieval.retriever import load_function, passage_of, rerank, rewrite
from answerkey.retrieval.search_index import SearchIndex, open_search_indexes
from answerkey.runs.suite import Suite
from answerkey.types import Case
from answerkey.user_code import import_from

Step = Callable[[str], None]
Place = tuple[int, int]
NO_MODEL = "none"
BM25_ALONE = "Pure_Sparse_BM25"
TIMED = 50


@dataclass(frozen=True, slots=True)
class PreparedSweep:
    """Everything loaded and checked. `quotes` holds one tuple per case, empty where pages are the labels."""

    settings: RetrievalTable
    cases: list[Case]
    setups: list[SearchIndex]
    check: LabelCheck
    quotes: list[tuple[str, ...]]


@dataclass(frozen=True)
class Sweep:
    """`values` holds (variant, K, query, metric), `chosen` (variant, K, query) the metric that chooses; `rankings`
    (variant, query, rank) numbers into `pages`, -1 for none; `milliseconds` (variant, query), NaN where not timed.
    `places` are the settings, as numbers of variant and K; `topk` is the variant of the top-K analysis of each
    index."""

    cases: tuple[Case, ...]
    setups: tuple[SearchIndex, ...]
    plan: SweepPlan
    variants: tuple[Variant, ...]
    values: Floats
    chosen: Floats
    rankings: Ints
    pages: list[str]
    labelled: NDArray[np.bool_]
    milliseconds: Floats
    places: tuple[Place, ...]
    topk: dict[int, int]
    check: LabelCheck
    quotes: tuple[tuple[str, ...], ...]
    settings: RetrievalTable
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def ks(self) -> tuple[int, ...]:
        return self.plan.ks

    @property
    def main(self) -> int:
        """Which of the K is the one at which methods and α are compared."""
        return self.ks.index(self.plan.main_k)

    def mean(self, metric: str) -> Floats:
        """(variant, K): the mean of a metric over the labelled queries."""
        return self.values[:, :, self.labelled, METRICS.index(metric)].mean(axis=2)

    def ranked_pages(self, variant: int, query: int, k: int) -> list[str]:
        """The first `k` pages of one ranking."""
        numbers: list[int] = self.rankings[variant, query, :k].tolist()
        return [self.pages[page] for page in numbers if page >= 0]

    def alpha_rows(self, setup: int) -> list[int]:
        """The variants of the α that were asked for, ascending."""
        asked = self.plan.asked_alphas if self.setups[setup].dense is not None else (0.0,)
        return [
            n
            for n, v in enumerate(self.variants)
            if v.setup == setup and not v.stage and v.alpha in asked
        ]

    def method_rows(self, setup: int) -> list[int]:
        """The settings that are methods of their own; every α where there is no such."""
        there = {row for row, _ in self.places if self.variants[row].setup == setup}
        return [n for n in sorted(there) if self.variants[n].is_method] or sorted(there)

    def setup_name(self, setup: int) -> str:
        """Chunking and model, where several are compared."""
        if len(self.setups) == 1:
            return ""
        index = self.setups[setup]
        return f"{index.chunking}, {index.embed.name if index.embed else 'no model'}"

    @property
    def types(self) -> list[str]:
        """The type of each case; by the rules of the classifier where a case has none."""
        return [case.type or classify(case.question).type for case in self.cases]


def prepare_sweep(suite: Suite, step: Step = lambda _: None) -> PreparedSweep:
    """Everything loaded and checked; indexes come from the cache where nothing changed."""
    if not suite.retrieval:
        raise SettingsError('the suite has no [retrieval] table: give documents = "docs" there')
    settings = read_table(RetrievalTable, suite.retrieval, "[retrieval]", suite.folder)
    cases = list(read_cases(suite.cases, suite.folder))
    if not cases:
        raise InputError("the suite has no case")
    import_from(suite.folder)
    for name in filter(None, (settings.reranker, settings.rewriter)):
        load_function(name)  # a wrong name is an error before anything is embedded
    models = settings.sweep.models or (suite.embedding.get("model"),)
    embeddings = ({**suite.embedding, **({"model": model} if model else {})} for model in models)
    embedders = [
        None if one.get("model") == NO_MODEL else load_embedder(**one) for one in embeddings
    ]
    make_plan(settings, any(embedders))  # a wrong setting is an error before the documents are read
    step("reading and indexing the documents (kept in the cache for the next time)")
    setups = open_search_indexes(settings, embedders, step)
    texts = (
        as_texts(case.extra.get("quote") or case.extra.get("quotes"), "quote", LIVE)
        for case in cases
    )
    quotes = [tuple(filter(None, found)) for found in texts]
    with_pages = [
        replace(case, relevant=None) if quote else case
        for case, quote in zip(cases, quotes, strict=True)
    ]
    documents = {chunk.document for chunk in setups[0].chunks}
    check = check_labels(collect_labels(with_pages), setups[0].pages, documents)
    return PreparedSweep(settings, cases, setups, check, quotes)


def run_sweep(prepared: PreparedSweep, step: Step = lambda _: None, timed: bool = True) -> Sweep:
    """Every setting for every case; `timed` says whether single searches are timed too."""
    cases, settings = prepared.cases, prepared.settings
    if not any(prepared.quotes) and not any(
        g > 0 for row in prepared.check.labels.values() for g in row.values()
    ):
        raise InputError(
            f"none of the {len(cases)} cases has a relevant page: give `relevant` in the case file"
        )
    if problem := prepared.check.none_found("the index"):
        raise InputError(problem)
    plan = make_plan(settings, any(index.dense for index in prepared.setups))
    if plan.depth > settings.pool:
        raise SettingsError(
            f"[retrieval] pool = {settings.pool}: expected at least the largest K, {plan.depth}"
        )
    pages = list(dict.fromkeys(page for index in prepared.setups for page in index.pages))
    measured = [
        _measure_setup(prepared, number, plan, pages, step)
        for number in range(len(prepared.setups))
    ]
    variants = [variant for one in measured for variant in one.variants]
    step("measuring")
    questions = [case.question for case in cases] if timed else []
    milliseconds = [
        time_searches(index, questions, settings.pool, one.variants, len(cases))
        for index, one in zip(prepared.setups, measured, strict=True)
    ]
    lost = set(measured[0].lost).intersection(*(one.lost for one in measured))
    grades = [prepared.check.labels[case.id].values() for case in cases]
    labelled = [
        bool(q) or any(grade > 0 for grade in row)
        for q, row in zip(prepared.quotes, grades, strict=True)
    ]
    sweep = Sweep(
        tuple(cases),
        tuple(prepared.setups),
        plan,
        tuple(variants),
        np.concatenate([one.values for one in measured]),
        np.concatenate([one.chosen for one in measured]),
        np.concatenate([one.rankings for one in measured]),
        pages,
        np.array(labelled),
        np.concatenate(milliseconds),
        (),
        {},
        replace(prepared.check, lost_quotes=tuple(sorted(lost))),
        tuple(prepared.quotes),
        settings,
        {name: sum(one.seconds[name] for one in measured) for name in measured[0].seconds},
    )
    # For each index the variant of the top-K analysis: the α that was given, or the best one at the main K.
    means, topk = sweep.chosen[:, sweep.main][:, sweep.labelled].mean(axis=1), dict[int, int]()
    for setup in range(len(sweep.setups)):
        rows = sweep.alpha_rows(setup)
        given = [
            n for n, v in enumerate(variants) if v.setup == setup and v.alpha == plan.topk_alpha
        ]
        topk[setup] = (
            given[0] if plan.topk_alpha is not None and given else rows[int(np.argmax(means[rows]))]
        )
    places = [
        (row, plan.ks.index(k))
        for row, variant in enumerate(variants)
        for k in plan.cut_offs(
            variant, topk=row in topk.values() or len(sweep.alpha_rows(variant.setup)) == 1
        )
    ]
    return replace(sweep, places=tuple(places), topk=topk)


@dataclass(frozen=True, slots=True)
class _Measured:
    variants: list[Variant]
    values: Floats
    chosen: Floats
    rankings: Ints
    lost: list[str]
    seconds: dict[str, float]


def _measure_setup(
    prepared: PreparedSweep, setup: int, plan: SweepPlan, pages: list[str], step: Step
) -> _Measured:
    """One index: searched once, fused for all α, measured at every K."""
    index, settings = prepared.setups[setup], prepared.settings
    questions = [case.question for case in prepared.cases]
    step(f"searching {len(index.chunks)} chunks for {len(questions)} questions")
    began = time.perf_counter()
    candidates = index.candidates(questions, settings.pool)
    searched = time.perf_counter()
    variants = (
        grid.list_variants(plan, setup)
        if index.dense is not None
        else [Variant(BM25_ALONE, 0.0, "", setup)]
    )
    chunks = weighted_sum(candidates, [v.alpha for v in variants if v.alpha is not None])
    if variants[-1].alpha is None:
        chunks = np.concatenate([chunks, reciprocal_ranks(candidates)[None]])
    labels = grid.number_labels(
        [prepared.check.labels[case.id] for case in prepared.cases], index.pages
    )
    quotes = (
        grid.find_quotes(prepared.quotes, index.chunks, settings.quote_share)
        if any(prepared.quotes)
        else None
    )
    if settings.reranker or settings.rewriter:
        _, chosen, _ = _measured_rankings(index, chunks, labels, quotes, plan, settings.unit)
        column = plan.ks.index(plan.main_k)
        rows = [n for n, v in enumerate(variants) if v.alpha in plan.asked_alphas] or [0]
        best = rows[int(np.argmax(chosen[rows, column].mean(axis=1)))]
        for extra, ranking in _staged(
            index, questions, settings, (variants[best], chunks[best]), step
        ):
            variants.append(extra)
            chunks = np.concatenate([chunks, ranking[None]])
    values, chosen, rankings = _measured_rankings(
        index, chunks, labels, quotes, plan, settings.unit
    )
    numbers = {page: number for number, page in enumerate(pages)}
    shared = np.array([numbers[page] for page in index.pages], np.int64)
    rankings = np.where(rankings >= 0, shared[rankings], -1)
    missing = plan.depth - rankings.shape[2]  # an index with few chunks gives short rankings
    rankings = np.pad(rankings, ((0, 0), (0, 0), (0, max(missing, 0))), constant_values=-1)
    seconds = {"search": searched - began, "fuse_and_measure": time.perf_counter() - searched}
    return _Measured(variants, values, chosen, rankings, quotes.lost if quotes else [], seconds)


def _measured_rankings(
    index: SearchIndex,
    chunks: Ints,
    labels: Labels,
    quotes: QuoteLabels | None,
    plan: SweepPlan,
    unit: str,
) -> tuple[Floats, Floats, Ints]:
    if unit == "page" and len(index.pages) < len(index.chunks):  # each page once
        rankings = collapse(chunks, index.page_of)[..., : plan.depth]
    else:
        first = chunks[..., : plan.depth]
        rankings = np.where(first >= 0, index.page_of[first], -1)
    hits = grid.hits_in_pages(rankings, labels)
    if quotes is not None:
        hits = grid.merge_hits(hits, grid.hits_in_chunks(chunks[..., : plan.depth], quotes))
    return (
        grid.measure_grid(hits, plan.ks, labels.queries),
        grid.measure_choice(hits, plan, labels.queries),
        rankings,
    )


def _staged(
    index: SearchIndex,
    questions: Sequence[str],
    settings: RetrievalTable,
    best: tuple[Variant, Ints],
    step: Step,
) -> list[tuple[Variant, Ints]]:
    """The best α once more: with the suite's reranker, and with its rewriter."""
    variant, ranking = best
    alpha = 0.5 if variant.alpha is None else variant.alpha
    found: list[tuple[Variant, Ints]] = []
    if settings.reranker:
        step(f"reranking with {settings.reranker}")
        function, number = (
            load_function(settings.reranker),
            {chunk.id: n for n, chunk in enumerate(index.chunks)},
        )
        reranked = np.full_like(ranking, -1)
        for row, question in enumerate(questions):
            passages = [
                passage_of(index, chunk)
                for chunk in ranking[row, : settings.pool].tolist()
                if chunk >= 0
            ]
            order = [number[passage.id or ""] for passage in rerank(function, question, passages)]
            reranked[row, : len(order)] = order
        found.append((Variant(f"{variant.name}+rerank", alpha, "rerank", variant.setup), reranked))
    if settings.rewriter:
        step(f"rewriting with {settings.rewriter}")
        asked = rewrite(load_function(settings.rewriter), questions)
        again = weighted_sum(index.candidates(asked, settings.pool), [alpha])[0]
        width = ranking.shape[1]  # another question may have more candidates, or fewer
        fitted = np.pad(
            again[:, :width], ((0, 0), (0, max(width - again.shape[1], 0))), constant_values=-1
        )
        found.append((Variant(f"{variant.name}+rewrite", alpha, "rewrite", variant.setup), fitted))
    return found


def time_searches(
    index: SearchIndex,
    questions: Sequence[str],
    pool: int,
    variants: Sequence[Variant],
    columns: int,
) -> Floats:
    """(variant, question) in milliseconds: the stages that the variant needs, embedding the question included. The
    first `TIMED` questions are timed, the rest of the `columns` are NaN; so are variants with a function of the suite's
    own."""
    embed = getattr(
        index.embed, "inner", index.embed
    )  # without the cache, which a new question would miss
    timed = replace(index, embed=embed)
    table = np.full((len(variants), columns), np.nan)
    if questions:
        timed.search_dense(questions[:1], pool)  # the first call warms the model up
    for column, question in enumerate(questions[:TIMED]):
        start = time.perf_counter()
        dense = timed.search_dense([question], pool)
        searched = time.perf_counter()
        sparse = index.sparse([question], pool)
        found = time.perf_counter()
        weighted_sum(pool_candidates(dense, sparse), [0.5])
        fusing = time.perf_counter() - found
        cost = {"dense": searched - start, "sparse": found - searched}
        for row, variant in enumerate(variants):
            if not variant.stage:
                taken = sum(cost[use] for use in variant.uses) + (
                    fusing if len(variant.uses) > 1 else 0.0
                )
                table[row, column] = 1000 * taken
    return table
