"""Time, tokens and cost of an answer. Unknown is not zero: the metric is then not applicable."""

from __future__ import annotations

from answerkey.metrics.registry import metric
from answerkey.types import Case, Response

_EMPTY = "not applicable where the target does not report it"


@metric(
    "latency_ms",
    family="operations",
    needs=("seconds",),
    high=None,
    better="lower",
    empty=_EMPTY,
    unit="ms",
)
def latency_ms(case: Case, response: Response) -> float | None:
    """Milliseconds the target took to answer."""
    # Recorded answers may have no time; 0 would pass every limit on latency.
    if response.seconds is None:
        return None
    return response.seconds * 1000


@metric(
    "prompt_tokens", family="operations", high=None, better="lower", empty=_EMPTY, unit="tokens"
)
def prompt_tokens(case: Case, response: Response) -> float | None:
    """Tokens in the prompt, as the target reports them."""
    return response.prompt_tokens


@metric(
    "completion_tokens", family="operations", high=None, better="lower", empty=_EMPTY, unit="tokens"
)
def completion_tokens(case: Case, response: Response) -> float | None:
    """Tokens in the answer, as the target reports them."""
    return response.completion_tokens


@metric("cost", family="operations", high=None, better="lower", empty=_EMPTY)
def cost(case: Case, response: Response) -> float | None:
    """Cost of the answer, in the currency that the target reports."""
    return response.cost
