"""chrF2 of many pairs at once: one sort of all 6-grams, of which every shorter n-gram is a prefix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORDER, BETA = 6, 2
_AT_ONCE = 256
_KEY_BITS = 62  # of a signed number, without the bit that says which side


def chrf_scores(answers: Sequence[str], expected: Sequence[str]) -> list[float]:
    """0 to 100 for each pair, as sacrebleu gives it for one sentence: white space does not count, and precision and
    recall are means over the orders that both sides have."""
    import numpy as np

    left, right = ["".join(text.split()) for text in answers], ["".join(text.split()) for text in expected]
    sizes = np.array([[len(text) for text in left], [len(text) for text in right]])
    matches = np.zeros((ORDER, len(left)))
    for start in range(0, len(left), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        matches[:, here] = _in_common(left[here], right[here])
    orders = np.arange(1, ORDER + 1)[:, None]
    counted = orders <= sizes.min(axis=0)
    effective = np.maximum(counted.sum(axis=0), 1)
    precision = (matches * counted / np.maximum(sizes[0] - orders + 1, 1)).sum(axis=0) / effective
    recall = (matches * counted / np.maximum(sizes[1] - orders + 1, 1)).sum(axis=0) / effective
    below = BETA**2 * precision + recall
    return (100 * (1 + BETA**2) * precision * recall / np.where(below > 0, below, 1)).tolist()


def _in_common(left: Sequence[str], right: Sequence[str]) -> NDArray[Any]:
    """How many n-grams of each order, counted with repeats, each pair has in common."""
    import numpy as np

    pad = " " * (ORDER - 1)  # the texts have no white space of their own
    joined = "".join(text + pad for text in (*left, *right)).encode("utf-32-le", "surrogatepass")
    letters = np.frombuffer(joined, dtype=np.uint32)
    present = np.zeros(letters.max() + 1, dtype=bool)
    present[letters] = True
    present[ord(" ")] = False
    codes = (np.cumsum(present) * present)[letters]
    bits = int(codes.max()).bit_length()
    if (len(left) - 1).bit_length() + ORDER * bits > _KEY_BITS:
        return _in_halves(left, right)
    lengths = [len(text) + len(pad) for text in (*left, *right)]
    owner = np.repeat(np.arange(2 * len(left)), lengths)[: len(codes) - len(pad)]
    keys = owner % len(left)
    for n in range(ORDER):
        keys = keys << bits | codes[n : n + len(keys)]
    keys = (keys << 1 | (owner >= len(left)))[codes[: len(keys)] > 0]
    keys.sort()
    if not len(keys):
        return np.zeros((ORDER, len(left)))
    rights = np.concatenate([[0], np.cumsum(keys & 1)])
    keys >>= 1
    return np.array(
        [_matches(keys >> bits * (ORDER - n), rights, bits, n, len(left)) for n in range(1, ORDER + 1)]
    )


def _matches(grams: NDArray[Any], rights: NDArray[Any], bits: int, order: int, count: int) -> NDArray[Any]:
    """For each pair the n-grams of one order that both sides have. A gram holds its pair, then its letters."""
    import numpy as np

    edges = np.flatnonzero(np.concatenate([[True], grams[1:] != grams[:-1], [True]]))
    wanted = np.diff(rights[edges])
    same = np.minimum(np.diff(edges) - wanted, wanted)
    shared = np.flatnonzero(same)
    gram = grams[edges[shared]]
    whole = (gram & ((1 << bits) - 1)) > 0  # the last letter is none where the text has ended
    return np.bincount(gram >> (bits * order), weights=same[shared] * whole, minlength=count)


def _in_halves(left: Sequence[str], right: Sequence[str]) -> NDArray[Any]:
    """For many different letters: fewer pairs at once, and one pair by plain counting."""
    import numpy as np

    if len(left) > 1:
        half = len(left) // 2
        return np.hstack([_in_common(left[:half], right[:half]), _in_common(left[half:], right[half:])])
    counted = [(_grams(left[0], order) & _grams(right[0], order)).total() for order in range(1, ORDER + 1)]
    return np.array(counted, dtype=float)[:, None]


def _grams(text: str, order: int) -> Counter[str]:
    return Counter(text[at : at + order] for at in range(len(text) - order + 1))
