"""The hits of many rankings in the labels, and every metric of them at every K."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from answerkey.experiments.plan import METRICS, SweepPlan
from answerkey.metrics.ranking.formulas import measure_hits
from answerkey.metrics.ranking.hits import Floats, Hits, Ints, Places, ideal_places


@dataclass(frozen=True, slots=True)
class Labels:
    """Relevant pages by query: `code` is query · pages + page, sorted.

    Pages that the index lacks are only in `ideal`.
    """

    queries: int
    pages: int
    code: Ints
    grade: Floats
    ideal: Places


def number_labels(labels: Sequence[Mapping[str, float]], pages: Sequence[str]) -> Labels:
    """The labels with numbers of pages instead of names; a page without a name ("") is none."""
    numbers = {page: number for number, page in enumerate(pages) if page}
    grades = {
        query * len(pages) + numbers[page]: grade
        for query, row in enumerate(labels)
        for page, grade in row.items()
        if grade > 0 and page in numbers
    }
    code = sorted(grades)
    return Labels(
        queries=len(labels),
        pages=len(pages),
        code=np.array(code, np.int64),
        grade=np.array([grades[one] for one in code]),
        ideal=ideal_places(labels),
    )


def hits_in_pages(rankings: Ints, labels: Labels) -> Hits:
    """Hits of rankings (variant, query, rank) of page numbers, -1 for none.

    The result has one row per variant and query.
    """
    variants, queries, depth = (int(size) for size in rankings.shape)
    # Query and page become one number, so that one sorted search finds the labels of all queries.
    offsets = np.arange(queries)[None, :, None] * labels.pages
    # Codes of labels begin at 0, so -1 equals none of them.
    codes = np.where(rankings >= 0, offsets + rankings, -1).reshape(-1, depth)
    ideal = repeat_places(labels.ideal, variants, queries)
    if not len(labels.code):
        nothing = Places(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        return Hits(variants * queries, nothing, ideal)
    label = np.searchsorted(labels.code, codes)
    # Codes past the last label: any label will do, because the comparison below fails.
    label[label == len(labels.code)] = 0
    row, column = np.nonzero(labels.code[label] == codes)
    label = label[row, column]
    # The first hit of a label in a ranking counts; later ones are further chunks of the page.
    is_repeat = np.ones(len(row), bool)
    is_repeat[np.unique(row * len(labels.code) + label, return_index=True)[1]] = False
    places = Places(row, column + 1, labels.grade[label], is_repeat)
    return Hits(variants * queries, places, ideal)


def repeat_places(ideal: Places, variants: int, queries: int) -> Places:
    """The same places once for each variant."""
    shift = np.repeat(np.arange(variants) * queries, len(ideal.query))
    return Places(
        np.tile(ideal.query, variants) + shift,
        np.tile(ideal.rank, variants),
        np.tile(ideal.grade, variants),
    )


def merge_hits(one: Hits, other: Hits) -> Hits:
    """The hits of both; a query has them in one of the two."""
    return Hits(
        one.queries,
        _merge_places(one.found, other.found),
        _merge_places(one.ideal, other.ideal),
    )


def _merge_places(one: Places, other: Places) -> Places:
    both = (one, other)
    query = np.concatenate([places.query for places in both])
    rank = np.concatenate([places.rank for places in both])
    grade = np.concatenate([places.grade for places in both])
    again = [
        np.zeros(len(places.query), bool) if places.again is None else places.again
        for places in both
    ]
    merged = Places(query, rank, grade, np.concatenate(again))
    # The formulas need the places of a query together and in the order of their ranks.
    return merged.pick(np.lexsort((rank, query)))


def measure_grid(hits: Hits, ks: Sequence[int], queries: int) -> Floats:
    """(variant, K, query, metric): every metric at every K."""
    columns = measure_hits(hits, [f"{name}@{k}" for k in ks for name in METRICS])
    table = np.stack(list(columns.values())).reshape(len(ks), len(METRICS), -1, queries)
    return np.ascontiguousarray(table.transpose(2, 0, 3, 1))


def measure_choice(hits: Hits, plan: SweepPlan, queries: int) -> Floats:
    """(variant, K, query): the metric that chooses, measured on the first K places."""
    metric, cut = plan.select
    columns: list[Floats] = []
    for k in plan.ks:
        name = f"{metric}@{cut or k}"
        # A setting with K = 3 is measured on three places even if the metric looks at ten.
        first = hits.found.pick(hits.found.rank <= k)
        values = measure_hits(Hits(hits.queries, first, hits.ideal), [name])[name]
        columns.append(values.reshape(-1, queries))
    return np.stack(columns, axis=1)
