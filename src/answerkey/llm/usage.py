"""Calls, tokens and cost of a model, counted over many calls."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from answerkey.llm.chat import Reply


def total(values: Iterable[float | None]) -> float | None:
    """The sum; None where one part is unknown, or there is none."""
    parts = list(values)
    if parts and None not in parts:
        return sum(part for part in parts if part is not None)
    return None


@dataclass(frozen=True, slots=True)
class CallTotals:
    """The tokens and the cost of a judge's calls. Unknown tokens and cost are None, never 0."""

    calls: int = 0
    failed_calls: int = 0
    cached: int = 0
    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    cost: float | None = None


def add_totals(parts: Iterable[CallTotals]) -> CallTotals:
    """The totals of several judges together."""
    parts = list(parts)
    # One without calls used nothing, so that its unknown cost does not make the sum unknown.
    callers = [part for part in parts if part.calls]
    return CallTotals(
        calls=sum(part.calls for part in parts),
        failed_calls=sum(part.failed_calls for part in parts),
        cached=sum(part.cached for part in parts),
        prompt_tokens=total(part.prompt_tokens for part in callers),
        completion_tokens=total(part.completion_tokens for part in callers),
        cost=total(part.cost for part in callers),
    )


class Usage:
    """Counts calls, their tokens and cost; replies from the cache cost nothing and are counted apart."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = self._cached = self._failed = 0
        self._amounts: tuple[float | None, ...] = (0, 0, 0.0)  # tokens read and written, cost

    def add(self, reply: Reply) -> None:
        with self._lock:
            self._calls += 1
            used = (reply.prompt_tokens, reply.completion_tokens, reply.cost)
            self._amounts = tuple(map(total, zip(self._amounts, used, strict=True)))

    def add_cached(self) -> None:
        with self._lock:
            self._cached += 1

    def add_failed(self) -> None:
        with self._lock:
            self._failed += 1

    def totals(self) -> CallTotals:
        with self._lock:
            if self._calls:
                amounts = self._amounts
            else:
                amounts = (None, None, None)
            return CallTotals(self._calls, self._failed, self._cached, *amounts)
