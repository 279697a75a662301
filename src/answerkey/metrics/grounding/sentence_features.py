"""An answer read against its passages: each sentence with its features and its best evidence.

The same functions give the features to the metric and to the script that fits the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from answerkey.metrics.boosted_trees import load_numbers
from answerkey.metrics.grounding.word_support import PassageIndex, Support, lexical, neighbours, without_english
from answerkey.metrics.sentences import Piece, language, pieces
from answerkey.types import Pair

if TYPE_CHECKING:
    from answerkey.embed.embedder import TokenVectors

ANSWERS_AT_ONCE = 16  # answers whose token vectors, with those of their passages, are in memory at a time
LANGUAGE_FROM = 4000  # characters of the passages by which their language is detected
SENTENCES_COMPARED = 48  # of the passages of one answer: those that share most words with it


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """`features` by words, and by meaning too where there are token vectors. `evidence` is a place in the index."""

    piece: Piece
    support: Support
    features: Mapping[str, float]
    evidence: int


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    text: str
    index: PassageIndex
    sentences: tuple[ReadSentence, ...]
    english: bool
    one_language: bool
    by_meaning: bool


@cache
def rarity() -> Mapping[str, float]:
    """How informative a stem is, 0 to 1, by how few English sentences contain it. Unlisted stems count 1."""
    return load_numbers("grounding/rarity")["stems"]


def read_answers(pairs: Sequence[Pair], embed: Any = None) -> Iterator[ReadAnswer]:
    """Every answer with its features; `embed` provides token vectors, without it there are features by words only."""
    for start in range(0, len(pairs), ANSWERS_AT_ONCE):
        part = [_by_words(pair) for pair in pairs[start : start + ANSWERS_AT_ONCE]]
        kept = [_compared(answer) if embed is not None and answer.english else [] for answer in part]
        wanted = [text for answer, places in zip(part, kept, strict=True) for text in _texts(answer, places)]
        vectors = _token_vectors(wanted, embed) if wanted else {}
        for answer, places in zip(part, kept, strict=True):
            yield _by_meaning(answer, places, vectors) if places else answer


def _by_words(pair: Pair) -> ReadAnswer:
    case, response = pair
    text = response.answer or ""
    contexts = tuple(response.contexts)
    index = PassageIndex.of(contexts)
    asked = frozenset(stem for piece in pieces(case.question) for stem in piece.content_stems())
    spoken = languages(text, contexts)
    english, one_language = spoken[0] == "english", spoken[0] == spoken[1]
    found: list[ReadSentence] = []
    for piece in pieces(text):
        support = lexical(piece, index, asked, rarity() if english else {})
        features = support.features
        if not english or not one_language:
            features = without_english(features, one_language)
        evidence = int(support.shared.argmax()) if len(support.shared) else -1
        found.append(ReadSentence(piece, support, features, evidence))
    return ReadAnswer(text, index, tuple(found), english, one_language, False)


def languages(text: str, contexts: Sequence[str]) -> tuple[str, str]:
    """Of the answer and of the passages; an unclear one is taken to be the other's, two unclear ones to be English."""
    own, given = language(text), language(" ".join(contexts)[:LANGUAGE_FROM])
    clear = [found for found in (own, given) if found != "unclear"] or ["english"]
    return (clear[0] if own == "unclear" else own), (clear[-1] if given == "unclear" else given)


def _compared(answer: ReadAnswer) -> list[int]:
    """The context sentences whose meaning is compared: all, or those that share most words with the answer."""
    index = answer.index
    if not answer.sentences or not index.sentences or not answer.one_language:
        return []
    if len(index.sentences) <= SENTENCES_COMPARED:
        return list(range(len(index.sentences)))
    shared = np.max([sentence.support.shared for sentence in answer.sentences], axis=0)
    best = np.argsort(-shared, kind="stable")[:SENTENCES_COMPARED]
    return sorted(best.tolist())


def _texts(answer: ReadAnswer, places: list[int]) -> Iterator[str]:
    if places:
        yield from (answer.text[s.piece.start : s.piece.end] for s in answer.sentences)
        yield from (answer.index.text_at(at) for at in places)


def _token_vectors(texts: Sequence[str], embed: Any) -> dict[str, TokenVectors]:
    unique = list(dict.fromkeys(texts))
    return dict(zip(unique, embed.embed_tokens(unique), strict=True))


def _by_meaning(answer: ReadAnswer, places: list[int], vectors: Mapping[str, TokenVectors]) -> ReadAnswer:
    blocks = [vectors[answer.index.text_at(at)].vectors for at in places]
    places = [at for at, block in zip(places, blocks, strict=True) if len(block)]
    blocks = [block for block in blocks if len(block)]
    if not blocks:
        return answer
    tokens = np.concatenate(blocks)
    starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
    means = _directions(np.add.reduceat(tokens, starts, axis=0))
    near = neighbours(np.array(places), np.array([answer.index.passages[at] for at in places]))
    found: list[ReadSentence] = []
    for sentence in answer.sentences:
        own = vectors[answer.text[sentence.piece.start : sentence.piece.end]]
        if not len(own.vectors) or not sentence.piece.spans:
            return answer
        nearest = np.maximum.reduceat(own.vectors @ tokens.T, starts, axis=1)
        cosines = means @ _directions(own.vectors.sum(axis=0, keepdims=True))[0]
        words = word_similarity(sentence.piece, own.offsets, nearest)
        features, best = soft(sentence.piece, words, cosines, near, rarity())
        found.append(ReadSentence(sentence.piece, sentence.support, {**sentence.features, **features}, places[best]))
    return ReadAnswer(answer.text, answer.index, tuple(found), answer.english, answer.one_language, True)


def _directions(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


Floats = NDArray[np.float32]
WEAK, FAR = 0.65, 0.5  # cosines below which a word counts as weakly and as not supported


def word_similarity(piece: Piece, offsets: Sequence[tuple[int, int]], nearest: Floats) -> Floats:
    """For each word of the sentence (rows) its cosine with the nearest token of each context sentence.

    `nearest` has a row per token; a word of several tokens takes their mean, a word beyond the model's limit the mean
    of all.
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

    `words` comes from `word_similarity`; `near` says which context sentences are neighbours.
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
