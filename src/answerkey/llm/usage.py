"""What the calls of a run used. A total is unknown (None) as soon as one call did not report its part."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from answerkey.llm.base import Reply
from answerkey.types import Json


def total(values: Iterable[float | None]) -> float | None:
    """The sum; None where one part is unknown, or there is none."""
    parts = list(values)
    return sum(part for part in parts if part is not None) if parts and None not in parts else None


class Usage:
    """Calls and their tokens and cost; replies from the cache cost nothing and are counted apart."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._replies: list[tuple[int | None, int | None, float | None]] = []
        self._cached = 0
        self._failed = 0

    def add(self, reply: Reply) -> None:
        with self._lock:
            self._replies.append((reply.prompt_tokens, reply.completion_tokens, reply.cost))

    def add_cached(self) -> None:
        with self._lock:
            self._cached += 1

    def add_failed(self) -> None:
        with self._lock:
            self._failed += 1

    def as_dict(self) -> Json:
        with self._lock:
            read, written, cost = zip(*self._replies, strict=True) if self._replies else ((), (), ())
            return {
                "calls": len(self._replies),
                "failed_calls": self._failed,
                "cached": self._cached,
                "prompt_tokens": total(read),
                "completion_tokens": total(written),
                "cost": total(cost),
            }
