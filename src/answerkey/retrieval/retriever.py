"""A retriever for bots: the hybrid ranking of an index, with the suite's rewriter and reranker if it names them."""

from __future__ import annotations

from collections.abc import Sequence

from answerkey.retrieval.functions import load_function, rerank, rewrite
from answerkey.retrieval.fuse import pool_candidates, reciprocal_ranks, weighted_sum
from answerkey.retrieval.index import Index
from answerkey.retrieval.settings import RetrievalSettings
from answerkey.types import Passage


class HybridRetriever:
    def __init__(self, index: Index, settings: RetrievalSettings) -> None:
        self.index, self._settings = index, settings
        self._rewriter = load_function(settings.rewriter) if settings.rewriter else None
        self._reranker = load_function(settings.reranker) if settings.reranker else None

    def search(self, questions: Sequence[str], k: int) -> list[list[Passage]]:
        """For each question its best `k` passages, best first; `score` is the cosine or None where BM25 alone found it."""
        if not questions:
            return []
        asked = rewrite(self._rewriter, questions) if self._rewriter else list(questions)
        pool = max(self._settings.pool, k)
        dense = self.index.dense.search(self.index.embed_questions(asked), pool)
        candidates = pool_candidates(dense, self.index.sparse.search(asked, pool))
        if self._settings.fusion == "rrf":
            ranking = reciprocal_ranks(candidates)
        else:
            ranking = weighted_sum(candidates, [self._settings.alpha])[0]
        cosine = [
            dict(zip(row.tolist(), scores.tolist(), strict=True))
            for row, scores in zip(dense.chunk, dense.score, strict=True)
        ]
        found = [
            [
                passage_of(self.index, chunk, scores.get(chunk))
                for chunk in row[: pool if self._reranker else k]
                if chunk >= 0
            ]
            for row, scores in zip(ranking.tolist(), cosine, strict=True)
        ]
        if self._reranker is None:
            return found
        return [
            rerank(self._reranker, question, row)[:k] for question, row in zip(questions, found, strict=True)
        ]


def passage_of(index: Index, chunk: int, score: float | None = None) -> Passage:
    found = index.chunks[chunk]
    return Passage(found.text, id=found.id, score=score, page=found.page)
