"""Topics: clusters of the baseline's questions, and questions that are far from all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from answerkey.text import short_label

Vectors = NDArray[np.float32]
_PER_TOPIC = 40  # questions of the baseline per topic, on average
_MOST_TOPICS = 8  # more topics would leave each too little of the error budget
_ROUNDS = 25
_FAR_SHARE = 0.02  # share of the baseline's own questions that are as far from all the others
_NEVER_FAR = 0.6  # such a cosine is that of a question about the same thing, whatever the quantile
# A question nearer to the baseline than most of the baseline's own is never new, however many others
# ask the same. Of the shares 0.5, 0.7 and 0.9, 0.7 found most at the same rate of mistakes
# (benchmarks/watch.py --topics).
_NEAR_SHARE = 0.7
# The chance that the nearest neighbours of a familiar question are all new ones.
_BY_CHANCE = 0.1
_FEWEST_NEIGHBOURS = 2
_MOST_QUESTIONS = 4_000  # of the baseline that later questions are compared with
_ROWS_AT_ONCE = 512


class TextEmbedder(Protocol):
    """Texts to vectors of length 1."""

    def embed(self, texts: Sequence[str]) -> Vectors: ...


class Topics(msgspec.Struct):
    """The topics of the baseline.

    `far` is the cosine to the nearest question of the baseline below which a question is new.
    From `near` upwards it is familiar. Between them its neighbours decide.
    """

    centres: list[list[float]]
    names: list[str]
    far: float
    questions: list[str]
    familiar_share: float = 1.0
    near: float = -1.0

    def of_vectors(self, vectors: Vectors) -> list[int]:
        """The nearest topic of each question; 0 for all where there is only one."""
        if len(self.centres) < 2:
            return [0] * len(vectors)
        centres = np.asarray(self.centres, np.float32)
        return [int(number) for number in np.argmax(vectors @ centres.T, axis=1)]


def find_topics(questions: Sequence[str], embedder: TextEmbedder) -> tuple[Topics, list[int]]:
    """The topics of the baseline's questions, and the topic of each question."""
    vectors = embedder.embed(questions)
    centres = _cluster(vectors, min(_MOST_TOPICS, len(questions) // _PER_TOPIC))
    step = max(len(questions) // _MOST_QUESTIONS, 1)
    kept = list(range(0, len(questions), step))
    nearest = _nearest(vectors[kept], vectors[kept], skip_self=True)
    if len(kept) > 1:
        far = min(float(np.quantile(nearest, _FAR_SHARE)), _NEVER_FAR)
        near = float(np.quantile(nearest, _NEAR_SHARE))
    else:
        far = -1.0
        near = -1.0
    names = [_central_question(questions, vectors, centre) for centre in centres]
    topics = Topics(
        [[float(number) for number in centre] for centre in centres],
        names,
        far,
        [questions[number] for number in kept],
        float((nearest >= far).mean()),
        near,
    )
    return topics, topics.of_vectors(vectors)


def _cluster(vectors: Vectors, count: int) -> Vectors:
    """Spherical k-means from centres that are far from each other, always the same ones."""
    if count < 2:
        return _unit(vectors.mean(axis=0, keepdims=True))
    chosen = [0]
    closest = vectors @ vectors[0]
    for _ in range(count - 1):
        chosen.append(int(np.argmin(closest)))
        closest = np.maximum(closest, vectors @ vectors[chosen[-1]])
    centres = vectors[chosen]
    for _ in range(_ROUNDS):
        topics = np.argmax(vectors @ centres.T, axis=1)
        means = [
            vectors[topics == number].mean(axis=0) if (topics == number).any() else centres[number]
            for number in range(count)
        ]
        centres = _unit(np.asarray(means, np.float32))
    return centres


def _unit(vectors: Vectors) -> Vectors:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _central_question(questions: Sequence[str], vectors: Vectors, centre: Vectors) -> str:
    return short_label(" ".join(questions[int(np.argmax(vectors @ centre))].split()), 50)


def _nearest(vectors: Vectors, others: Vectors, *, skip_self: bool = False) -> NDArray[np.float64]:
    """The cosine of each vector to the nearest of the others."""
    best = np.empty(len(vectors))
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        cosines = vectors[start : start + _ROWS_AT_ONCE] @ others.T
        if skip_self:
            rows = np.arange(len(cosines))
            cosines[rows, start + rows] = -1.0
        best[start : start + len(cosines)] = cosines.max(axis=1)
    return best


class NewQuestion(msgspec.Struct, frozen=True):
    """A question that is far from every question of the baseline; `similarity` is that of the nearest."""

    question: str
    similarity: float


def new_questions(
    topics: Topics, questions: Sequence[str], vectors: Vectors, embedder: TextEmbedder
) -> list[NewQuestion]:
    """The questions that belong to no topic of the baseline, the most distant first."""
    if not topics.questions or not len(vectors):
        return []
    baseline = embedder.embed(topics.questions)
    nearest = _nearest(vectors, baseline)
    is_far = nearest < topics.far
    # A question that is asked twice would be its own nearest neighbour.
    _, first_places = np.unique([question.strip() for question in questions], return_index=True)
    is_doubtful = ~is_far & (nearest < topics.near)
    is_far |= is_doubtful & _has_new_neighbours(
        vectors, vectors[np.sort(first_places)], nearest, len(baseline)
    )
    far = [
        NewQuestion(question, round(float(similarity), 3))
        for question, similarity, is_new in zip(questions, nearest, is_far, strict=True)
        if is_new
    ]
    return sorted(far, key=lambda new: new.similarity)


def _has_new_neighbours(
    vectors: Vectors, log: Vectors, nearest: NDArray[np.float64], baseline_count: int
) -> NDArray[np.bool_]:
    """Whether so many questions of the log are nearer than the whole baseline that it is no chance.

    Alone, a question of a new topic is often no further away than a familiar one. Several of them
    are nearer to each other than to anything in the baseline.
    """
    share = len(log) / (len(log) + baseline_count)
    needed = max(math.ceil(math.log(_BY_CHANCE) / math.log(share)), _FEWEST_NEIGHBOURS)
    cosines = vectors @ log.T
    # The question itself is in the log, with a cosine of 1.
    nearer = (cosines > nearest[:, None]).sum(axis=1) - 1
    return nearer >= needed
