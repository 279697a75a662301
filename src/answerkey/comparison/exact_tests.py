"""Tests of paired differences that hold for any number of changed pairs.

The t-test is wrong for a handful of differences that are not zero: with 4 equal gains in any number
of cases it finds p = 0.044, though chance gives 4 gains of 4 one time in 8. These tests count over
the signs that chance could have drawn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from answerkey.distributions import average_ranks, normal_cdf
from answerkey.intervals import SEED

if TYPE_CHECKING:
    from answerkey.intervals import NumberArray

# Up to this many pairs all signs are counted, in two halves of at most 2¹² sums each.
ENUMERATED_PAIRS = 24
# Up to this many pairs the distribution of the rank sum is computed exactly (a few milliseconds).
# Above, the normal approximation gives at most 5.3 % false alarms even for changes of equal size.
EXACT_RANK_PAIRS = 200

_SAME = 1e-6  # relative to the larger of two values
_SIGNIFICANT_DIGITS = 12  # of a difference, counted from the largest value
_DRAWS = 9_999
_NUMBERS_AT_ONCE = 1_000_000


def clear_differences(a: NumberArray, b: NumberArray) -> NumberArray:
    """B − A, without what is only rounding.

    Values that differ by a millionth of their size or less are equal: float32 embeddings differ by
    that much from batch to batch. The rest is rounded to the 12th digit of the largest value, because
    0.3 − 0.2 and 0.2 − 0.1 are the same change, but as floating-point numbers they differ by 3e-17;
    in a test of ranks they must be a tie.
    """
    import numpy as np

    sizes = np.maximum(np.abs(a), np.abs(b))
    changes = b - a
    clear = np.where(np.abs(changes) <= _SAME * sizes, 0.0, changes)
    largest = float(sizes.max(initial=0.0))
    if largest == 0.0:
        return clear
    decimals = _SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(largest))
    if abs(decimals) > 300:  # the power of ten itself would overflow
        return clear
    step = 10.0**-decimals
    return np.round(clear / step) * step


def wilcoxon_p(differences: NumberArray) -> float:
    """Two-sided p of the signed-rank test without the equal pairs; 1 if all are equal.

    Ties are exact: pass `clear_differences`.
    """
    import numpy as np

    unequal = differences[differences != 0]
    n = len(unequal)
    if n == 0:
        return 1.0
    ranks = average_ranks(np.abs(unequal))
    above = float(ranks[unequal > 0].sum())
    if n <= EXACT_RANK_PAIRS:
        return _exact_rank_p(ranks, above)
    counts = np.unique(ranks, return_counts=True)[1]
    spread = n * (n + 1) * (2 * n + 1) - float((counts**3 - counts).sum()) / 2
    return min(1.0, 2 * normal_cdf(-abs(above - n * (n + 1) / 4) / math.sqrt(spread / 24)))


def _exact_rank_p(ranks: NumberArray, above: float) -> float:
    import numpy as np

    # How likely each sum of ranks is when every sign is drawn; ranks are doubled to be whole.
    sums = np.ones(1)
    for rank in np.round(2 * ranks).astype(int).tolist():
        grown = np.zeros(len(sums) + rank)
        grown[: len(sums)] += sums / 2
        grown[rank:] += sums / 2
        sums = grown
    place = round(2 * above)
    return min(1.0, 2 * float(min(sums[: place + 1].sum(), sums[place:].sum())))


def sign_flip_p(differences: NumberArray) -> float:
    """Two-sided p of the sum when the sign of each difference is drawn; 1 if all are zero.

    Exact up to 24 differences that are not zero, otherwise from 9,999 draws with a fixed seed.
    """
    import numpy as np

    sizes = np.abs(differences[differences != 0])
    if len(sizes) == 0:
        return 1.0
    # Sums that are equal but for rounding count as equal.
    limit = abs(float(differences.sum())) - 1e-9 * float(sizes.sum())
    if limit <= 0:
        return 1.0
    if len(sizes) <= ENUMERATED_PAIRS:
        return _enumerated_flips(sizes, limit)
    return _drawn_flips(sizes, limit)


def _enumerated_flips(sizes: NumberArray, limit: float) -> float:
    import numpy as np

    half = len(sizes) // 2
    left = _signed_sums(sizes[:half])
    right = np.sort(_signed_sums(sizes[half:]))
    reaching = len(right) - np.searchsorted(right, limit - left, side="left")
    # The sums are symmetric: as many reach −limit as reach +limit.
    return min(1.0, 2 * float(reaching.sum()) / (len(left) * len(right)))


def _signed_sums(sizes: NumberArray) -> NumberArray:
    """The sums of the sizes under every choice of signs."""
    import numpy as np

    sums = np.zeros(1)
    for size in sizes.tolist():
        sums = np.concatenate([sums - size, sums + size])
    return sums


def _drawn_flips(sizes: NumberArray, limit: float) -> float:
    import numpy as np

    random = np.random.default_rng(SEED)
    at_once = max(1, _NUMBERS_AT_ONCE // len(sizes))
    reaching = 0
    for start in range(0, _DRAWS, at_once):
        rows = min(at_once, _DRAWS - start)
        signs = random.integers(0, 2, size=(rows, len(sizes)), dtype=np.int8) * 2.0 - 1.0
        reaching += int(np.sum(np.abs(signs @ sizes) >= limit))
    # The observed signs are one of the draws, so that p is never 0.
    return (reaching + 1) / (_DRAWS + 1)
