"""A pair model from ONNX files, through onnxruntime and `tokenizers`: three classes, two, or one number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from answerkey.cache import DiskCache
from answerkey.entailment.heads import Head
from answerkey.entailment.pair_model import Logits, TextPair
from answerkey.entailment.windows import WindowEncoder, pool_windows
from answerkey.local_models.repository import ModelRepository
from answerkey.local_models.row_cache import RowCache
from answerkey.local_models.sessions import BatchRunner

KEPT_IN_MEMORY = 50_000
# A large model computes some seconds on this many pairs; an interrupted run loses no more.
PAIRS_PER_ROUND = 512


class OnnxPairModel:
    """Logits of pairs, each computed once. May be called from several threads."""

    def __init__(
        self, repository: ModelRepository, head: Head, store: DiskCache | None = None
    ) -> None:
        self.name = repository.name
        self.revision = repository.snapshot.commit
        self.digest = repository.digest
        self._head = head
        self._encoder = WindowEncoder(repository.load_tokenizer(), repository.longest)
        self._runner = BatchRunner(repository.weights, "logits")
        self._rows: RowCache[TextPair] = RowCache(
            f"{self.digest}:{head!r}", store, lambda row: len(row) == 3, KEPT_IN_MEMORY
        )

    def logits(self, pairs: Sequence[TextPair]) -> Logits:
        """A row per pair: supported, neutral, contradicted, as the model gives them."""
        rows = self._rows.rows(pairs, self._compute, PAIRS_PER_ROUND)
        return np.array(rows, np.float32).reshape(-1, 3)

    def _compute(self, pairs: Sequence[TextPair]) -> Logits:
        windows = self._encoder.windows(pairs)
        outputs = np.stack(self._runner.run([window.encoding for window in windows]))
        places = [(window.pair, window.part) for window in windows]
        return pool_windows(self._head.rows(outputs), places, len(pairs))
