"""The suite's own functions: a rewriter of questions, a reranker of passages, named `module:function`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from answerkey.errors import InputError, SettingsError
from answerkey.types import Passage


def load_function(name: str) -> Callable[..., Any]:
    """The function that `module:function` names; the module is installed or beside the suite."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise SettingsError(f'"{name}": expected "module:function"')
    try:
        found = getattr(import_module(module), attribute)
    except ImportError as error:
        raise SettingsError(f'cannot import "{name}": {error}') from None
    except AttributeError:
        raise SettingsError(f'module "{module}" has no function "{attribute}"') from None
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
        raise InputError(
            f"the reranker gave {len(scores)} scores for {len(passages)} passages; expected a number each"
        )
    order = sorted(range(len(passages)), key=lambda n: -scores[n])
    return [replace(passages[n], score=scores[n]) for n in order]
