"""Retrievers for bots: the hybrid ranking of an index, or the user's own function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from answerkey.config.declare import read_table
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.embed import Embedder
from answerkey.retrieval.fuse import (
    Candidates,
    Floats,
    order_chunks,
    reciprocal_scores,
    weighted_scores,
)
from answerkey.retrieval.question_types import classify
from answerkey.retrieval.search_index import SearchIndex, open_search_index
from answerkey.retrieval.stages import load_reranker, load_rewriter
from answerkey.retrieval.user_functions import (
    Retriever,
    open_function_retriever,
    rerank,
    rewrite,
)
from answerkey.types import Passage
from answerkey.user_code import import_from


def open_retriever(
    settings: RetrievalTable | Mapping[str, object], embed: Embedder | None, folder: Path = Path()
) -> Retriever:
    """The retriever that the settings, or the `[retrieval]` table, describe.

    Indexes come from the cache; modules that the settings name are in `folder`, or installed.
    """
    if isinstance(settings, Mapping):
        settings = read_table(RetrievalTable, settings, "[retrieval]", folder)
    import_from(folder)
    if settings.retriever is not None:
        return open_function_retriever(settings.retriever, folder)
    return _open_hybrid_retriever(open_search_index(settings, embed), settings)


def _open_hybrid_retriever(index: SearchIndex, settings: RetrievalTable) -> Retriever:
    """The hybrid ranking of an index, with rewriter and reranker if the settings name them.

    Each passage has the score that it was ranked by: the reranker's, else the fused score; at
    α = 1 that is the cosine, at α = 0 the score of BM25.
    """
    rewriter = load_rewriter(settings, index)
    reranker = load_reranker(settings)

    def search(questions: Sequence[str], k: int) -> list[list[Passage]]:
        # Without limits, `max` below would get a single number and raise.
        if not questions:
            return []
        if rewriter:
            texts = rewrite(rewriter, questions)
        else:
            texts = list(questions)
        limits = [_k_of_question(question, k, settings) for question in questions]
        # `route_k` may ask for more passages than the pool has.
        pool = max(settings.pool, *limits)
        candidates = index.candidates(texts, pool)
        # The type is that of the user's question: a rewriter may turn it into keywords.
        scores = _fuse_scores(candidates, questions, settings, has_dense=index.dense is not None)
        rankings = [_passages(index, candidates, scores, row) for row in range(len(questions))]
        if reranker is not None:
            rankings = [
                # Both searches together give up to two pools; a reranker is slow and scores one.
                rerank(reranker, question, passages[:pool])
                for question, passages in zip(questions, rankings, strict=True)
            ]
        return [passages[:limit] for passages, limit in zip(rankings, limits, strict=True)]

    return search


def _k_of_question(question: str, k: int, settings: RetrievalTable) -> int:
    """The number of passages for this question: that of its type, or else `k`."""
    if not settings.route_k:
        return k
    return settings.route_k.get(classify(question).type, k)


def _fuse_scores(
    candidates: Candidates, questions: Sequence[str], settings: RetrievalTable, *, has_dense: bool
) -> Floats:
    """The fused scores; with a route, every question has the α of its type."""
    # Without an embedding model only BM25 has candidates, whatever α says.
    if not has_dense:
        return next(weighted_scores(candidates, [0.0]))
    if settings.fusion == "rrf":
        return reciprocal_scores(candidates)
    if not settings.route:
        return next(weighted_scores(candidates, [settings.alpha]))
    alphas = [settings.route.get(classify(text).type, settings.alpha) for text in questions]
    # One sum per distinct α serves all questions.
    distinct = list(dict.fromkeys(alphas))
    scores = dict(zip(distinct, weighted_scores(candidates, distinct), strict=True))
    return np.stack([scores[alpha][row] for row, alpha in enumerate(alphas)])


def _passages(
    index: SearchIndex, candidates: Candidates, scores: Floats, row: int
) -> list[Passage]:
    """The passages of one question, best first, with their scores."""
    score = dict(zip(candidates.chunk[row].tolist(), scores[row].tolist(), strict=True))
    ranking = order_chunks(candidates.chunk[row : row + 1], scores[row : row + 1])[0].tolist()
    return [passage_of_chunk(index, chunk, score[chunk]) for chunk in ranking if chunk >= 0]


def passage_of_chunk(index: SearchIndex, number: int, score: float | None = None) -> Passage:
    """A chunk as a passage; its page is the id that labels name."""
    chunk = index.chunks[number]
    return Passage(chunk.text, id=chunk.id, score=score, page=chunk.page or None)
