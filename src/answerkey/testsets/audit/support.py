"""Does a text support a statement? The only module of test sets that uses the entailment model."""

from __future__ import annotations

from answerkey.metrics.entailment.contradiction import contradicts


def states_opposite(first: str, second: str) -> bool:
    """Whether two statements or questions are about the same and say the opposite, by rules.

    >>> states_opposite("Aspirin raises the risk.", "Aspirin lowers the risk.")
    True
    """
    return contradicts(first, second) or contradicts(second, first)
