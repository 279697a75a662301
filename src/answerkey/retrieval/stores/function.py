"""Any other store through its own client: a function, or a retriever of LangChain or LlamaIndex, that gives passages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from answerkey.background import call_on, event_loop
from answerkey.coerce.passages import as_passages
from answerkey.coerce.values import Place
from answerkey.errors import SettingsError
from answerkey.types import Passage
from answerkey.user_code import load_object

_METHODS = ("invoke", "retrieve", "get_relevant_documents", "search")


class FunctionRetriever:
    """Calls `function(question, k)`, or `function(question)` where it takes no second argument, plain or async."""

    def __init__(self, name: str, folder: Any) -> None:
        found = load_object(name, folder, "retriever")
        function = found if inspect.isroutine(found) else next(
            (method for key in _METHODS if callable(method := getattr(found, key, None))), found
        )  # fmt: skip
        if not callable(function) or inspect.isclass(found):
            raise SettingsError(f'retriever = "{name}": expected a function of (question, k) that returns passages')
        self._name, self._function, self._takes_k = name, function, _takes_k(function)

    def search(self, questions: Sequence[str], k: int) -> list[list[Passage]]:
        """For each question its first `k` passages, in the order in which the function gives them."""
        return [list(self._passages(question, k)[:k]) for question in questions]

    def _passages(self, question: str, k: int) -> tuple[Passage, ...]:
        found = self._function(question, k) if self._takes_k else self._function(question)
        if inspect.isawaitable(found):
            waiting = found

            async def result() -> Any:
                return await waiting

            found = call_on(event_loop(), result)
        return as_passages(found, "passages", Place(f'retriever "{self._name}"'))


def _takes_k(function: Callable[..., Any]) -> bool:
    """Whether there is a second argument for the number of passages."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-ins have no signature
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    second = positional[1] if len(positional) > 1 else None
    return second is not None and (second.default is second.empty or second.name in {"k", "top_k", "limit", "n"})
