"""Retrievers for bots: the hybrid ranking of an index, or the user's own function."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from answerkey.background import call_on, event_loop
from answerkey.coerce.passages import as_passages
from answerkey.coerce.values import Place
from answerkey.config.declare import read_table
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.embed import Embedder
from answerkey.errors import InputError, SettingsError
from answerkey.retrieval.fuse import (
    Candidates,
    Floats,
    order_chunks,
    reciprocal_scores,
    weighted_scores,
)
from answerkey.retrieval.question_types import classify
from answerkey.retrieval.search_index import SearchIndex, open_search_index
from answerkey.types import Passage
from answerkey.user_code import import_from, import_user_module, load_object

Reranker = Callable[[str, list[Passage]], Iterable[float]]
Retriever = Callable[
    [Sequence[str], int], list[list[Passage]]
]  # for each question its best k passages, best first
_METHODS = ("invoke", "retrieve", "get_relevant_documents", "search")


def open_retriever(
    settings: RetrievalTable | Mapping[str, object], embed: Embedder | None, folder: Path = Path()
) -> Retriever:
    """A hybrid retriever over what the settings (or the `[retrieval]` table) name, or the function that they name.
    Indexes come from the cache; modules that the settings name stand in `folder`, or are installed."""
    if isinstance(settings, Mapping):
        settings = read_table(RetrievalTable, settings, "[retrieval]", folder)
    import_from(folder)
    if settings.retriever is not None:
        return _function_retriever(settings.retriever, folder)
    return _hybrid_retriever(open_search_index(settings, embed), settings)


def _hybrid_retriever(index: SearchIndex, settings: RetrievalTable) -> Retriever:
    """The hybrid ranking of an index, with the suite's rewriter and reranker if it names them. Each passage has the score
    that it was ranked by: the reranker's, else the fused score; at α = 1 the cosine, at α = 0 BM25's."""
    rewriter = load_function(settings.rewriter) if settings.rewriter else None
    reranker = load_function(settings.reranker) if settings.reranker else None

    def search(questions: Sequence[str], k: int) -> list[list[Passage]]:
        if not questions:
            return []
        asked = rewrite(rewriter, questions) if rewriter else list(questions)
        pool = max(settings.pool, k)
        candidates = index.candidates(asked, pool)
        scores = _fused(candidates, questions, settings, index.dense is not None)
        found: list[list[Passage]] = []
        for row, best in enumerate(
            order_chunks(candidates.chunk, scores)[:, : pool if reranker else k].tolist()
        ):
            score = dict(zip(candidates.chunk[row].tolist(), scores[row].tolist(), strict=True))
            found.append([passage_of(index, chunk, score[chunk]) for chunk in best if chunk >= 0])
        if reranker is None:
            return found
        return [
            rerank(reranker, question, row)[:k]
            for question, row in zip(questions, found, strict=True)
        ]

    return search


def _fused(
    candidates: Candidates, questions: Sequence[str], settings: RetrievalTable, dense: bool
) -> Floats:
    """By α; a route gives every question the α of its type."""
    if not dense:
        return next(weighted_scores(candidates, [0.0]))
    if settings.fusion == "rrf":
        return reciprocal_scores(candidates)
    route, alpha = settings.route, settings.alpha
    alphas = [route.get(classify(text).type, alpha) if route else alpha for text in questions]
    once = list(dict.fromkeys(alphas))
    scores = dict(zip(once, weighted_scores(candidates, once), strict=True))
    return np.stack([scores[alpha][row] for row, alpha in enumerate(alphas)])


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


def rewrite(rewriter: Callable[[str], object], questions: Sequence[str]) -> list[str]:
    """`rewriter(question)` gives the text to search with."""
    asked: list[str] = []
    for question in questions:
        text = rewriter(question)
        if not isinstance(text, str):
            raise InputError(f"the rewriter gave a {type(text).__name__}; expected a text")
        asked.append(text)
    return asked


def rerank(reranker: Reranker, question: str, passages: list[Passage]) -> list[Passage]:
    """`reranker(question, passages)` gives one score per passage, higher is better; equal scores keep their order. The
    passages come back with these scores."""
    if not passages:
        return []
    scores = [float(score) for score in reranker(question, passages)]
    if len(scores) != len(passages) or not all(map(math.isfinite, scores)):
        raise InputError(
            f"the reranker gave {len(scores)} scores for {len(passages)} passages; expected a number each"
        )
    order = sorted(range(len(passages)), key=lambda n: -scores[n])
    return [replace(passages[n], score=scores[n]) for n in order]


def _function_retriever(name: str, folder: Path) -> Retriever:
    """Any other store through its own client, or a retriever of LangChain or LlamaIndex. Calls `function(question, k)`,
    or `function(question)` where it takes no second argument, plain or async; its order is kept."""
    found = load_object(name, folder, "retriever")
    methods = (method for key in _METHODS if callable(method := getattr(found, key, None)))
    function = found if inspect.isroutine(found) else next(methods, found)
    if not callable(function) or inspect.isclass(found):
        raise SettingsError(
            f'retriever = "{name}": expected a function of (question, k) that returns passages'
        )
    takes_k = _takes_k(function)

    def search(questions: Sequence[str], k: int) -> list[list[Passage]]:
        passages: list[list[Passage]] = []
        for question in questions:
            given: object = function(question, k) if takes_k else function(question)
            if inspect.isawaitable(given):
                given = call_on(event_loop(), _awaited, cast("Awaitable[object]", given))
            passages.append(list(as_passages(given, "passages", Place(f'retriever "{name}"'))[:k]))
        return passages

    return search


async def _awaited(begun: Awaitable[object]) -> object:
    return await begun


def _takes_k(function: Callable[..., object]) -> bool:
    """Whether there is a second argument for the number of passages."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-ins have no signature
        return False
    second = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:2]
    return any(p.default is p.empty or p.name in {"k", "top_k", "limit", "n"} for p in second)
