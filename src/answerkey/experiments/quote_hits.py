"""Labels that are quotes: which chunks hold them, and the hits of rankings of chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from answerkey.experiments.page_hits import repeat_places
from answerkey.metrics.ranking.hits import Hits, Ints, Places, ideal_places
from answerkey.retrieval.chunks import Chunk
from answerkey.text import words

Quotes = tuple[str, ...]
WordPair = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuoteLabels:
    """The chunks that hold the quotes: `share[query][chunk]` lists (quote, share of its words)."""

    quotes: tuple[Quotes, ...]
    share: tuple[dict[int, list[tuple[int, float]]], ...]

    @property
    def missing_quotes(self) -> list[str]:
        """The quotes that no chunk holds."""
        missing: list[str] = []
        for quotes, held in zip(self.quotes, self.share, strict=True):
            present = {number for pairs in held.values() for number, _ in pairs}
            missing += [quote for n, quote in enumerate(quotes) if n not in present]
        return missing


def find_quotes(quotes: Sequence[Quotes], chunks: Sequence[Chunk], least: float) -> QuoteLabels:
    """A chunk is relevant where it holds at least this share of a quote's neighbouring words."""
    # Only the pairs of the quotes are kept: the pairs of a large index would fill the memory.
    needed = {pair for row in quotes for quote in row for pair in _word_pairs(quote)}
    chunks_with: dict[WordPair, list[int]] = {}
    for number, chunk in enumerate(chunks):
        for pair in set(_word_pairs(chunk.text)) & needed:
            chunks_with.setdefault(pair, []).append(number)
    shares = [_chunks_of_quotes(row, chunks_with, least) for row in quotes]
    return QuoteLabels(tuple(quotes), tuple(shares))


def _chunks_of_quotes(
    quotes: Quotes, chunks_with: dict[WordPair, list[int]], least: float
) -> dict[int, list[tuple[int, float]]]:
    held: dict[int, list[tuple[int, float]]] = {}
    for number, quote in enumerate(quotes):
        pairs = set(_word_pairs(quote))
        counts = Counter(chunk for pair in pairs for chunk in chunks_with.get(pair, ()))
        for chunk, count in counts.items():
            share = count / len(pairs)
            if share >= least:
                held.setdefault(chunk, []).append((number, share))
    return held


def _word_pairs(text: str) -> list[WordPair]:
    """Neighbouring words; a single word for a text of one."""
    every_word = words(text)
    return list(pairwise(every_word)) or [(word,) for word in every_word]


def hits_in_chunks(rankings: Ints, labels: QuoteLabels) -> Hits:
    """Hits of rankings (variant, query, rank) of chunk numbers.

    Each quote counts once, at its first chunk. A further chunk with only quotes already found is
    left out of the ranking; one with two new quotes takes two ranks.
    """
    variants, queries, _ = (int(size) for size in rankings.shape)
    places: list[tuple[int, int, float]] = []
    for query, held in enumerate(labels.share):
        if not held:
            continue
        for variant in range(variants):
            for rank, share in _quote_ranks(rankings[variant, query], held):
                places.append((variant * queries + query, rank, share))
    # The formulas need the places of a query together and in the order of their ranks.
    places.sort()
    quote_places = Places(
        np.array([query for query, _, _ in places], np.int64),
        np.array([rank for _, rank, _ in places], np.int64),
        np.array([share for _, _, share in places], float),
    )
    ideal = ideal_places([{str(n): 1.0 for n in range(len(row))} for row in labels.quotes])
    return Hits(variants * queries, quote_places, repeat_places(ideal, variants, queries))


def _quote_ranks(
    ranking: Ints, held: dict[int, list[tuple[int, float]]]
) -> list[tuple[int, float]]:
    """The rank and share of each quote at its first chunk."""
    seen: set[int] = set()
    ranks: list[tuple[int, float]] = []
    moved = 0
    for column in np.flatnonzero(np.isin(ranking, list(held))).tolist():
        new = [pair for pair in held[int(ranking[column])] if pair[0] not in seen]
        for more, (number, share) in enumerate(new):
            ranks.append((column + 1 + moved + more, share))
            seen.add(number)
        moved += len(new) - 1
    return ranks
