"""A token classifier as a pair model: it marks the words of a statement that the premise does not support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from answerkey.cache import DiskCache
from answerkey.entailment.heads import ClassMeaning, log_odds_of, rows_of_odds
from answerkey.entailment.onnx_model import KEPT_IN_MEMORY, PAIRS_PER_ROUND
from answerkey.entailment.pair_model import Logits, TextPair
from answerkey.entailment.windows import PairWindow, WindowEncoder
from answerkey.local_models.repository import ModelRepository
from answerkey.local_models.row_cache import RowCache
from answerkey.local_models.sessions import BatchRunner

UNSUPPORTED_FROM = 0.5


@dataclass(frozen=True, slots=True)
class UnsupportedSpan:
    """Characters of a statement that no window of the premise supports, and how probable that is."""

    start: int
    end: int
    probability: float


class TokenPairModel:
    """A statement is as unsupported as its worst word; a word as unsupported as its best window says."""

    def __init__(
        self,
        repository: ModelRepository,
        meanings: Sequence[ClassMeaning],
        store: DiskCache | None = None,
    ) -> None:
        self.name = repository.name
        self.revision = repository.snapshot.commit
        self.digest = repository.digest
        self._supported = list(meanings).index(ClassMeaning.SUPPORTED)
        self._encoder = WindowEncoder(repository.load_tokenizer(), repository.longest)
        self._runner = BatchRunner(repository.weights, "logits")
        self._rows: RowCache[TextPair] = RowCache(
            f"{self.digest}:{self._supported}", store, lambda row: len(row) == 3, KEPT_IN_MEMORY
        )

    def logits(self, pairs: Sequence[TextPair]) -> Logits:
        """A row per pair: supported, neutral; never contradicted, which such a model does not know."""
        rows = self._rows.rows(pairs, self._compute, PAIRS_PER_ROUND)
        return np.array(rows, np.float32).reshape(-1, 3)

    def spans(self, pair: TextPair) -> list[UnsupportedSpan]:
        """The unsupported parts of the statement, neighbouring words joined."""
        spans: list[UnsupportedSpan] = []
        for (start, end), share in sorted(self._words([pair])[0].items()):
            if share < UNSUPPORTED_FROM:
                continue
            if spans:
                gap = pair[1][spans[-1].end : start]
            else:
                gap = "-"
            if gap.strip() == "":
                last = spans.pop()
                start = last.start
                share = max(share, last.probability)
            spans.append(UnsupportedSpan(start, end, round(share, 6)))
        return spans

    def _compute(self, pairs: Sequence[TextPair]) -> Logits:
        worst = [max(words.values(), default=0.0) for words in self._words(pairs)]
        return rows_of_odds(-log_odds_of(np.array(worst)))

    def _words(self, pairs: Sequence[TextPair]) -> list[dict[tuple[int, int], float]]:
        """For each pair the probability that each token of its statement is unsupported."""
        windows = self._encoder.windows(pairs)
        outputs = self._runner.run([window.encoding for window in windows])
        words: list[dict[tuple[int, int], float]] = [{} for _ in pairs]
        for window, output in zip(windows, outputs, strict=True):
            shares = self._unsupported_shares(output)
            own = words[window.pair]
            for at, place in _statement_tokens(window):
                share = float(shares[at])
                own[place] = min(share, own.get(place, 1.0))
        return words

    def _unsupported_shares(self, output: NDArray[np.float32]) -> NDArray[np.float64]:
        powers = np.exp(output.astype(np.float64) - output.max(axis=1, keepdims=True))
        return 1 - powers[:, self._supported] / powers.sum(axis=1)


def _statement_tokens(window: PairWindow) -> list[tuple[int, tuple[int, int]]]:
    """The positions of the statement's tokens, each with its place in the statement."""
    encoding = window.encoding
    places = zip(encoding.sequence_ids, encoding.offsets, strict=True)
    return [
        (at, (window.start + start, window.start + end))
        for at, (sequence, (start, end)) in enumerate(places)
        if sequence == 1 and end > start
    ]
