"""How much of a sentence the passages say, by its words: features for the fitted model, each with a plain meaning."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from answerkey.metrics.evidence import Piece, pieces

Vector = NDArray[np.float32]
WINDOW = 3  # sentences that are read together: support is often spread over neighbours

FIRST_PERSON = frozenset(["i", "me", "my", "mine", "we", "our", "us", "im", "ive"])
HEDGES = frozenset(
    [
        "think",
        "believ",
        "guess",
        "sur",
        "mayb",
        "probab",
        "lov",
        "enjoy",
        "favorit",
        "prefer",
        "hop",
        "wonder",
        "wow",
        "yes",
        "yeah",
        "oh",
        "hav",
    ]
)
ABOUT_PASSAGES = frozenset(
    [
        "passag",
        "context",
        "document",
        "provid",
        "text",
        "given",
        "answer",
        "question",
        "mention",
        "inform",
        "bas",
        "ref",
        "abov",
    ]
)


@dataclass(slots=True)
class Index:
    """The sentences of a list of passages, with where each word, pair of words and number occurs."""

    passages: list[int] = field(default_factory=list[int])
    sentences: list[Piece] = field(default_factory=list[Piece])
    words: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    pairs: dict[tuple[str, str], list[int]] = field(default_factory=dict[tuple[str, str], list[int]])
    numbers: dict[float, list[int]] = field(default_factory=dict[float, list[int]])
    size: int = 0

    @staticmethod
    def of(contexts: Sequence[str]) -> Index:
        index = Index()
        for passage, text in enumerate(contexts):
            for piece in pieces(text):
                index._add(passage, piece)
        return index

    def _add(self, passage: int, piece: Piece) -> None:
        at = len(self.sentences)
        self.passages.append(passage)
        self.sentences.append(piece)
        self.size += len(piece.stems)
        for stem in set(piece.stems):
            self.words.setdefault(stem, []).append(at)
        for pair in set(zip(piece.stems, piece.stems[1:], strict=False)):
            self.pairs.setdefault(pair, []).append(at)
        for value in set(piece.numbers):
            self.numbers.setdefault(value, []).append(at)

    def number_places(self, value: float) -> list[int]:
        """Sentences with that number; rounded figures agree when they differ by less than half a percent."""
        exact = self.numbers.get(value)
        if exact or (value == int(value) and abs(value) < 10_000):
            return exact or []
        return [
            at
            for other, places in self.numbers.items()
            if abs(other - value) <= 0.005 * abs(value)
            for at in places
        ]


@dataclass(frozen=True, slots=True)
class Support:
    """Where one sentence finds its words: `found[n, w]` says that context sentence n has word w."""

    features: dict[str, float]
    best: int  # the middle of the best window; -1 where there is no context
    missing: list[int]  # tokens of the sentence that no passage has
    missing_numbers: list[float]
    missing_names: list[int]


def presence(keys: Sequence[object], places: Mapping[object, list[int]], n: int) -> NDArray[np.bool_]:
    grid = np.zeros((n, len(keys)), dtype=bool)
    for column, key in enumerate(keys):
        rows = places.get(key)
        if rows:
            grid[rows, column] = True
    return grid


def widened(grid: NDArray[np.bool_], passages: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Each row joined with its neighbours in the same passage: windows of three sentences.

    Passages of one sentence each (a page cut into lines) are read as one running text.
    """
    if len(grid) < 2:
        return grid
    wide = grid.copy()
    near = passages[1:] == passages[:-1]
    if not near.any():
        near[:] = True
    wide[1:] |= grid[:-1] & near[:, None]
    wide[:-1] |= grid[1:] & near[:, None]
    return wide


def lexical(piece: Piece, index: Index, asked: frozenset[str], rarity: Mapping[str, float]) -> Support:
    """The features of one sentence by its words alone, against all the passages."""
    n = len(index.sentences)
    places = [at for at, counts in enumerate(piece.content) if counts]
    keys = [piece.stems[at] for at in places]
    weights = np.array([rarity.get(key, 1.0) for key in keys], dtype=np.float32)
    total = float(weights.sum()) or 1.0
    grid = presence(keys, index.words, n)
    passages = np.array(index.passages, dtype=np.int64)
    wide = widened(grid, passages)
    anywhere = grid.any(axis=0) if n else np.zeros(len(keys), dtype=bool)
    known = np.array([key in asked for key in keys], dtype=bool)
    single = grid @ weights / total if n else np.zeros(0)
    window = wide @ weights / total if n else np.zeros(0)
    best = int(window.argmax()) if n else -1
    in_best = wide[best] if n else anywhere
    pair_keys = list(zip(piece.stems, piece.stems[1:], strict=False))
    pair_grid = presence(pair_keys, index.pairs, n)
    pair_any = pair_grid.any(axis=0) if n else np.zeros(len(pair_keys), dtype=bool)
    pair_wide = widened(pair_grid, passages).mean(axis=1) if n and pair_keys else np.zeros(1)
    f: dict[str, float] = {}
    count = max(1, len(keys))
    unsupported = ~anywhere & ~known
    f["recall_sentence"] = float(single.max()) if n else 0.0
    f["recall_window"] = float(window.max()) if n else 0.0
    f["recall_all"] = float(anywhere @ weights / total) if keys else 1.0
    f["recall_plain"] = float(anywhere.mean()) if keys else 1.0
    f["recall_or_asked"] = float((anywhere | known).mean()) if keys else 1.0
    f["missing_count"] = math.log1p(float(unsupported.sum()))
    f["missing_weight"] = float(weights[unsupported].max()) if unsupported.any() else 0.0
    f["missing_in_best"] = math.log1p(float((~in_best & ~known).sum()))
    f["pairs_all"] = float(pair_any.mean()) if pair_keys else f["recall_all"]
    f["pairs_window"] = float(pair_wide.max())
    f["copied_run"] = longest_run(pair_any) / max(1, len(pair_keys))
    f["copied_words"] = math.log1p(longest_run(pair_any))
    f["broken_pairs"] = math.log1p(float((~pair_any).sum()))
    f["window_contrast"] = float(window.max() - np.median(window)) if n else 0.0
    f["asked_share"] = float(known.mean()) if keys else 0.0
    f["asked_missing"] = float((known & ~anywhere).sum()) / count
    missing_numbers = _numbers(piece, index, best, passages, f)
    missing_names = _names(piece, index, in_best, places, asked, f)
    _manner(piece, index, best, f)
    f["length"] = math.log1p(len(keys))
    f["context_size"] = math.log1p(index.size)
    missing = [place for place, gone in zip(places, unsupported, strict=True) if gone]
    return Support(f, best, missing, missing_numbers, missing_names)


def _numbers(
    piece: Piece, index: Index, best: int, passages: NDArray[np.int64], f: dict[str, float]
) -> list[float]:
    found = [(value, index.number_places(value)) for value in piece.numbers]
    missing = [value for value, at in found if not at]
    away = sum(1 for _, at in found if at and min(abs(best - place) for place in at) > 1)
    f["numbers"] = min(5.0, len(found))
    f["numbers_missing"] = min(4.0, len(missing))
    f["numbers_missing_share"] = len(missing) / len(found) if found else 0.0
    f["numbers_away"] = min(4.0, away)
    return missing


def _names(
    piece: Piece,
    index: Index,
    in_best: NDArray[np.bool_],
    places: list[int],
    asked: frozenset[str],
    f: dict[str, float],
) -> list[int]:
    column = {place: n for n, place in enumerate(places)}
    names = [at for at, named in enumerate(piece.named) if named and at in column]
    missing = [at for at in names if piece.stems[at] not in index.words and piece.stems[at] not in asked]
    away = [at for at in names if at not in missing and not in_best[column[at]]]
    f["names"] = min(6.0, len(names))
    f["names_missing"] = min(4.0, len(missing))
    f["names_missing_share"] = len(missing) / len(names) if names else 0.0
    f["names_away"] = min(4.0, len(away))
    return missing


def _manner(piece: Piece, index: Index, best: int, f: dict[str, float]) -> None:
    """Negation against the best window, and talk that no passage could support."""
    near = index.sentences[max(0, best - 1) : best + 2] if best >= 0 else []
    negated = sum(sentence.negations for sentence in near)
    f["negations"] = min(3.0, piece.negations)
    f["negation_added"] = float(piece.negations > 0 and negated == 0)
    f["negation_dropped"] = float(piece.negations == 0 and best >= 0 and index.sentences[best].negations > 0)
    words = set(piece.stems)
    f["first_person"] = float(len(words & FIRST_PERSON) > 0)
    f["hedges"] = min(3.0, len(words & HEDGES))
    f["about_passages"] = min(4.0, len(words & ABOUT_PASSAGES))


def longest_run(found: NDArray[np.bool_]) -> int:
    best = run = 0
    for hit in found.tolist():
        run = run + 1 if hit else 0
        best = max(best, run)
    return best
