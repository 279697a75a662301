"""A retriever for bots: the hybrid ranking of an index, with the suite's rewriter and reranker if it names them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from answerkey.config.tables import RetrievalTable
from answerkey.errors import InputError, SettingsError
from answerkey.retrieval.fuse import Candidates, ranked, reciprocal_scores, weighted_scores
from answerkey.retrieval.search_index import SearchIndex
from answerkey.retrieval.top import Floats
from answerkey.types import Passage
from answerkey.user_code import import_user_module


class HybridRetriever:
    def __init__(self, index: SearchIndex, settings: RetrievalTable) -> None:
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
        candidates = self.index.candidates(asked, pool)
        scores = self._scores(candidates, questions)
        kept = pool if self._reranker else k
        found = [
            self._passages(row[:kept], dict(zip(chunks, values, strict=True)))
            for row, chunks, values in zip(
                ranked(candidates.chunk, scores).tolist(), candidates.chunk.tolist(), scores.tolist(), strict=True
            )
        ]
        if self._reranker is None:
            return found
        return [rerank(self._reranker, question, row)[:k] for question, row in zip(questions, found, strict=True)]

    def _scores(self, candidates: Candidates, questions: Sequence[str]) -> Floats:
        """By α; a route gives every question the α of its type."""
        if self.index.dense is None:
            return next(weighted_scores(candidates, [0.0]))
        if self._settings.fusion == "rrf":
            return reciprocal_scores(candidates)
        alphas = [self._settings.alpha] * len(questions)
        if self._settings.route:
            from answerkey.retrieval.question_types import classify

            alphas = [self._settings.route.get(classify(text).type, self._settings.alpha) for text in questions]
        once = list(dict.fromkeys(alphas))
        scores = dict(zip(once, weighted_scores(candidates, once), strict=True))
        return np.stack([scores[alpha][row] for row, alpha in enumerate(alphas)])

    def _passages(self, chunks: Sequence[int], scores: Mapping[int, float]) -> list[Passage]:
        return [passage_of(self.index, chunk, scores[chunk]) for chunk in chunks if chunk >= 0]


def passage_of(index: SearchIndex, chunk: int, score: float | None = None) -> Passage:
    found = index.chunks[chunk]
    return Passage(found.text, id=found.id, score=score, page=found.page)


def load_function(name: str) -> Callable[..., Any]:
    """The function that `module:function` names; the module is installed or beside the suite."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise SettingsError(f'"{name}": expected "module:function"')
    found = getattr(import_user_module(module, f'"{name}"'), attribute, None)
    if found is None:
        raise SettingsError(f'module "{module}" has no function "{attribute}"')
    if not callable(found):
        raise SettingsError(f'"{name}" is not a function')
    return found


def rewrite(rewriter: Callable[..., Any], questions: Sequence[str]) -> list[str]:
    """`rewriter(question)` gives the text to search with."""
    asked = [rewriter(question) for question in questions]
    for text in asked:
        if not isinstance(text, str):
            raise InputError(f"the rewriter gave a {type(text).__name__}; expected a text")
    return asked


def rerank(reranker: Callable[..., Any], question: str, passages: list[Passage]) -> list[Passage]:
    """`reranker(question, passages)` gives a score a passage, higher is better; equal scores keep their order.

    The passages come back with these scores.
    """
    if not passages:
        return []
    scores = [float(score) for score in reranker(question, passages)]
    if len(scores) != len(passages) or not all(map(math.isfinite, scores)):
        raise InputError(f"the reranker gave {len(scores)} scores for {len(passages)} passages; expected a number each")
    order = sorted(range(len(passages)), key=lambda n: -scores[n])
    return [replace(passages[n], score=scores[n]) for n in order]
