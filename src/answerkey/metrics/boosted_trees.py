"""Boosted trees and logistic curves kept as plain numbers in JSON, and applied with numpy. No pickle.

A model file holds `features` (names, in order), `trees` and `base`: the sum over trees of the leaf that a row reaches,
plus the base, is a log-odds. A tree is four lists of one length: the feature tested at each node (-1 at a leaf), the
threshold (left when the value is at most that), the left and right child, and the leaf's value.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tree:
    feature: NDArray[np.int32]
    threshold: Numbers
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Numbers

    def leaf_values(self, rows: Rows) -> Numbers:
        at = np.zeros(len(rows), dtype=np.int32)
        every = np.arange(len(rows))
        while (inner := self.feature[at] >= 0).any():
            values = rows[every, np.maximum(self.feature[at], 0)]
            step = np.where(values <= self.threshold[at], self.left[at], self.right[at])
            at = np.where(inner, step, at)
        return self.value[at]


@dataclass(frozen=True, slots=True)
class SmallModel:
    features: tuple[str, ...]
    base: float
    trees: tuple[Tree, ...]

    def log_odds(self, rows: Rows) -> Numbers:
        total = np.full(len(rows), self.base)
        for tree in self.trees:
            total += tree.leaf_values(rows)
        return total

    def probability(self, rows: Rows) -> Numbers:
        return 1.0 / (1.0 + np.exp(-self.log_odds(rows)))


def from_json(written: dict[str, Any]) -> SmallModel:
    trees = tuple(
        Tree(
            np.array(tree["feature"], dtype=np.int32),
            np.array(tree["threshold"], dtype=np.float64),
            np.array(tree["left"], dtype=np.int32),
            np.array(tree["right"], dtype=np.int32),
            np.array(tree["value"], dtype=np.float64),
        )
        for tree in written["trees"]
    )
    return SmallModel(tuple(written["features"]), float(written["base"]), trees)


@cache
def load_fitted(name: str) -> SmallModel:
    """The fitted model of that name, such as `agreement/agreement`, from the package's own data."""
    return from_json(load_numbers(name))


@cache
def load_numbers(name: str) -> dict[str, Any]:
    package, _, file = name.partition("/")
    data = files("answerkey.metrics") / package / "fitted" / f"{file}.json"
    return json.loads(data.read_text(encoding="utf-8"))
