"""How near in meaning the passages come to each word of a sentence: MaxSim over the model's token vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from answerkey.metrics.sentences import Piece

Floats = NDArray[np.float32]
WEAK, FAR = 0.65, 0.5  # cosines below which a word counts as weakly and as not supported


def word_similarity(piece: Piece, offsets: Sequence[tuple[int, int]], nearest: Floats) -> Floats:
    """For each word of the sentence (rows) its cosine with the nearest token of each context sentence.

    `nearest` has a row for each token; a word of several tokens takes their mean, a word that the model
    cut off the mean of all.
    """
    starts = np.array([start for start, _ in offsets], dtype=np.int64) + piece.start
    rows: list[Floats] = []
    for left, right in piece.spans:
        low, high = np.searchsorted(starts, [left, right])
        rows.append(nearest[low:high].mean(axis=0) if high > low else nearest.mean(axis=0))
    return np.stack(rows) if rows else np.zeros((0, nearest.shape[1]), dtype=np.float32)


def soft(
    piece: Piece, words: Floats, cosines: Floats, near: NDArray[np.bool_], rarity: Mapping[str, float]
) -> tuple[dict[str, float], int]:
    """The features of one sentence by meaning, and the context sentence nearest to it.

    `words` is what `word_similarity` gives; `near` says which context sentences stand side by side.
    """
    content = np.array(piece.content, dtype=bool)
    if not content.any():
        content = np.ones(len(content), dtype=bool)
    weights = np.array([rarity.get(stem, 1.0) for stem in piece.stems], dtype=np.float32)[content] + 0.05
    inner = words[content]
    best = inner.max(axis=1)
    wide = _widened(inner, near)
    total = weights.sum()
    window = weights @ wide / total
    low = np.sort(best)
    named = np.array(piece.named, dtype=bool)[content]
    digits = np.array([stem[0].isdigit() for stem in piece.stems], dtype=bool)[content]
    everything = words.max(axis=1)
    features = {
        "soft_recall": float(weights @ best / total),
        "soft_plain": float(everything.mean()),
        "soft_window": float(window.max()),
        "soft_low": float(low[: max(1, len(low) // 4)].mean()),
        "soft_min": float(low[0]),
        "soft_weak": float(np.log1p((best < WEAK).sum())),
        "soft_far": float(np.log1p((best < FAR).sum())),
        "soft_lack": float(np.log1p(weights @ np.maximum(0.0, 1 - best))),
        "soft_names": float(best[named].min()) if named.any() else 1.0,
        "soft_digits": float(best[digits].min()) if digits.any() else 1.0,
        "cosine_best": float(cosines.max()),
        "cosine_second": float(np.sort(cosines)[-2]) if len(cosines) > 1 else float(cosines.max()),
    }
    return features, int((weights @ inner / total + 0.2 * cosines).argmax())


def _widened(nearest: Floats, near: NDArray[np.bool_]) -> Floats:
    """Each column joined with its neighbours, as `support.widened` does for words."""
    wide = nearest.copy()
    wide[:, 1:] = np.maximum(wide[:, 1:], np.where(near, nearest[:, :-1], -1))
    wide[:, :-1] = np.maximum(wide[:, :-1], np.where(near, nearest[:, 1:], -1))
    return wide
