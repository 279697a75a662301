"""A logistic combination of named features, kept as plain numbers in JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import msgspec

from answerkey.metrics.boosted_trees import load_numbers


class FittedWeights(msgspec.Struct, frozen=True):
    """The weights of features; `least` is the probability from which the answer is yes.

    In a long conversation many things are compared, so that each needs to be surer.
    """

    weights: dict[str, float]
    shift: float
    least: float
    least_in_long: float = 1.0

    def probability(self, features: Mapping[str, float]) -> float:
        total = sum(weight * features[name] for name, weight in self.weights.items())
        return 1.0 / (1.0 + math.exp(-(total + self.shift)))


@cache
def load_weights(name: str) -> FittedWeights:
    """The weights in `fitted/NAME.json`; `tools/fit_conversations.py` writes them."""
    return msgspec.convert(load_numbers(f"conversation/{name}"), FittedWeights, strict=False)
