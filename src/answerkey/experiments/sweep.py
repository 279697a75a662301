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
from answerkey.embed import Embedder, load_embedder
from answerkey.errors import InputError, SettingsError
from answerkey.experiments.label_check import LabelCheck, check_labels, collect_labels
from answerkey.experiments.page_hits import (
    Labels,
    hits_in_pages,
    measure_choice,
    measure_grid,
    merge_hits,
    number_labels,
)
from answerkey.experiments.plan import (
    BM25_ALONE,
    METRICS,
    REWRITE,
    SweepPlan,
    Variant,
    list_variants,
    make_sweep_plan,
)
from answerkey.experiments.quote_hits import QuoteLabels, find_quotes, hits_in_chunks
from answerkey.experiments.timing import add_stage_times, time_searches
from answerkey.metrics.ranking.hits import Floats, Ints
from answerkey.retrieval.fuse import collapse, reciprocal_ranks, weighted_sum
from answerkey.retrieval.question_types import QuestionType, classify
from answerkey.retrieval.retriever import passage_of_chunk
from answerkey.retrieval.search_index import SearchIndex, open_search_indexes
from answerkey.retrieval.stages import check_stages, load_reranker, load_rewriter
from answerkey.retrieval.user_functions import rerank
from answerkey.runs.suite import Suite
from answerkey.types import Case
from answerkey.user_code import import_from

Step = Callable[[str], None]
Setting = tuple[int, int]  # the number of a variant and of a K
NO_MODEL = "none"


@dataclass(frozen=True, slots=True)
class PreparedSweep:
    """Everything loaded and checked. `quotes` has one tuple per case, empty for page labels."""

    settings: RetrievalTable
    cases: list[Case]
    setups: list[SearchIndex]
    check: LabelCheck
    quotes: list[tuple[str, ...]]

    @property
    def questions(self) -> list[str]:
        return [case.question for case in self.cases]


@dataclass(frozen=True)
class Sweep:
    """The results of every setting and query.

    `values` holds (variant, K, query, metric); `chosen` (variant, K, query) the metric that
    chooses; `rankings` (variant, query, rank) numbers into `pages`, -1 for none; `milliseconds`
    (variant, query), NaN where not timed. `places` are the settings; `topk` is the variant of the
    top-K analysis of each index; `rewritten` are the questions as the rewriter wrote them for each
    index.
    """

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
    places: tuple[Setting, ...]
    topk: dict[int, int]
    check: LabelCheck
    quotes: tuple[tuple[str, ...], ...]
    settings: RetrievalTable
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    rewritten: dict[int, list[str]] = field(default_factory=dict[int, list[str]])

    @property
    def ks(self) -> tuple[int, ...]:
        return self.plan.ks

    @property
    def main(self) -> int:
        """The number of the K at which methods and α are compared."""
        return self.ks.index(self.plan.main_k)

    def mean(self, metric: str) -> Floats:
        """(variant, K): the mean of a metric over the labelled queries."""
        return self.values[:, :, self.labelled, METRICS.index(metric)].mean(axis=2)

    def at_own_k(self) -> Floats:
        """(variant, K, query): the metric that chooses, at each setting's own K."""
        return self.values[:, :, :, METRICS.index(self.plan.select[0])]

    def ranked_pages(self, variant: int, query: int, k: int) -> list[str]:
        """The first `k` pages of one ranking."""
        numbers: list[int] = self.rankings[variant, query, :k].tolist()
        return [self.pages[page] for page in numbers if page >= 0]

    def searched_text(self, variant: int, query: int) -> str:
        """The text that a variant searched with: the question, or that of the rewriter."""
        if self.variants[variant].stage == REWRITE:
            return self.rewritten[self.variants[variant].setup][query]
        return self.cases[query].question

    def alpha_rows(self, setup: int) -> list[int]:
        """The variants of the α of the settings, ascending."""
        rows = [
            row
            for row, variant in enumerate(self.variants)
            if variant.setup == setup and not variant.stage and variant.alpha is not None
        ]
        of_settings = [row for row in rows if self.variants[row].alpha in self.plan.asked_alphas]
        if of_settings:
            return of_settings
        if rows:  # an index without a model has only α = 0
            return rows
        # Recorded rankings may have no α at all.
        return [row for row, variant in enumerate(self.variants) if variant.setup == setup]

    def method_rows(self, setup: int) -> list[int]:
        """The settings that are methods of their own; every α where there are none."""
        rows = sorted({row for row, _ in self.places if self.variants[row].setup == setup})
        return [row for row in rows if self.variants[row].is_method] or rows

    def topk_settings(self, setup: int) -> list[Setting]:
        """The settings of the top-K analysis, one per K."""
        return [place for place in self.places if place[0] == self.topk[setup]]

    def setup_name(self, setup: int) -> str:
        """Chunking and model, where several are compared."""
        if len(self.setups) == 1:
            return ""
        index = self.setups[setup]
        return f"{index.chunking}, {index.embed.name if index.embed else 'no model'}"

    @property
    def question_types(self) -> list[QuestionType]:
        """The type of each case: its own with confidence 1, or that of the rules."""
        return [
            QuestionType(case.type, 1.0) if case.type else classify(case.question)
            for case in self.cases
        ]

    @property
    def types(self) -> list[str]:
        return [kind.type for kind in self.question_types]


def prepare_sweep(suite: Suite, step: Step = lambda _: None) -> PreparedSweep:
    """Everything loaded and checked; indexes come from the cache where nothing changed."""
    if not suite.retrieval:
        raise SettingsError('the suite has no [retrieval] table: give documents = "docs" there')
    settings = read_table(RetrievalTable, suite.retrieval, "[retrieval]", suite.folder)
    cases = list(read_cases(suite.cases, suite.folder))
    if not cases:
        raise InputError("the suite has no case")
    import_from(suite.folder)
    # Wrong names and settings are errors before the documents are read and embedded.
    check_stages(settings)
    embedders = _load_embedders(suite, settings)
    make_sweep_plan(settings, any(embedders))
    step("reading and indexing the documents (kept in the cache for the next time)")
    setups = open_search_indexes(settings, embedders, step)
    quotes = [_quotes_of_case(case) for case in cases]
    with_pages = [
        # A case with quotes is measured by them; its page labels would count a second time.
        replace(case, relevant=None) if quote else case
        for case, quote in zip(cases, quotes, strict=True)
    ]
    documents = {chunk.document for chunk in setups[0].chunks}
    page_numbers = {chunk.number for chunk in setups[0].chunks if chunk.number}
    check = check_labels(collect_labels(with_pages), setups[0].pages, documents, page_numbers)
    return PreparedSweep(settings, cases, setups, check, quotes)


def _load_embedders(suite: Suite, settings: RetrievalTable) -> list[Embedder | None]:
    """The embedding models to compare, None for BM25 alone."""
    models = settings.sweep.models or (suite.embedding.get("model"),)
    embedders: list[Embedder | None] = []
    for model in models:
        table = dict(suite.embedding)
        if model:
            table["model"] = model
        if table.get("model") == NO_MODEL:
            embedders.append(None)
        else:
            embedders.append(load_embedder(**table))
    return embedders


def _quotes_of_case(case: Case) -> tuple[str, ...]:
    quotes = case.extra.get("quote") or case.extra.get("quotes")
    return tuple(filter(None, as_texts(quotes, "quote", LIVE)))


def run_sweep(prepared: PreparedSweep, step: Step = lambda _: None, timed: bool = True) -> Sweep:
    """Every setting for every case; `timed` says whether single searches are timed too."""
    settings = prepared.settings
    _check_prepared(prepared)
    plan = make_sweep_plan(settings, any(index.dense for index in prepared.setups))
    # The table checks only its own K; `named` and `select` may look deeper.
    if plan.depth > settings.pool:
        raise SettingsError(
            f"[retrieval] pool = {settings.pool}: expected at least the largest K, {plan.depth}"
        )
    # Indexes with other chunkings have the same pages: one numbering serves all rankings.
    pages = list(dict.fromkeys(page for index in prepared.setups for page in index.pages))
    measured = [
        _SetupSweep(prepared, number, plan, step).measure(pages)
        for number in range(len(prepared.setups))
    ]
    step("measuring")
    questions = prepared.questions if timed else []
    milliseconds: list[Floats] = []
    for index, part in zip(prepared.setups, measured, strict=True):
        table = time_searches(index, questions, settings.pool, part.variants, len(prepared.cases))
        milliseconds.append(add_stage_times(table, part.variants, part.stage_milliseconds))
    missing = set(measured[0].missing_quotes)
    # A quote is lost only if no way of cutting keeps it whole.
    missing.intersection_update(*(part.missing_quotes for part in measured))
    sweep = Sweep(
        cases=tuple(prepared.cases),
        setups=tuple(prepared.setups),
        plan=plan,
        variants=tuple(variant for part in measured for variant in part.variants),
        values=np.concatenate([part.values for part in measured]),
        chosen=np.concatenate([part.chosen for part in measured]),
        rankings=np.concatenate([part.rankings for part in measured]),
        pages=pages,
        labelled=_has_labels(prepared),
        milliseconds=np.concatenate(milliseconds),
        places=(),
        topk={},
        check=replace(prepared.check, lost_quotes=tuple(sorted(missing))),
        quotes=tuple(prepared.quotes),
        settings=settings,
        seconds={
            name: sum(part.seconds[name] for part in measured) for name in measured[0].seconds
        },
        rewritten={setup: part.rewritten for setup, part in enumerate(measured)},
    )
    return choose_settings(sweep)


def choose_settings(sweep: Sweep) -> Sweep:
    """The sweep with its settings, and the variant of the top-K analysis of each index."""
    # One variant per index at every K; all variants at every K would be a table nobody reads.
    topk = {setup: _topk_variant(sweep, setup) for setup in range(len(sweep.setups))}
    places: list[Setting] = []
    for row, variant in enumerate(sweep.variants):
        # An index with a single α has no other variant for the top-K analysis.
        is_topk = row in topk.values() or len(sweep.alpha_rows(variant.setup)) == 1
        cut_offs = sweep.plan.cut_offs(variant, is_topk=is_topk)
        places += [(row, sweep.ks.index(k)) for k in cut_offs]
    return replace(sweep, places=tuple(places), topk=topk)


def _topk_variant(sweep: Sweep, setup: int) -> int:
    """The variant with the α of the settings, or else the best one at the main K."""
    if sweep.plan.topk_alpha is not None:
        for row, variant in enumerate(sweep.variants):
            if variant.setup == setup and variant.alpha == sweep.plan.topk_alpha:
                return row
    rows = sweep.alpha_rows(setup) or list(range(len(sweep.variants)))
    means = sweep.chosen[:, sweep.main][:, sweep.labelled].mean(axis=1)
    return rows[int(np.argmax(means[rows]))]


def _check_prepared(prepared: PreparedSweep) -> None:
    grades = [grade for row in prepared.check.labels.values() for grade in row.values()]
    if not any(prepared.quotes) and not any(grade > 0 for grade in grades):
        raise InputError(
            f"none of the {len(prepared.cases)} cases has a relevant page: "
            "give `relevant` in the case file"
        )
    problem = prepared.check.none_found("the index")
    if problem:
        raise InputError(problem)


def _has_labels(prepared: PreparedSweep) -> NDArray[np.bool_]:
    """Whether each case has a quote or a relevant page."""
    labelled: list[bool] = []
    for case, quotes in zip(prepared.cases, prepared.quotes, strict=True):
        grades = prepared.check.labels[case.id].values()
        labelled.append(bool(quotes) or any(grade > 0 for grade in grades))
    return np.array(labelled)


@dataclass(frozen=True, slots=True)
class _MeasuredSetup:
    variants: list[Variant]
    values: Floats
    chosen: Floats
    rankings: Ints
    missing_quotes: list[str]
    seconds: dict[str, float]
    stage_milliseconds: dict[int, list[float]]  # by variant, for each question
    rewritten: list[str]  # empty without a rewriter


@dataclass(frozen=True, slots=True)
class _Stage:
    """The best α once more, with a rewriter or a reranker."""

    variant: Variant
    ranking: Ints
    milliseconds: list[float]


class _SetupSweep:
    """One index: searched once, fused for all α, measured at every K."""

    def __init__(self, prepared: PreparedSweep, setup: int, plan: SweepPlan, step: Step) -> None:
        self.settings = prepared.settings
        self.index = prepared.setups[setup]
        self.setup = setup
        self.plan = plan
        self.step = step
        self.questions = prepared.questions
        # Kept for the trace: a language model would write other texts the next time.
        self.rewritten: list[str] = []
        grades = [prepared.check.labels[case.id] for case in prepared.cases]
        self.labels: Labels = number_labels(grades, self.index.pages)
        self.quotes: QuoteLabels | None = None
        if any(prepared.quotes):
            self.quotes = find_quotes(prepared.quotes, self.index.chunks, self.settings.quote_share)

    def measure(self, pages: list[str]) -> _MeasuredSetup:
        """Every variant of this index; `pages` are the page ids of all indexes."""
        self.step(f"searching {len(self.index.chunks)} chunks for {len(self.questions)} questions")
        began = time.perf_counter()
        candidates = self.index.candidates(self.questions, self.settings.pool)
        searched = time.perf_counter()
        variants = self._variants()
        chunks = weighted_sum(candidates, [v.alpha for v in variants if v.alpha is not None])
        # Reciprocal rank fusion has no α and is always the last variant.
        if variants[-1].alpha is None:
            chunks = np.concatenate([chunks, reciprocal_ranks(candidates)[None]])
        stage_milliseconds: dict[int, list[float]] = {}
        for stage in self._stages(variants, chunks):
            stage_milliseconds[len(variants)] = stage.milliseconds
            variants.append(stage.variant)
            chunks = np.concatenate([chunks, stage.ranking[None]])
        values, chosen, rankings = self._measure_rankings(chunks)
        return _MeasuredSetup(
            variants=variants,
            values=values,
            chosen=chosen,
            rankings=self._renumber(rankings, pages),
            missing_quotes=[] if self.quotes is None else self.quotes.missing_quotes,
            seconds={
                "search": searched - began,
                "fuse_and_measure": time.perf_counter() - searched,
            },
            stage_milliseconds=stage_milliseconds,
            rewritten=self.rewritten,
        )

    def _variants(self) -> list[Variant]:
        if self.index.dense is None:
            return [Variant(BM25_ALONE, 0.0, "", self.setup)]
        return list_variants(self.plan, self.setup)

    def _measure_rankings(self, chunks: Ints) -> tuple[Floats, Floats, Ints]:
        """All metrics, the metric that chooses, and the rankings of pages."""
        depth = self.plan.depth
        # With one chunk per page there is nothing to collapse.
        if self.settings.unit == "page" and len(self.index.pages) < len(self.index.chunks):
            rankings = collapse(chunks, self.index.page_of)[..., :depth]
        else:
            first = chunks[..., :depth]
            rankings = np.where(first >= 0, self.index.page_of[first], -1)
        hits = hits_in_pages(rankings, self.labels)
        if self.quotes is not None:
            hits = merge_hits(hits, hits_in_chunks(chunks[..., :depth], self.quotes))
        queries = self.labels.queries
        values = measure_grid(hits, self.plan.ks, queries)
        return values, measure_choice(hits, self.plan, queries), rankings

    def _renumber(self, rankings: Ints, pages: list[str]) -> Ints:
        """The rankings with the page numbers of all indexes, padded to the same depth."""
        numbers = {page: number for number, page in enumerate(pages)}
        shared = np.array([numbers[page] for page in self.index.pages], np.int64)
        rankings = np.where(rankings >= 0, shared[rankings], -1)
        # An index with few chunks gives short rankings.
        lacking = max(self.plan.depth - rankings.shape[2], 0)
        return np.pad(rankings, ((0, 0), (0, 0), (0, lacking)), constant_values=-1)

    def _stages(self, variants: Sequence[Variant], chunks: Ints) -> list[_Stage]:
        if not self.settings.reranker and not self.settings.rewriter:
            return []
        _, chosen, _ = self._measure_rankings(chunks)
        column = self.plan.ks.index(self.plan.main_k)
        rows = [n for n, v in enumerate(variants) if v.alpha in self.plan.asked_alphas] or [0]
        best = rows[int(np.argmax(chosen[rows, column].mean(axis=1)))]
        stages: list[_Stage] = []
        if self.settings.reranker:
            stages.append(self._rerank(variants[best], chunks[best]))
        if self.settings.rewriter:
            stages.append(self._rewrite(variants[best], chunks[best]))
        return stages

    def _rerank(self, variant: Variant, ranking: Ints) -> _Stage:
        self.step(f"reranking with {self.settings.reranker}")
        reranker = load_reranker(self.settings)
        assert reranker is not None
        number = {chunk.id: n for n, chunk in enumerate(self.index.chunks)}
        reranked = np.full_like(ranking, -1)
        milliseconds: list[float] = []
        for row, question in enumerate(self.questions):
            # As in a bot, the reranker scores one pool, not the union of both searches.
            first = ranking[row, : self.settings.pool].tolist()
            passages = [passage_of_chunk(self.index, chunk) for chunk in first if chunk >= 0]
            began = time.perf_counter()
            best_first = rerank(reranker, question, passages)
            milliseconds.append(1000 * (time.perf_counter() - began))
            order = [number[passage.id or ""] for passage in best_first]
            reranked[row, : len(order)] = order
        return _Stage(self._stage_variant(variant, "rerank"), reranked, milliseconds)

    def _rewrite(self, variant: Variant, ranking: Ints) -> _Stage:
        self.step(f"rewriting with {self.settings.rewriter}")
        rewriter = load_rewriter(self.settings, self.index)
        assert rewriter is not None
        milliseconds: list[float] = []
        for question in self.questions:
            began = time.perf_counter()
            text = rewriter(question)
            milliseconds.append(1000 * (time.perf_counter() - began))
            if not isinstance(text, str):
                raise InputError(f"the rewriter gave a {type(text).__name__}; expected a text")
            self.rewritten.append(text)
        staged = self._stage_variant(variant, REWRITE)
        assert staged.alpha is not None
        candidates = self.index.candidates(self.rewritten, self.settings.pool)
        again = weighted_sum(candidates, [staged.alpha])[0]
        width = ranking.shape[1]  # another question may have more candidates, or fewer
        lacking = max(width - again.shape[1], 0)
        fitted = np.pad(again[:, :width], ((0, 0), (0, lacking)), constant_values=-1)
        return _Stage(staged, fitted, milliseconds)

    def _stage_variant(self, variant: Variant, stage: str) -> Variant:
        if variant.alpha is None:
            alpha = 0.5
        else:
            alpha = variant.alpha
        return Variant(f"{variant.name}+{stage}", alpha, stage, self.setup)
