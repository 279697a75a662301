"""What an answer took: time, tokens, money. Unknown is not zero: such a metric does not apply."""

from __future__ import annotations

from typing import Any

from answerkey.metrics.registry import metric
from answerkey.types import Case, Response

_AMOUNT: dict[str, Any] = {
    "low": 0.0,
    "high": None,
    "better": "lower",
    "empty": "does not apply where the target does not report it",
}


@metric("latency_ms", needs=("seconds",), unit="ms", **_AMOUNT)
def latency_ms(case: Case, response: Response) -> float | None:
    """Milliseconds the target took to answer."""
    return None if response.seconds is None else response.seconds * 1000


@metric("prompt_tokens", unit="tokens", **_AMOUNT)
def prompt_tokens(case: Case, response: Response) -> float | None:
    """Tokens the target read."""
    return response.prompt_tokens


@metric("completion_tokens", unit="tokens", **_AMOUNT)
def completion_tokens(case: Case, response: Response) -> float | None:
    """Tokens the target wrote."""
    return response.completion_tokens


@metric("cost", **_AMOUNT)
def cost(case: Case, response: Response) -> float | None:
    """What the answer cost, in the currency the target reports."""
    return response.cost
