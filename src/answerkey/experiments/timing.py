"""How long one search takes: each stage timed once a question, one question at a time, as a live bot would."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from answerkey.experiments.grid import Variant
from answerkey.metrics.ranking.hits import Floats
from answerkey.retrieval.fuse import pool_candidates, weighted_sum
from answerkey.retrieval.index import Index

TIMED = 50


def time_searches(
    index: Index, questions: Sequence[str], pool: int, variants: Sequence[Variant], columns: int
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
                table[row, column] = sum(cost[use] for use in variant.uses) + (
                    fusing if len(variant.uses) > 1 else 0.0
                )
    return table


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return (time.perf_counter() - start) * 1000.0, result
