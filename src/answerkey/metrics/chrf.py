"""chrF2 of many pairs at once: character n-grams as hashed numbers, counted by sorting them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORDER, BETA = 6, 2
_BASE, _MIX, _HASH_BITS = 1_000_003, 0x9E3779B97F4A7C15, 44


def chrf_scores(answers: Sequence[str], expected: Sequence[str]) -> list[float]:
    """0 to 100 for each pair, as sacrebleu gives it for one sentence: white space does not count, and precision and
    recall are means over the orders that both sides have."""
    import numpy as np

    left, right = ["".join(text.split()) for text in answers], ["".join(text.split()) for text in expected]
    sizes = np.array([[len(text) for text in left], [len(text) for text in right]])
    matches = np.zeros((ORDER, len(left)))
    given, wanted = _grams(left), _grams(right)
    for order in range(1, ORDER + 1):
        matches[order - 1] = _in_common(next(given), next(wanted), len(left))
    orders = np.arange(1, ORDER + 1)[:, None]
    counted = orders <= sizes.min(axis=0)
    effective = np.maximum(counted.sum(axis=0), 1)
    precision = (matches * counted / np.maximum(sizes[0] - orders + 1, 1)).sum(axis=0) / effective
    recall = (matches * counted / np.maximum(sizes[1] - orders + 1, 1)).sum(axis=0) / effective
    below = BETA**2 * precision + recall
    return (100 * (1 + BETA**2) * precision * recall / np.where(below > 0, below, 1)).tolist()


def _grams(texts: Sequence[str]) -> Any:
    """For each order in turn, the hash of every n-gram and the text it stands in."""
    import numpy as np

    joined = "".join(texts).encode("utf-32-le", "surrogatepass")
    letters = np.frombuffer(joined, dtype=np.uint32).astype(np.uint64)
    owner = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    hashed = np.zeros_like(letters)
    for order in range(1, ORDER + 1):
        ends = order - 1
        hashed = hashed[: max(len(letters) - ends, 0)] * np.uint64(_BASE) + letters[ends:]
        within = owner[: len(hashed)] == owner[ends:]
        yield hashed[within], owner[ends:][within]


def _in_common(given: tuple[NDArray[Any], ...], wanted: tuple[NDArray[Any], ...], count: int) -> NDArray[Any]:
    """How many n-grams, counted with repeats, each pair has in common. A key holds its pair in the upper bits."""
    import numpy as np

    keys = [
        (owner.astype(np.uint64) << np.uint64(_HASH_BITS))
        | (hashed * np.uint64(_MIX) >> np.uint64(64 - _HASH_BITS))
        for hashed, owner in (given, wanted)
    ]
    values, in_given = np.unique(keys[0], return_counts=True)
    others, in_wanted = np.unique(keys[1], return_counts=True)
    if not len(values) or not len(others):
        return np.zeros(count)
    place = np.minimum(np.searchsorted(others, values), len(others) - 1)
    same = np.where(others[place] == values, np.minimum(in_given, in_wanted[place]), 0)
    return np.bincount((values >> np.uint64(_HASH_BITS)).astype(np.intp), weights=same, minlength=count)
