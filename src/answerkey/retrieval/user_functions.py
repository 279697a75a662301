"""Functions of the suite's author that a retriever calls: retriever, rewriter, reranker."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from answerkey.background import call_on, event_loop
from answerkey.coerce.passages import as_passages
from answerkey.coerce.values import Place
from answerkey.errors import InputError, SettingsError
from answerkey.types import Passage
from answerkey.user_code import import_user_module, load_object

Rewriter = Callable[[str], object]
Reranker = Callable[[str, list[Passage]], Iterable[float]]
# For each question its best k passages, best first.
Retriever = Callable[[Sequence[str], int], list[list[Passage]]]
# The methods of LangChain's and LlamaIndex' retrievers, and of most clients.
_METHODS = ("invoke", "retrieve", "get_relevant_documents", "search")
_NAMES_OF_K = frozenset({"k", "top_k", "limit", "n"})


def load_function(name: str) -> Callable[..., Any]:
    """The function that `module:function` names; the module is installed or beside the suite."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise SettingsError(f'"{name}": expected "module:function"')
    function = getattr(import_user_module(module, f'"{name}"'), attribute, None)
    if function is None:
        raise SettingsError(f'module "{module}" has no function "{attribute}"')
    if not callable(function):
        raise SettingsError(f'"{name}" is not a function')
    return function


def rewrite(rewriter: Rewriter, questions: Sequence[str]) -> list[str]:
    """The texts to search with: `rewriter(question)` for each question."""
    texts: list[str] = []
    for question in questions:
        text = rewriter(question)
        if not isinstance(text, str):
            raise InputError(f"the rewriter gave a {type(text).__name__}; expected a text")
        texts.append(text)
    return texts


def rerank(reranker: Reranker, question: str, passages: list[Passage]) -> list[Passage]:
    """The passages by the scores of `reranker(question, passages)`; equal scores keep their order."""
    if not passages:
        return []
    scores = [float(score) for score in reranker(question, passages)]
    # NaN has no place in an order, and `sorted` would not complain.
    if len(scores) != len(passages) or not all(map(math.isfinite, scores)):
        raise InputError(
            f"the reranker gave {len(scores)} scores for {len(passages)} passages; "
            "expected a number each"
        )
    order = sorted(range(len(passages)), key=lambda n: -scores[n])
    return [replace(passages[n], score=scores[n]) for n in order]


def open_function_retriever(name: str, folder: Path) -> Retriever:
    """A retriever that calls the user's function; its order is kept.

    It calls `function(question, k)`, or `function(question)` where it takes no second argument,
    plain or async. An object with one of the usual methods works too.
    """
    function = _retrieval_function(load_object(name, folder, "retriever"), name)
    takes_k = _takes_k(function)

    def search(questions: Sequence[str], k: int) -> list[list[Passage]]:
        passages: list[list[Passage]] = []
        for question in questions:
            reply: object
            if takes_k:
                reply = function(question, k)
            else:
                reply = function(question)
            if inspect.isawaitable(reply):
                # The caller may be inside a running loop, as in a notebook, so another loop waits.
                reply = call_on(event_loop(), _wait_for, cast("Awaitable[object]", reply))
            # A function that takes no k may return any number of passages.
            passages.append(list(as_passages(reply, "passages", Place(f'retriever "{name}"'))[:k]))
        return passages

    return search


def _retrieval_function(loaded: Any, name: str) -> Callable[..., Any]:
    function = loaded
    # A plain function is called itself, whatever attributes it has.
    if not inspect.isroutine(loaded):
        methods = (getattr(loaded, key, None) for key in _METHODS)
        function = next((method for method in methods if callable(method)), loaded)
    # A class is callable, but returns an object instead of passages.
    if not callable(function) or inspect.isclass(loaded):
        raise SettingsError(
            f'retriever = "{name}": expected a function of (question, k) that returns passages'
        )
    return function


async def _wait_for(reply: Awaitable[object]) -> object:
    return await reply


def _takes_k(function: Callable[..., object]) -> bool:
    """Whether there is a second argument for the number of passages."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-ins have no signature
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(positional) < 2:
        return False
    # A second argument with a default may be anything, such as a filter.
    return positional[1].default is inspect.Parameter.empty or positional[1].name in _NAMES_OF_K
