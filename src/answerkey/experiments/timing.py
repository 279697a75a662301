"""How long single searches take, one question at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from answerkey.experiments.plan import Variant
from answerkey.metrics.ranking.hits import Floats
from answerkey.retrieval.fuse import pool_candidates, weighted_sum
from answerkey.retrieval.search_index import SearchIndex

TIMED = 50  # enough for a mean and a 95th percentile


def time_searches(
    index: SearchIndex,
    questions: Sequence[str],
    pool: int,
    variants: Sequence[Variant],
    columns: int,
) -> Floats:
    """(variant, question) in milliseconds: the searches of the variant, with embedding.

    The first `TIMED` questions are timed, the rest of the `columns` are NaN; so are stages, whose
    time is measured where they run.
    """
    # A new question would miss the cache: the embedder below it is timed.
    embed = getattr(index.embed, "inner", index.embed)
    timed = replace(index, embed=embed)
    table = np.full((len(variants), columns), np.nan)
    if questions:
        timed.search_dense(questions[:1], pool)  # the first call warms the model up
    for column, question in enumerate(questions[:TIMED]):
        seconds, fusing = _time_question(timed, question, pool)
        for row, variant in enumerate(variants):
            if variant.stage:
                continue
            taken = sum(seconds[search] for search in variant.searches)
            # α = 0 and α = 1 take one ranking as it is and fuse nothing.
            if len(variant.searches) > 1:
                taken += fusing
            table[row, column] = 1000 * taken
    return table


def _time_question(index: SearchIndex, question: str, pool: int) -> tuple[dict[str, float], float]:
    """The seconds of each search and of fusing both."""
    # One question at a time, as a user asks: a batch would look faster than any single search is.
    began = time.perf_counter()
    dense = index.search_dense([question], pool)
    after_dense = time.perf_counter()
    sparse = index.sparse([question], pool)
    after_sparse = time.perf_counter()
    weighted_sum(pool_candidates(dense, sparse), [0.5])
    fusing = time.perf_counter() - after_sparse
    return {"dense": after_dense - began, "sparse": after_sparse - after_dense}, fusing


def add_stage_times(
    table: Floats, variants: Sequence[Variant], stages: Mapping[int, Sequence[float]]
) -> Floats:
    """The table with the rows of stages: the searches of the same α, and the stage itself."""
    for row, milliseconds in stages.items():
        alpha = variants[row].alpha
        # The searches before the stage are those of the same α without it.
        base = next(
            (n for n, variant in enumerate(variants) if variant.alpha == alpha and n not in stages),
            None,
        )
        if base is not None:
            table[row] = table[base] + np.array(milliseconds)
    return table
