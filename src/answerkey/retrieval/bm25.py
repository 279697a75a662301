"""BM25: every score of every word is worked out once (bm25s); a search is one sparse product for all questions."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from answerkey.cache import digest, kept_file
from answerkey.config.tables import Bm25Formula
from answerkey.retrieval.top import Top, merge_blocks, select_top
from answerkey.text import words

_NUMBERS_AT_ONCE = 8_000_000


@dataclass(frozen=True, slots=True)
class Formula:
    """`robertson` is ln((N - df + 0.5) / (df + 0.5)), 0 for words in more than half of the chunks."""

    variant: Bm25Formula = "robertson"
    k1: float = 1.5
    b: float = 0.75


@dataclass(frozen=True, slots=True)
class Bm25:
    """`weights` holds a row a word and a column a chunk."""

    vocabulary: dict[str, int]
    weights: Any
    chunks: int

    def search(self, questions: Sequence[str], pool: int) -> Top:
        """The best chunks of each question; a score of 0 is no hit."""
        asked = self._counts(questions)
        step = max(1, _NUMBERS_AT_ONCE // max(self.chunks, 1))
        parts: list[Top] = []
        for start in range(0, len(questions), step):
            scores = (asked[start : start + step] @ self.weights).toarray()
            scores[scores <= 0.0] = -np.inf
            parts.append(select_top(scores, pool))
        return merge_blocks(parts, pool)

    def _counts(self, questions: Sequence[str]) -> Any:
        from scipy.sparse import csr_array

        rows: list[int] = []
        columns: list[int] = []
        counts: list[float] = []
        for row, question in enumerate(questions):
            for word, count in Counter(words(question)).items():
                if word in self.vocabulary:
                    rows.append(row)
                    columns.append(self.vocabulary[word])
                    counts.append(float(count))
        return csr_array((counts, (rows, columns)), shape=(len(questions), max(len(self.vocabulary), 1)))


def build_bm25(texts: Sequence[str], formula: Formula) -> Bm25:
    """The index of the texts, from the cache where the same texts and formula were seen before."""
    key = digest("bm25-2", formula.variant, formula.k1, formula.b, texts)

    def make() -> bytes:
        arrays, vocabulary = _weigh([words(text) for text in texts], formula)
        buffer = io.BytesIO()
        np.savez(buffer, words=np.frombuffer(json.dumps(vocabulary).encode(), np.uint8), **arrays)
        return buffer.getvalue()

    with np.load(io.BytesIO(kept_file("bm25", key, make)), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in ("data", "indices", "indptr")}
        vocabulary: list[str] = json.loads(stored["words"].tobytes())
    return _assembled(arrays, vocabulary, len(texts))


def _weigh(tokens: list[tuple[str, ...]], formula: Formula) -> tuple[dict[str, Any], list[str]]:
    """The weights as a compressed table, a row a word; an empty corpus has a single empty row."""
    import bm25s

    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in text] for text in tokens]
    if not vocabulary:
        return {"data": np.empty(0), "indices": np.empty(0, np.int64), "indptr": np.zeros(2, np.int64)}, []
    model = bm25s.BM25(k1=formula.k1, b=formula.b, method=formula.variant, dtype="float64")
    model.index((ids, dict(vocabulary)), create_empty_token=False, show_progress=False)
    return {name: np.asarray(model.scores[name]) for name in ("data", "indices", "indptr")}, list(vocabulary)


def _assembled(arrays: dict[str, Any], vocabulary: list[str], chunks: int) -> Bm25:
    from scipy.sparse import csr_array

    shape = (max(len(vocabulary), 1), chunks)
    weights = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    return Bm25({word: row for row, word in enumerate(vocabulary)}, weights, chunks)
