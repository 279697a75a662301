"""The 95 % interval of an AUROC, also for 20 labels and near 1.

A bootstrap of few rows covers too little: 0.79 for an AUROC of 0.95 with 20 rows. So the interval is
the wider of the bootstrap's and Newcombe's score-type one (method 5 of Newcombe 2006), whose error is
that of Hanley and McNeil at the value in question, not at the observed one.
"""

from __future__ import annotations

import math

import numpy as np

from answerkey.calibrate.agreement import Groups, NumberArray, auroc, interval95
from answerkey.intervals import Z

_HALVINGS = 60  # of the range 0..1; the ends are then exact to the last digit


def auroc_interval(
    values: NumberArray, positive: NumberArray, draws: NumberArray, groups: Groups = None
) -> list[float] | None:
    """Both ends; `draws` are bootstrap samples. None if hardly any sample had both classes."""
    sampled = interval95(draws)
    area = auroc(values, positive)
    if sampled is None or area is None:
        return None
    # Rows of one source count as one, as in the bootstrap.
    if groups is None:
        share = 1.0
    else:
        share = len(set(groups)) / len(groups)
    above = max(1.0, share * float(np.sum(positive)))
    below = max(1.0, share * float(np.sum(~positive)))
    low, high = score_ends(area, above, below)
    return [min(low, sampled[0]), max(high, sampled[1])]


def score_ends(area: float, positives: float, negatives: float) -> tuple[float, float]:
    """The values whose distance from the observed area is just 1.96 of their own standard errors.

    >>> score_ends(1.0, 10, 10)[0] < 0.85
    True
    """
    low = _find_end(area, 0.0, positives, negatives)
    high = _find_end(area, 1.0, positives, negatives)
    return low, high


def _find_end(area: float, end: float, positives: float, negatives: float) -> float:
    inside = area
    outside = end
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if abs(area - middle) <= Z * _standard_error(middle, positives, negatives):
            inside = middle
        else:
            outside = middle
    return inside


def _standard_error(area: float, positives: float, negatives: float) -> float:
    """Hanley and McNeil's, with the mean of both sizes in place of each, as Newcombe advises."""
    size = (positives + negatives) / 2 - 1
    spread = 1 + size * ((1 - area) / (2 - area) + area / (1 + area))
    return math.sqrt(area * (1 - area) * spread / (positives * negatives))
