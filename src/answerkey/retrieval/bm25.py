"""BM25: bm25s computes the weight of every word once; a search adds up weights."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from answerkey.cache import digest, kept_file
from answerkey.config.retrieval_tables import Bm25Formula
from answerkey.retrieval.fuse import Floats, Ints, Top, merge_blocks, select_top
from answerkey.retrieval.search_words import load_stemmer, question_words, search_words

_SCORES_AT_ONCE = 8_000_000  # 64 MB of float64
_ARRAYS = ("data", "indices", "indptr")


@dataclass(frozen=True, slots=True)
class Formula:
    """The variant of BM25 and its constants; `language` names a Snowball stemmer, "" none.

    The IDF of `lucene` is ln(1 + (N - df + 0.5) / (df + 0.5)); that of `robertson` is 0 for words
    in more than half of the chunks.
    """

    variant: Bm25Formula = "lucene"
    k1: float = 1.5
    b: float = 0.75
    language: str = ""


@dataclass(frozen=True, slots=True)
class Bm25:
    """Word number n has `weights[starts[n]:starts[n + 1]]`, in the chunks at the same `places`."""

    vocabulary: dict[str, int]
    weights: Floats
    places: Ints
    starts: Ints
    chunks: int
    language: str = ""

    def search(self, questions: Sequence[str], pool: int) -> Top:
        """The best chunks of each question; a chunk with score 0 is no hit."""
        step = max(1, _SCORES_AT_ONCE // max(self.chunks, 1))
        blocks = [questions[start : start + step] for start in range(0, len(questions), step)]
        return merge_blocks([select_top(self.score_chunks(block), pool) for block in blocks], pool)

    def score_chunks(self, questions: Sequence[str]) -> Floats:
        """The score of every chunk for each question; -inf where they share no word."""
        scores = np.zeros((len(questions), self.chunks))
        for row, question in zip(scores, questions, strict=True):
            for word, count in Counter(question_words(question, self.language)).items():
                number = self.vocabulary.get(word)
                if number is None:
                    continue
                span = slice(self.starts[number], self.starts[number + 1])
                row[self.places[span]] += count * self.weights[span]
        # `robertson` gives the weight 0 to very common words: a chunk with only these is no hit.
        scores[scores <= 0.0] = -np.inf
        return scores


def build_bm25(texts: Sequence[str], formula: Formula) -> Bm25:
    """The index of the texts; it comes from the cache if texts and formula were seen before."""
    load_stemmer(formula.language)  # an unknown language is an error before any work
    # Raise the number when the words or the weights of the same texts change.
    key = digest("bm25-3", formula.variant, formula.k1, formula.b, formula.language, texts)

    def make() -> bytes:
        tokens = [search_words(text, formula.language) for text in texts]
        arrays, vocabulary = _weigh(tokens, formula)
        buffer = io.BytesIO()
        # Words are stored as JSON bytes: an array of Python strings would need pickle.
        np.savez(buffer, words=np.frombuffer(json.dumps(vocabulary).encode(), np.uint8), **arrays)
        return buffer.getvalue()

    with np.load(io.BytesIO(kept_file("bm25", key, make)), allow_pickle=False) as stored:
        weights, places, starts = (stored[name] for name in _ARRAYS)
        vocabulary: list[str] = json.loads(stored["words"].tobytes())
    numbers = {word: number for number, word in enumerate(vocabulary)}
    return Bm25(numbers, weights, places, starts, len(texts), formula.language)


def _weigh(tokens: list[list[str]], formula: Formula) -> tuple[dict[str, Any], list[str]]:
    """The weights as a compressed table, one row per word."""
    import bm25s

    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in text] for text in tokens]
    if not vocabulary:  # bm25s cannot index an empty corpus
        empty = {"data": np.empty(0), "indices": np.empty(0, np.int64)}
        return {**empty, "indptr": np.zeros(2, np.int64)}, []
    # Ties are decided in float64, as trec_eval does; bm25s computes in float32 by default.
    model = bm25s.BM25(k1=formula.k1, b=formula.b, method=formula.variant, dtype="float64")
    model.index((ids, dict(vocabulary)), create_empty_token=False, show_progress=False)
    return {name: np.asarray(model.scores[name]) for name in _ARRAYS}, list(vocabulary)
