"""Pairs as tokens: a long premise becomes several overlapping windows, a long statement several parts.

Nothing is cut off silently. A statement is supported if a window supports it, and in parts if each part is supported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from answerkey.entailment.pair_model import Logits, TextPair, probabilities
from answerkey.local_models.sessions import tokenizable

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

# Shares of the tokens that a model reads: most for the premise, and an overlap of a sentence or two.
_STATEMENT_SHARE = 2
_OVERLAP_SHARE = 8
_LEAST_PROBABILITY = 1e-9  # the logarithm of 0 is not finite


@dataclass(frozen=True, slots=True)
class PairWindow:
    """A part of a statement beside a part of a premise; `pair` and `part` are numbers, `start` is where the part begins."""

    pair: int
    part: int
    start: int
    encoding: Encoding

    def texts(self, pair: TextPair) -> TextPair:
        """The window as text, for a model with a tokenizer of its own."""
        spans: list[list[int]] = [[-1, 0], [-1, 0]]
        places = zip(self.encoding.sequence_ids, self.encoding.offsets, strict=True)
        for sequence, (first, last) in places:
            if sequence is not None and last > first:
                span = spans[sequence]
                span[0] = first if span[0] < 0 else span[0]
                span[1] = last
        premise, statement = spans
        return (
            tokenizable(pair[0])[max(premise[0], 0) : premise[1]],
            tokenizable(pair[1])[self.start + max(statement[0], 0) : self.start + statement[1]],
        )


class WindowEncoder:
    """Encodes pairs with a tokenizer of the `tokenizers` package, at most `longest` tokens at a time."""

    def __init__(self, tokenizer: Tokenizer, longest: int) -> None:
        self._plain = tokenizer
        self.longest = longest
        self._most_of_statement = longest // _STATEMENT_SHARE
        # A tokenizer of its own, because truncation is a state of the object.
        self._pairs = type(tokenizer).from_str(tokenizer.to_str())
        self._pairs.enable_truncation(
            longest, stride=longest // _OVERLAP_SHARE, strategy="only_first"
        )

    def windows(self, pairs: Sequence[TextPair]) -> list[PairWindow]:
        """The windows of every pair, in order; each pair has at least one."""
        texts: list[TextPair] = []
        places: list[tuple[int, int, int]] = []
        for n, (premise, statement) in enumerate(pairs):
            for part, (start, text) in enumerate(self._parts(tokenizable(statement))):
                texts.append((tokenizable(premise), text))
                places.append((n, part, start))
        windows: list[PairWindow] = []
        encodings = self._pairs.encode_batch(texts)
        for place, encoding in zip(places, encodings, strict=True):
            windows += [PairWindow(*place, each) for each in (encoding, *encoding.overflowing)]
        return windows

    def _parts(self, statement: str) -> list[tuple[int, str]]:
        """The statement, or parts of it beside which a premise fits, each with its start."""
        encoding = self._plain.encode(statement, add_special_tokens=False)
        size = len(encoding)
        if size <= self._most_of_statement:
            return [(0, statement)]
        parts: list[tuple[int, str]] = []
        for first in range(0, size, self._most_of_statement):
            last = min(first + self._most_of_statement, size) - 1
            start = encoding.offsets[first][0]
            parts.append((start, statement[start : encoding.offsets[last][1]]))
        return parts


def pool_windows(rows: Logits, windows: Sequence[tuple[int, int]], count: int) -> Logits:
    """One row per pair from the rows of its windows, each of which is a (pair, part)."""
    members: list[dict[int, list[int]]] = [{} for _ in range(count)]
    for at, (pair, part) in enumerate(windows):
        members[pair].setdefault(part, []).append(at)
    pooled = np.empty((count, 3), np.float32)
    for pair, parts in enumerate(members):
        singles = [_pool(rows[numbers], one_is_enough=True) for numbers in parts.values()]
        pooled[pair] = _pool(np.stack(singles), one_is_enough=False)
    return pooled


def _pool(rows: Logits, *, one_is_enough: bool) -> NDArray[np.float32]:
    """The row of most support (or of least), with the strongest contradiction of all rows."""
    if len(rows) == 1:
        return rows[0]
    shares = probabilities(rows)
    supported = shares[:, 0]
    if one_is_enough:
        yes = supported.max()
    else:
        yes = supported.min()
    # The two may come from different windows; together they must not exceed 1.
    no = min(shares[:, 2].max(), 1 - yes)
    together = np.clip([yes, 1 - yes - no, no], _LEAST_PROBABILITY, None)
    return np.log(together).astype(np.float32)
