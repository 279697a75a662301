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
_STEPS_AT_ONCE = 50_000  # of a row in a tree: they fit into the processor's cache


@dataclass(frozen=True, slots=True)
class SmallModel:
    """All trees in arrays end to end. A leaf is its own child, so every row takes `depth` steps in every tree."""

    features: tuple[str, ...]
    base: float
    roots: NDArray[np.intp]
    depth: int
    tested: NDArray[np.intp]
    threshold: Numbers
    children: NDArray[np.intp]  # of a node, the right one and then the left one
    value: Numbers

    def log_odds(self, rows: Rows) -> Numbers:
        total = np.full(len(rows), self.base)
        # A bounded block keeps memory flat: rows times trees grows with the size of a run.
        step = max(1, _STEPS_AT_ONCE // max(1, len(self.roots)))
        for start in range(0, len(rows), step):
            for values in self._leaves(
                rows[start : start + step]
            ):  # in the order of the trees: the same digits in any batch
                total[start : start + step] += values
        return total

    def _leaves(self, rows: Rows) -> Numbers:
        """The value of the leaf that each row reaches, per tree."""
        at = np.repeat(self.roots[:, None], len(rows), axis=1)
        every = np.arange(len(rows))
        for _ in range(self.depth):
            at = self.children[2 * at + (rows[every, self.tested[at]] <= self.threshold[at])]
        return self.value[at]

    def probability(self, rows: Rows) -> Numbers:
        return 1.0 / (1.0 + np.exp(-self.log_odds(rows)))


def from_json(written: dict[str, Any]) -> SmallModel:
    trees: list[dict[str, list[float]]] = written["trees"]
    sizes = [len(tree["feature"]) for tree in trees]
    if trees:
        roots = np.cumsum([0, *sizes[:-1]], dtype=np.intp)
    else:
        roots = np.empty(0, np.intp)
    # float64 holds every node index exactly, so that one loop reads all five lists.
    feature, threshold, left, right, value = (
        np.concatenate([np.asarray(tree[key], np.float64) for tree in trees] or [np.empty(0)])
        for key in ("feature", "threshold", "left", "right", "value")
    )
    inner = feature >= 0
    own = np.arange(len(feature))
    shift = np.repeat(roots, sizes)
    children = np.stack(
        [np.where(inner, side + shift, own) for side in (right, left)], axis=1
    ).astype(np.intp)
    depth = 0
    reached = roots
    while inner[reached].any():
        depth = depth + 1
        reached = np.unique(children[reached])
    # A leaf tests feature -1; index 0 is a harmless stand-in, since a leaf is its own child.
    tested = np.maximum(feature, 0).astype(np.intp)
    return SmallModel(
        tuple(written["features"]),
        float(written["base"]),
        roots,
        depth,
        tested,
        threshold,
        children.ravel(),
        value,
    )


@cache
def load_fitted(name: str) -> SmallModel:
    """The fitted model of that name, such as `agreement/agreement`, from the package's own data."""
    return from_json(load_numbers(name))


@cache
def load_numbers(name: str) -> dict[str, Any]:
    package, _, file = name.partition("/")
    data = files("answerkey.metrics") / package / "fitted" / f"{file}.json"
    return json.loads(data.read_text(encoding="utf-8"))
