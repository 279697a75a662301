"""Which rankings a sweep compares, at which cut-offs, and the hits of their pages and quotes in the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.errors import SettingsError
from answerkey.metrics.ranking.formulas import CUT_METRICS, measure_hits, parse_name
from answerkey.metrics.ranking.hits import Floats, Hits, Ints, Places, ideal_places
from answerkey.retrieval.chunks import Chunk
from answerkey.text import words

NAMED = {
    "Pure_Dense_FAISS": 1.0,
    "Dense_Heavy_Hybrid": 0.7,
    "Balanced_Hybrid": 0.5,
    "Sparse_Heavy_Hybrid": 0.3,
    "Pure_Sparse_BM25": 0.0,
}
RRF = "Reciprocal_Rank_Fusion"
STANDARD_K = 5
STANDARD_ALPHAS = tuple(step / 10 for step in range(11))
STANDARD_KS = (3, 5, 7, 10, 15, 20)
METRICS = CUT_METRICS
Quotes = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to rank. `alpha` is None for reciprocal ranks; `stage` is "rerank" or "rewrite" where one was used.
    `setup` numbers the index: a chunking and an embedding model."""

    name: str
    alpha: float | None
    stage: str = ""
    setup: int = 0

    @property
    def uses(self) -> tuple[str, ...]:
        """Which searches it needs."""
        return (
            ("dense",)
            if self.alpha == 1
            else ("sparse",)
            if self.alpha == 0
            else ("dense", "sparse")
        )

    @property
    def is_method(self) -> bool:
        """Named, a fusion of ranks or a stage, rather than one of many α."""
        return self.name in NAMED or self.alpha is None or bool(self.stage)


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What is tried. `standard`: the three standard tests, instead of every α asked for at every K asked for. `alphas`
    and `ks` hold those and what `named` and `topk_alpha` add. `select` is the metric that chooses, with a cut-off, or
    None for each setting's own K."""

    alphas: tuple[float, ...]
    ks: tuple[int, ...]
    asked_alphas: tuple[float, ...]
    asked_ks: tuple[int, ...]
    rrf: bool
    named: bool
    standard: bool
    topk_alpha: float | None
    select: tuple[str, int | None]

    @property
    def select_name(self) -> str:
        metric, cut = self.select
        return f"{metric}@{cut}" if cut else f"{metric}@K"

    @property
    def depth(self) -> int:
        return max(*self.ks, self.select[1] or 0)

    @property
    def main_k(self) -> int:
        """The K at which methods and α are compared: 5, or else the largest that was asked for."""
        return STANDARD_K if STANDARD_K in self.ks else self.asked_ks[-1]

    def cut_offs(self, variant: Variant, topk: bool) -> tuple[int, ...]:
        """At which K this variant is one of the settings; `topk`: it is the one of the top-K analysis."""
        if self.standard and not topk:
            return (STANDARD_K,)
        asked = topk or variant.alpha is None or variant.stage or variant.alpha in self.asked_alphas
        named = self.named and variant.name in NAMED
        return tuple(sorted({*(self.asked_ks if asked else ()), *((STANDARD_K,) if named else ())}))


def make_plan(settings: RetrievalTable, with_dense: bool = True) -> SweepPlan:
    """The standard tests where neither `alphas` nor `ks` is given, else exactly those; without dense search only α = 0."""
    standard = not settings.sweep.alphas and not settings.sweep.ks
    asked_alphas, asked_ks = (
        settings.sweep.alphas or STANDARD_ALPHAS,
        settings.sweep.ks or STANDARD_KS,
    )
    named, topk_alpha = (
        settings.sweep.named and with_dense,
        settings.sweep.topk_alpha if with_dense else None,
    )
    if not with_dense:
        if settings.sweep.alphas and settings.sweep.alphas != (0.0,):
            given = list(settings.sweep.alphas)
            raise SettingsError(
                f'[retrieval] alphas = {given}: expected only 0.0 with [embedding] model = "none"'
            )
        asked_alphas = (0.0,)
    asked_alphas = tuple(round(alpha, 6) for alpha in asked_alphas)
    more = [
        *(NAMED.values() if named else ()),
        *(() if topk_alpha is None else (round(topk_alpha, 6),)),
    ]
    select: tuple[str, int | None] = ("ndcg", STANDARD_K if standard else asked_ks[-1])
    if settings.sweep.select:
        try:
            select = (
                (settings.sweep.select, None)
                if settings.sweep.select in METRICS
                else parse_name(settings.sweep.select)
            )
        except SettingsError as error:
            raise SettingsError(f"[retrieval] select: {error}") from None
    return SweepPlan(
        tuple(sorted({*asked_alphas, *more})),
        tuple(sorted({*asked_ks, *((STANDARD_K,) if named else ())})),
        asked_alphas,
        asked_ks,
        rrf=with_dense and (settings.sweep.rrf or standard),
        named=named,
        standard=standard,
        topk_alpha=topk_alpha,
        select=select,
    )


def list_variants(plan: SweepPlan, setup: int) -> list[Variant]:
    """A variant per α, ascending, and reciprocal rank fusion where it is asked for."""
    names = {alpha: name for name, alpha in NAMED.items()}
    found = [
        Variant(names.get(alpha, f"Hybrid_{alpha:g}"), alpha, "", setup) for alpha in plan.alphas
    ]
    return [*found, *([Variant(RRF, None, "", setup)] if plan.rrf else ())]


@dataclass(frozen=True, slots=True)
class Labels:
    """Relevant pages by query: `code` is query · pages + page, sorted; pages that the index lacks are only in `ideal`."""

    queries: int
    pages: int
    code: Ints
    grade: Floats
    ideal: Places


def number_labels(labels: Sequence[Mapping[str, float]], pages: Sequence[str]) -> Labels:
    numbers = {page: number for number, page in enumerate(pages)}
    grades = {
        query * len(pages) + numbers[page]: grade
        for query, row in enumerate(labels)
        for page, grade in row.items()
        if grade > 0 and page in numbers
    }
    code = np.array(sorted(grades), np.int64)
    return Labels(
        len(labels),
        len(pages),
        code,
        np.array([grades[n] for n in sorted(grades)]),
        ideal_places(labels),
    )


def hits_in_pages(rankings: Ints, labels: Labels) -> Hits:
    """Hits of rankings (variant, query, rank) of page numbers, -1 for none; one row per variant and query."""
    variants, queries, depth = (int(size) for size in rankings.shape)
    codes = np.where(
        rankings >= 0, np.arange(queries)[None, :, None] * labels.pages + rankings, -1
    ).reshape(-1, depth)
    place = np.searchsorted(labels.code, codes)
    place[place == len(labels.code)] = 0
    hit = (labels.code[place] == codes) if len(labels.code) else np.zeros(codes.shape, bool)
    row, column = np.nonzero(hit)
    again = np.ones(len(row), bool)
    again[np.unique(row * len(labels.code) + place[row, column], return_index=True)[1]] = False
    found = Places(
        row, column + 1, labels.grade[place[row, column]] if len(row) else np.empty(0), again
    )
    return Hits(variants * queries, found, _repeated(labels.ideal, variants, queries))


def _repeated(ideal: Places, variants: int, queries: int) -> Places:
    shift = np.repeat(np.arange(variants) * queries, len(ideal.query))
    return Places(
        np.tile(ideal.query, variants) + shift,
        np.tile(ideal.rank, variants),
        np.tile(ideal.grade, variants),
    )


@dataclass(frozen=True, slots=True)
class QuoteLabels:
    """Which chunks hold the quotes of a query: `share[query][chunk]` lists (quote, share of its words)."""

    quotes: tuple[Quotes, ...]
    share: tuple[dict[int, list[tuple[int, float]]], ...]

    @property
    def lost(self) -> list[str]:
        """The quotes that no chunk holds."""
        return [
            quote
            for asked, found in zip(self.quotes, self.share, strict=True)
            for n, quote in enumerate(asked)
            if not any(n == number for held in found.values() for number, _ in held)
        ]


def find_quotes(quotes: Sequence[Quotes], chunks: Sequence[Chunk], least: float) -> QuoteLabels:
    """A chunk is relevant where it holds at least this share of a quote, in runs of words as the quote has them."""
    posting: dict[tuple[str, ...], list[int]] = {}
    wanted = {pair for asked in quotes for quote in asked for pair in _pairs(quote)}
    for number, chunk in enumerate(chunks):
        for pair in set(_pairs(chunk.text)) & wanted:
            posting.setdefault(pair, []).append(number)
    found: list[dict[int, list[tuple[int, float]]]] = []
    for asked in quotes:
        held: dict[int, list[tuple[int, float]]] = {}
        for n, quote in enumerate(asked):
            pairs = set(_pairs(quote))
            counts = Counter(chunk for pair in pairs for chunk in posting.get(pair, ()))
            for chunk, count in counts.items():
                if count / len(pairs) >= least:
                    held.setdefault(chunk, []).append((n, count / len(pairs)))
        found.append(held)
    return QuoteLabels(tuple(quotes), tuple(found))


def _pairs(text: str) -> list[tuple[str, ...]]:
    """Neighbouring words; a single word for a text of one."""
    found = words(text)
    return list(pairwise(found)) or [(word,) for word in found]


def hits_in_chunks(rankings: Ints, labels: QuoteLabels) -> Hits:
    """Hits of rankings (variant, query, rank) of chunk numbers. Each quote counts once, at its first chunk. A further
    chunk with only quotes already found is left out of the ranking; one with two new quotes takes two ranks."""
    variants, queries, _ = (int(size) for size in rankings.shape)
    places: list[tuple[int, int, float]] = []
    for query, held in enumerate(labels.share):
        if not held:
            continue
        for variant, row in enumerate(np.isin(rankings[:, query], list(held))):
            seen: set[int] = set()
            moved = 0
            for column in np.flatnonzero(row).tolist():
                new = [
                    (n, share)
                    for n, share in held[int(rankings[variant, query, column])]
                    if n not in seen
                ]
                row_number = variant * queries + query
                places += [
                    (row_number, column + 1 + moved + more, share)
                    for more, (_, share) in enumerate(new)
                ]
                seen.update(n for n, _ in new)
                moved += len(new) - 1
    places.sort()
    kinds = (np.int64, np.int64, float)
    found = Places(
        *(np.array([place[n] for place in places], kind) for n, kind in enumerate(kinds))
    )
    ideal = ideal_places([{str(n): 1.0 for n in range(len(asked))} for asked in labels.quotes])
    return Hits(variants * queries, found, _repeated(ideal, variants, queries))


def merge_hits(one: Hits, other: Hits) -> Hits:
    """The hits of both; a query has them in one of the two."""

    def both(a: Places, b: Places) -> Places:
        again = [
            np.zeros(len(each.query), bool) if each.again is None else each.again for each in (a, b)
        ]
        parts = [(each.query, each.rank, each.grade) for each in (a, b)]
        query, rank, grade = map(np.concatenate, zip(*parts, strict=True))
        return Places(query, rank, grade, np.concatenate(again)).pick(np.lexsort((rank, query)))

    return Hits(one.queries, both(one.found, other.found), both(one.ideal, other.ideal))


def measure_grid(hits: Hits, ks: Sequence[int], queries: int) -> Floats:
    """(variant, K, query, metric): every metric at every K."""
    columns = measure_hits(hits, [f"{name}@{k}" for k in ks for name in METRICS])
    table = np.stack(list(columns.values())).reshape(len(ks), len(METRICS), -1, queries)
    return np.ascontiguousarray(table.transpose(2, 0, 3, 1))


def measure_choice(hits: Hits, plan: SweepPlan, queries: int) -> Floats:
    """(variant, K, query): the metric that chooses, of the first K places."""
    metric, cut = plan.select
    columns: list[Floats] = []
    for k in plan.ks:
        name = f"{metric}@{cut or k}"
        first = hits.found.pick(hits.found.rank <= k)
        columns.append(
            measure_hits(Hits(hits.queries, first, hits.ideal), [name])[name].reshape(-1, queries)
        )
    return np.stack(columns, axis=1)
