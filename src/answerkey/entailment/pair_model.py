"""The protocol of a pair model: a premise and a statement in, three log-odds out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]
TextPair = tuple[str, str]  # premise and statement


class RawPairModel(Protocol):
    """A model of (premise, statement) pairs as it comes, without calibration.

    `digest` names the weights by their content; `revision` is the commit of a model from a hub, otherwise empty.
    """

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> str: ...

    @property
    def digest(self) -> str: ...

    def logits(self, pairs: Sequence[TextPair]) -> Logits:
        """A row per pair: supported, neutral, contradicted."""
        ...


class PairModel(RawPairModel, Protocol):
    """A calibrated pair model, as metrics use it."""

    @property
    def is_fitted(self) -> bool:
        """Whether the shipped combinations of words and model were fitted with these weights."""
        ...

    @property
    def title(self) -> str:
        """The model in the reason of a score."""
        ...


@dataclass(frozen=True, slots=True)
class Entailment:
    """Three probabilities that sum to 1."""

    supported: float
    neutral: float
    contradicted: float


def probabilities(logits: Logits) -> NDArray[np.float64]:
    """A row per pair that sums to 1: supported, neutral, contradicted."""
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def supported_odds(logits: Logits) -> NDArray[np.float64]:
    """The log-odds of "supported" against the other two classes."""
    rows = logits.astype(np.float64)
    return rows[:, 0] - np.logaddexp(rows[:, 1], rows[:, 2])


def contradicted_odds(logits: Logits) -> NDArray[np.float64]:
    """The log-odds of "contradicted" against the other two classes."""
    rows = logits.astype(np.float64)
    return rows[:, 2] - np.logaddexp(rows[:, 0], rows[:, 1])
