"""How much of a sentence the passages say, by its words: the features of the fitted model."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from answerkey.language.sentences import Piece, pieces
from answerkey.language.words import opposites, stem_list, synonyms

Vector = NDArray[np.float32]
Grid = NDArray[np.bool_]
Key = TypeVar("Key", bound=Hashable)

ENGLISH_ONLY = (
    "names",
    "names_missing",
    "names_missing_share",
    "names_away",
    "turned_near",
    "turned_anywhere",
    "opposite_near",
    "opposite_prefix",
    "negation_added",
    "first_person",
    "chatting",
    "about_passages",
)
WORD_LOSS = ("missing_count", "missing_weight", "missing_in_best", "broken_pairs", "asked_missing")
WORD_GAIN = (
    "recall_sentence",
    "recall_window",
    "recall_all",
    "recall_plain",
    "recall_or_asked",
    "pairs_all",
    "pairs_window",
    "copied_run",
    "copied_words",
)


@dataclass(slots=True)
class PassageIndex:
    """The sentences of a list of passages, and where each word, pair of words and number occurs."""

    contexts: tuple[str, ...] = ()
    passages: list[int] = field(default_factory=list[int])
    sentences: list[Piece] = field(default_factory=list[Piece])
    words: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    pairs: dict[tuple[str, str], list[int]] = field(
        default_factory=dict[tuple[str, str], list[int]]
    )
    numbers: dict[float, list[int]] = field(default_factory=dict[float, list[int]])
    size: int = 0

    @staticmethod
    def of(contexts: tuple[str, ...]) -> PassageIndex:
        index = PassageIndex(contexts)
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

    def text_at(self, at: int) -> str:
        piece = self.sentences[at]
        return self.contexts[self.passages[at]][piece.start : piece.end]

    def around(self, at: int) -> list[int]:
        """The place and its neighbours in one text; passages of one sentence each are one text."""
        if at < 0:
            return []
        # As many passages as sentences: a page that was cut into lines.
        single = len(self.passages) == self.passages[-1] + 1
        near = [other for other in (at + 1, at - 1) if 0 <= other < len(self.passages)]
        return [
            at,
            *(other for other in near if single or self.passages[at] == self.passages[other]),
        ]

    def number_places(self, value: float) -> list[int]:
        """Sentences with that number; rounded figures agree when they differ by less than half a percent."""
        exact = self.numbers.get(value)
        # Small whole numbers are counts and years, which nobody rounds.
        if exact or (value == int(value) and abs(value) < 10_000):
            return exact or []
        near = [
            places
            for other, places in self.numbers.items()
            if abs(other - value) <= 0.005 * abs(value)
        ]
        return [at for places in near for at in places]


@dataclass(frozen=True, slots=True)
class Support:
    """What the passages have of one sentence, and what they lack."""

    features: dict[str, float]
    best: int  # the context sentence in the middle of the best window; -1 where there is no context
    missing: list[int]  # tokens of the sentence that neither a passage nor the question has
    missing_numbers: list[float]
    missing_names: list[int]
    turned: list[str]  # words that negate or limit the statement and are not near the evidence
    shared: Vector  # per context sentence the weight of the words that it shares with this one
    windows: Vector  # the same for each context sentence with its neighbours


@dataclass(frozen=True, slots=True)
class Words:
    """The content words of a sentence and where the passages have them: rows of a grid are context sentences."""

    places: list[int]
    stems: list[str]
    weights: Vector
    grid: Grid
    wide: Grid
    near: Grid
    asked: Grid

    @property
    def anywhere(self) -> Grid:
        return np.asarray(self.grid.any(axis=0), dtype=np.bool_)

    def share(self, grid: Grid) -> Vector:
        """The weight of the words found as a share; one number per row."""
        with np.errstate(
            invalid="ignore"
        ):  # BLAS may raise the flag for lanes of a register that it does not use
            weight = grid @ self.weights
        return (weight / (float(self.weights.sum()) or 1.0)).astype(np.float32)


def lexical(
    piece: Piece, index: PassageIndex, asked: frozenset[str], rarity: Mapping[str, float]
) -> Support:
    """The features of one sentence by its words alone, against all the passages."""
    words = _words(piece, index, asked, rarity)
    single = words.share(words.grid)
    window = words.share(words.wide)
    best = int(window.argmax()) if len(window) else -1
    if best >= 0:
        in_best = words.wide[best]
    else:
        in_best = words.anywhere
    gone = ~words.anywhere & ~words.asked
    f = _recalls(words, single, window)
    # The logarithm: the tenth missing word says less than the first.
    f["missing_count"] = math.log1p(float(gone.sum()))
    f["missing_weight"] = float(words.weights[gone].max()) if gone.any() else 0.0
    f["missing_in_best"] = math.log1p(float((~in_best & ~words.asked).sum()))
    f |= _pairs(piece, index, words)
    numbers, missing_numbers = _numbers(piece, index, best)
    names, missing_names = _names(piece, index, words, in_best)
    manner, turned = _manner(piece, index, best)
    f |= numbers | names | manner
    f["length"] = math.log1p(len(words.stems))
    f["context_size"] = math.log1p(index.size)
    missing = [place for place, lost in zip(words.places, gone, strict=True) if lost]
    return Support(f, best, missing, missing_numbers, missing_names, turned, single, window)


def _words(
    piece: Piece, index: PassageIndex, asked: frozenset[str], rarity: Mapping[str, float]
) -> Words:
    places = [at for at, counts in enumerate(piece.content) if counts]
    stems = [piece.stems[at] for at in places]
    grid = presence([_as_written(stem, index) for stem in stems], index.words, len(index.sentences))
    near = neighbours(np.arange(len(grid)), np.array(index.passages, dtype=np.int64))
    return Words(
        places=places,
        stems=stems,
        weights=np.array([rarity.get(stem, 1.0) for stem in stems], dtype=np.float32),
        grid=grid,
        wide=join_neighbours(grid, near),
        near=near,
        asked=np.array([stem in asked for stem in stems], dtype=np.bool_),
    )


def _as_written(stem: str, index: PassageIndex) -> str:
    """The stem itself, or one of the same meaning where the passages have only that."""
    if stem in index.words:
        return stem
    # Sorted, because the order of a set differs between processes.
    return next((other for other in sorted(synonyms().get(stem, ())) if other in index.words), stem)


def presence(keys: Sequence[Key], places: Mapping[Key, list[int]], n: int) -> Grid:
    """Which of n context sentences (rows) has which key (columns)."""
    grid = np.zeros((n, len(keys)), dtype=np.bool_)
    for column, key in enumerate(keys):
        rows = places.get(key)
        if rows:
            grid[rows, column] = True
    return grid


def neighbours(places: NDArray[np.int64], passages: NDArray[np.int64]) -> Grid:
    """Whether each sentence and the next are neighbours in one passage.

    Passages of one sentence each (a page cut into lines) are read as continuous text.
    """
    beside = places[1:] - places[:-1] == 1
    together = passages[1:] == passages[:-1]
    if together.any():
        return beside & together
    return beside


def join_neighbours(grid: Grid, near: Grid) -> Grid:
    """Each row joined with its neighbours: windows of three sentences, since support is often spread out."""
    wide = grid.copy()
    wide[1:] |= grid[:-1] & near[:, None]
    wide[:-1] |= grid[1:] & near[:, None]
    return wide


def _recalls(words: Words, single: Vector, window: Vector) -> dict[str, float]:
    if not words.stems:
        # A sentence without a content word lacks nothing.
        return dict.fromkeys(WORD_GAIN[:5], 1.0)
    anywhere = words.anywhere
    return {
        "recall_sentence": float(single.max(initial=0.0)),
        "recall_window": float(window.max(initial=0.0)),
        "recall_all": float(words.share(anywhere[None, :])[0]),
        "recall_plain": float(anywhere.mean()),
        "recall_or_asked": float((anywhere | words.asked).mean()),
    }


def _pairs(piece: Piece, index: PassageIndex, words: Words) -> dict[str, float]:
    """Words that are neighbours in the sentence and in a passage: what is copied, and where copying ends."""
    keys = list(zip(piece.stems, piece.stems[1:], strict=False))
    if not keys:
        # A single word has no pair; it is copied if it is there at all.
        is_there = float(words.anywhere.all())
        copied = dict.fromkeys(
            ("pairs_all", "pairs_window", "copied_run", "copied_words"), is_there
        )
        return copied | {"broken_pairs": 0.0}
    grid = presence(keys, index.pairs, len(index.sentences))
    anywhere = np.asarray(grid.any(axis=0), dtype=np.bool_)
    run = longest_run([bool(hit) for hit in anywhere])
    return {
        "pairs_all": float(anywhere.mean()),
        "pairs_window": float(join_neighbours(grid, words.near).mean(axis=1).max(initial=0.0)),
        "copied_run": run / len(keys),
        "copied_words": math.log1p(run),
        "broken_pairs": math.log1p(float((~anywhere).sum())),
    }


def _numbers(piece: Piece, index: PassageIndex, best: int) -> tuple[dict[str, float], list[float]]:
    places = [(value, index.number_places(value)) for value in piece.numbers]
    missing = [value for value, at in places if not at]
    away = sum(1 for _, at in places if at and min(abs(best - place) for place in at) > 1)
    return {
        "numbers": min(5.0, len(places)),
        # Beyond a few the number only says that the sentence is long.
        "numbers_missing": min(4.0, len(missing)),
        "numbers_missing_share": len(missing) / len(places) if places else 0.0,
        "numbers_away": min(4.0, away),
    }, missing


def _names(
    piece: Piece, index: PassageIndex, words: Words, in_best: Grid
) -> tuple[dict[str, float], list[int]]:
    """Names are words with a capital inside a sentence."""
    columns = [(n, at) for n, at in enumerate(words.places) if piece.named[at]]
    missing = [at for n, at in columns if words.stems[n] not in index.words and not words.asked[n]]
    away = sum(1 for n, at in columns if at not in missing and not in_best[n])
    return {
        "names": min(6.0, len(columns)),
        "names_missing": min(4.0, len(missing)),
        "names_missing_share": len(missing) / len(columns) if columns else 0.0,
        "names_away": min(4.0, away),
    }, missing


def _manner(piece: Piece, index: PassageIndex, best: int) -> tuple[dict[str, float], list[str]]:
    """Words that negate or limit the statement, compared with the best window; and chat that no passage could support."""
    around = [index.sentences[at] for at in index.around(best)]
    near = {stem for sentence in around for stem in sentence.stems}
    words = set(piece.stems)
    turned = words & stem_list("turning")
    contrary = opposites()
    opposed = [
        word
        for word in sorted(words & contrary.keys())
        # An opposite counts only if the word itself is not near: "open or closed" has both.
        if word not in near and contrary[word] & near
    ]
    unknown = [word for word in words if word not in index.words]
    return {
        "turned_near": min(3.0, len(turned - near)),
        "turned_anywhere": min(3.0, sum(word not in index.words for word in turned)),
        "opposite_near": min(3.0, len(opposed)),
        "opposite_prefix": min(3.0, sum(_bare(word) in index.words for word in unknown)),
        "negation_added": float(
            piece.negations > 0 and not any(sentence.negations for sentence in around)
        ),
        "first_person": float(bool(words & stem_list("first_person"))),
        "chatting": min(3.0, len(words & stem_list("chatting"))),
        "about_passages": min(4.0, len(words & stem_list("about_passages"))),
    }, [*sorted(turned - near), *opposed]


def _bare(word: str) -> str:
    """The word without a negating prefix, or nothing."""
    for prefix in ("un", "in", "im", "ir", "non", "dis", "de", "sub", "mis"):
        # Shorter rests are chance: "under" without "un" is no word.
        if word.startswith(prefix) and len(word) - len(prefix) >= 4:
            return word[len(prefix) :]
    return ""


def longest_run(found: Sequence[bool]) -> int:
    best = run = 0
    for hit in found:
        run = run + 1 if hit else 0
        best = max(best, run)
    return best


def without_english(features: Mapping[str, float], one_language: bool) -> dict[str, float]:
    """The features with the meaningless ones set to neutral: English word lists and capitals always, and shared words
    where answer and passages are in different languages (then only numbers are left)."""
    neutral = dict(features) | dict.fromkeys(ENGLISH_ONLY, 0.0)
    if one_language:
        return neutral
    return neutral | dict.fromkeys(WORD_LOSS, 0.0) | dict.fromkeys(WORD_GAIN, 1.0)
