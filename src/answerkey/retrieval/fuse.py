"""Dense and sparse candidates in one ranking: a weighted sum for all α at once, or RRF.

Every tie is decided the same way: the first column wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]  # one row per text, of length 1


@dataclass(frozen=True, slots=True)
class Top:
    """The best chunks of each row: `chunk` is -1 and `score` -inf where there are fewer."""

    chunk: Ints
    score: Floats


def select_top(scores: NDArray[np.floating], pool: int) -> Top:
    """The `pool` highest of each row, best first; -inf means "not retrieved"."""
    pool = min(pool, int(scores.shape[1]))
    best = _highest_columns(scores, pool)
    kept = np.take_along_axis(scores, best, axis=1).astype(np.float64)
    # Chunks are ordered by page id: a stable sort decides ties as trec_eval does.
    order = np.argsort(-kept, axis=1, kind="stable")
    score = np.take_along_axis(kept, order, axis=1)
    chunk = np.take_along_axis(best, order, axis=1).astype(np.int64)
    return Top(np.where(score > -np.inf, chunk, -1), score)


def _highest_columns(scores: NDArray[np.floating], pool: int) -> Ints:
    """The columns of the `pool` highest scores of each row, in ascending order."""
    rows, columns = (int(size) for size in scores.shape)
    if pool == columns:
        return np.tile(np.arange(columns), (rows, 1))
    best = np.argpartition(scores, columns - pool, axis=1)[:, columns - pool :]
    edge = np.take_along_axis(scores, best[:, :1], axis=1)
    # An edge of -inf means fewer hits than the pool, so that no tie decides anything.
    has_tie = (np.count_nonzero(scores >= edge, axis=1) > pool) & (edge[:, 0] > -np.inf)
    for row in np.flatnonzero(has_tie):  # argpartition takes any of equal scores
        best[row] = np.argsort(-scores[row], kind="stable")[:pool]
    best.sort(axis=1)
    return best


def merge_blocks(parts: list[Top], pool: int) -> Top:
    """The rows of several blocks of questions, one below the other."""
    if not parts:
        return Top(np.empty((0, pool), np.int64), np.empty((0, pool)))
    return Top(
        np.concatenate([part.chunk for part in parts]),
        np.concatenate([part.score for part in parts]),
    )


@dataclass(frozen=True, slots=True)
class Candidates:
    """The union of both pools, one row per query, by chunk; NaN where a side has no value."""

    chunk: Ints
    dense: Floats
    sparse: Floats
    dense_rank: Floats
    sparse_rank: Floats


def pool_candidates(dense: Top, sparse: Top) -> Candidates:
    """Each chunk of either pool once, lowest chunk first; raw scores, and ranks from 1."""
    chunk = np.concatenate([dense.chunk, sparse.chunk], axis=1)
    last = np.iinfo(np.int64).max  # absent entries go last
    order = np.argsort(np.where(chunk < 0, last, chunk), axis=1, kind="stable")
    chunk = np.take_along_axis(chunk, order, axis=1)
    dense_score, dense_rank = _spread_side(dense, 0, order)
    sparse_score, sparse_rank = _spread_side(sparse, dense.chunk.shape[1], order)
    # A chunk of both pools stands twice, the dense entry first: the sparse values move up to it.
    is_double = (chunk[:, 1:] == chunk[:, :-1]) & (chunk[:, 1:] >= 0)
    for values in (sparse_score, sparse_rank):
        values[:, :-1] = np.where(is_double, values[:, 1:], values[:, :-1])
    chunk[:, 1:][is_double] = -1
    return Candidates(chunk, dense_score, sparse_score, dense_rank, sparse_rank)


def weighted_sum(candidates: Candidates, alphas: Sequence[float]) -> Ints:
    """For each α the chunks of each query, best first: shape (α, queries, candidates).

    Each side is scaled to 0..1 over its own pool (equal scores all become 1); a chunk that a side
    did not retrieve gets 0 from it. α = 1 is exactly the dense ranking, α = 0 the sparse one.
    """
    rankings = np.empty((len(alphas), *candidates.chunk.shape), np.int64)
    for row, scores in enumerate(weighted_scores(candidates, alphas)):
        rankings[row] = order_chunks(candidates.chunk, scores)
    return rankings


def weighted_scores(candidates: Candidates, alphas: Sequence[float]) -> Iterator[Floats]:
    """For each α the scores of its ranking: the raw scores of one side at α = 0 and α = 1."""
    dense = np.nan_to_num(_scale_side(candidates.dense))
    sparse = np.nan_to_num(_scale_side(candidates.sparse))
    for alpha in alphas:
        # Not the scaled sum: chunks that only the other side found would be ranked with 0.
        if alpha == 1.0:
            yield np.nan_to_num(candidates.dense, nan=-np.inf)
        elif alpha == 0.0:
            yield np.nan_to_num(candidates.sparse, nan=-np.inf)
        else:
            yield alpha * dense + (1.0 - alpha) * sparse


def reciprocal_ranks(candidates: Candidates) -> Ints:
    """The chunks of each query by the sum of their reciprocal ranks, best first."""
    return order_chunks(candidates.chunk, reciprocal_scores(candidates))


def reciprocal_scores(candidates: Candidates, constant: float = 60.0) -> Floats:
    """1/(constant + rank), summed over both sides."""
    # 60 is the constant of the paper (Cormack, Clarke and Büttcher 2009), which most tools use.
    dense = np.nan_to_num(1.0 / (constant + candidates.dense_rank))
    sparse = np.nan_to_num(1.0 / (constant + candidates.sparse_rank))
    return dense + sparse


def collapse(ranking: Ints, page_of: Ints) -> Ints:
    """Chunks to pages, each page once, at the rank of its first chunk; -1 at the end."""
    # The index -1 reads the last page; `where` replaces it.
    pages = np.where(ranking >= 0, page_of[ranking], -1)
    order = np.argsort(pages, axis=-1, kind="stable")
    by_page = np.take_along_axis(pages, order, axis=-1)
    is_repeat = np.zeros(pages.shape, bool)
    np.put_along_axis(is_repeat, order[..., 1:], by_page[..., 1:] == by_page[..., :-1], axis=-1)
    is_repeat |= pages < 0
    # A stable sort by the flag moves repeats to the end and keeps the order of the rest.
    first = np.argsort(is_repeat, axis=-1, kind="stable")
    return np.take_along_axis(np.where(is_repeat, -1, pages), first, axis=-1)


def order_chunks(chunk: Ints, scores: Floats) -> Ints:
    """The chunks of each query, best first, -1 at the end; a score of -inf is no place."""
    scores = np.where(chunk >= 0, scores, -np.inf)
    order = np.argsort(-scores, axis=1, kind="stable")
    best = np.take_along_axis(scores, order, axis=1)
    return np.where(best > -np.inf, np.take_along_axis(chunk, order, axis=1), -1)


def _spread_side(top: Top, offset: int, order: Ints) -> tuple[Floats, Floats]:
    """Score and rank of one side over the columns of the union, NaN where the side has none."""
    own = slice(offset, offset + top.chunk.shape[1])
    score, rank = np.full((2, *order.shape), np.nan)
    score[:, own] = np.where(top.chunk >= 0, top.score, np.nan)
    rank[:, own] = np.where(top.chunk >= 0, np.arange(1.0, top.chunk.shape[1] + 1), np.nan)
    return np.take_along_axis(score, order, axis=1), np.take_along_axis(rank, order, axis=1)


def _scale_side(side: Floats) -> Floats:
    """Min-max over the pool of each query; equal scores all become 1."""
    is_there = ~np.isnan(side)
    low = np.min(side, axis=1, initial=np.inf, where=is_there, keepdims=True)
    high = np.max(side, axis=1, initial=-np.inf, where=is_there, keepdims=True)
    # A side without candidates has a spread of -inf, which is not divided by.
    spread = high - low
    scaled = np.divide(side - low, spread, out=np.ones_like(side), where=spread > 0)
    return np.where(is_there, scaled, np.nan)
