"""A retriever for bots: the hybrid ranking of an index, with the suite's rewriter and reranker if it names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerkey.retrieval.functions import load_function, rerank, rewrite
from answerkey.retrieval.fuse import Candidates, pool_candidates, ranked, reciprocal_scores, weighted_scores
from answerkey.retrieval.index import Index
from answerkey.retrieval.settings import RetrievalSettings
from answerkey.retrieval.top import Floats
from answerkey.types import Passage


class HybridRetriever:
    def __init__(self, index: Index, settings: RetrievalSettings) -> None:
        self.index, self._settings = index, settings
        self._rewriter = load_function(settings.rewriter) if settings.rewriter else None
        self._reranker = load_function(settings.reranker) if settings.reranker else None

    def search(self, questions: Sequence[str], k: int) -> list[list[Passage]]:
        """For each question its best `k` passages, best first, each with the score that it was ranked by.

        That is the reranker's where there is one, else the fused score; at α = 1 the cosine, at α = 0 BM25's.
        """
        if not questions:
            return []
        asked = rewrite(self._rewriter, questions) if self._rewriter else list(questions)
        pool = max(self._settings.pool, k)
        dense = self.index.dense.search(self.index.embed_questions(asked), pool)
        candidates = pool_candidates(dense, self.index.sparse.search(asked, pool))
        scores = self._scores(candidates)
        kept = pool if self._reranker else k
        found = [
            self._passages(row[:kept], dict(zip(chunks, values, strict=True)))
            for row, chunks, values in zip(
                ranked(candidates.chunk, scores).tolist(),
                candidates.chunk.tolist(),
                scores.tolist(),
                strict=True,
            )
        ]
        if self._reranker is None:
            return found
        return [
            rerank(self._reranker, question, row)[:k] for question, row in zip(questions, found, strict=True)
        ]

    def _scores(self, candidates: Candidates) -> Floats:
        if self._settings.fusion == "rrf":
            return reciprocal_scores(candidates)
        return next(weighted_scores(candidates, [self._settings.alpha]))

    def _passages(self, chunks: Sequence[int], scores: Mapping[int, float]) -> list[Passage]:
        return [passage_of(self.index, chunk, scores[chunk]) for chunk in chunks if chunk >= 0]


def passage_of(index: Index, chunk: int, score: float | None = None) -> Passage:
    found = index.chunks[chunk]
    return Passage(found.text, id=found.id, score=score, page=found.page)
