"""Time, tokens and cost of an answer. Unknown is not zero: the metric is then not applicable."""

from __future__ import annotations

from typing import Any

from answerkey.metrics.registry import metric
from answerkey.types import Case, Response

_EMPTY = "not applicable where the target does not report it"
_AMOUNT: dict[str, Any] = {"low": 0.0, "high": None, "better": "lower", "empty": _EMPTY}


@metric("latency_ms", needs=("seconds",), unit="ms", **_AMOUNT)
def latency_ms(case: Case, response: Response) -> float | None:
    """Milliseconds the target took to answer."""
    return None if response.seconds is None else response.seconds * 1000


@metric("prompt_tokens", unit="tokens", **_AMOUNT)
def prompt_tokens(case: Case, response: Response) -> float | None:
    """Tokens in the prompt, as the target reports them."""
    return response.prompt_tokens


@metric("completion_tokens", unit="tokens", **_AMOUNT)
def completion_tokens(case: Case, response: Response) -> float | None:
    """Tokens in the answer, as the target reports them."""
    return response.completion_tokens


@metric("cost", **_AMOUNT)
def cost(case: Case, response: Response) -> float | None:
    """Cost of the answer, in the currency that the target reports."""
    return response.cost
