"""95 % intervals of AUROC by bootstrap. Rows of one source are drawn together, so that they do not pass for many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from answerkey.intervals import DRAWS, SEED

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEWER_ABOVE, _FEWER = 3_000, 2_000
_NUMBERS_AT_ONCE = 2_000_000


def draws_for(n: int) -> int:
    """10,000 draws, or 2,000 where there are many rows and the interval is narrow anyway."""
    return DRAWS if n <= _FEWER_ABOVE else _FEWER


def auroc_draws(
    columns: Sequence[NDArray[Any]], positive: NDArray[Any], groups: Sequence[str] | None
) -> list[NDArray[Any]]:
    """AUROC of every column over the same draws; a draw with only one class is NaN."""
    import numpy as np

    blocks = [_Blocks(values, positive) for values in columns]
    parts: list[list[NDArray[Any]]] = [[] for _ in columns]
    for weights in _weights(len(positive), groups):
        for n, block in enumerate(blocks):
            parts[n].append(block.auroc(weights))
    return [np.concatenate(part) for part in parts]


def interval95(draws: NDArray[Any]) -> list[float] | None:
    """The middle 95 %; None where hardly any draw had both classes."""
    import numpy as np

    usable = draws[~np.isnan(draws)]
    if len(usable) < 0.5 * len(draws):
        return None
    return [float(end) for end in np.percentile(usable, [2.5, 97.5])]


class _Blocks:
    """Rows sorted by value once, so that a draw costs one pass: values tied with each other form a block."""

    def __init__(self, values: NDArray[Any], positive: NDArray[Any]) -> None:
        import numpy as np

        self.order = np.argsort(values, kind="stable")
        ordered = values[self.order]
        self.starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        self.positive = positive[self.order]

    def auroc(self, weights: NDArray[Any]) -> NDArray[Any]:
        import numpy as np

        ordered = weights[:, self.order]
        above = np.add.reduceat(ordered * self.positive, self.starts, axis=1)
        below = np.add.reduceat(ordered * ~self.positive, self.starts, axis=1)
        beaten = np.cumsum(below, axis=1) - below / 2
        pairs = above.sum(axis=1) * below.sum(axis=1)
        won = (above * beaten).sum(axis=1)
        return np.divide(won, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)


def _weights(n: int, groups: Sequence[str] | None) -> Iterator[NDArray[Any]]:
    """How often each row was drawn, some draws at a time."""
    import numpy as np

    member = np.arange(n) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    count = int(member.max()) + 1
    random = np.random.default_rng(SEED)
    draws = draws_for(n)
    at_once = max(1, _NUMBERS_AT_ONCE // n)
    for start in range(0, draws, at_once):
        rows = min(at_once, draws - start)
        picked = random.integers(0, count, size=(rows, count)) + np.arange(rows)[:, None] * count
        drawn = np.bincount(picked.ravel(), minlength=rows * count).reshape(rows, count)
        yield drawn[:, member].astype(np.float64)
