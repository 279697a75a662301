"""The packaged pair model: a small cross-encoder for English.

`tools/train_entailment` trained it; it is stored in 8 bits beside this file, and its card is in docs/validity.md.
Without its file, everything that uses it goes by words only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from answerkey.cache import DiskCache, cache_folder
from answerkey.config.tables import PACKAGED_NAME
from answerkey.entailment.pair_model import Logits, TextPair
from answerkey.local_models.model_files import MINILM_FOLDER, open_model
from answerkey.local_models.row_cache import RowCache
from answerkey.local_models.sessions import BatchRunner, tokenizable
from answerkey.local_models.wordpiece import WordPiece

PACKAGED = Path(__file__).parent / "data"
GRAPH = "entailment.onnx"
CARD = "entailment.json"
KEPT_IN_MEMORY = 50_000
PAIRS_PER_ROUND = 4_096  # stored after each round: an interrupted run loses no more than this


class EntailmentModel:
    """Logits of (premise, statement) pairs, each pair computed once. May be called from several threads."""

    name = PACKAGED_NAME
    revision = ""
    title = "the entailment model"
    is_fitted = True

    def __init__(self, folder: Path = PACKAGED, store: DiskCache | None = None) -> None:
        files = open_model(folder, CARD)
        graph = files.verified_path(GRAPH)
        tokenizer = replace(files, folder=MINILM_FOLDER).verified_path("tokenizer.json")
        self.digest = files.facts.sha256[GRAPH]
        self.temperature = files.facts.temperature
        self._tokenizer = WordPiece(tokenizer, files.facts.longest)
        self.runner = BatchRunner(graph, "logits")
        self.rows: RowCache[TextPair] = RowCache(
            self.digest, store, lambda row: len(row) == 3, KEPT_IN_MEMORY
        )

    def logits(self, pairs: Sequence[TextPair]) -> Logits:
        """A row per pair: supported, neutral, contradicted, divided by the temperature."""
        rows = self.rows.rows(pairs, self._compute, PAIRS_PER_ROUND)
        return np.array(rows, np.float32).reshape(-1, 3) / np.float32(self.temperature)

    def _compute(self, pairs: Sequence[TextPair]) -> Sequence[Logits]:
        return self.runner.run(
            self._tokenizer.encode_pairs(
                [(tokenizable(premise), tokenizable(statement)) for premise, statement in pairs]
            )
        )


@cache
def load_model() -> EntailmentModel | None:
    """The packaged model with a cache on disk; None where the package has no model file."""
    if not (PACKAGED / GRAPH).exists():
        return None
    return EntailmentModel(PACKAGED, DiskCache(cache_folder() / "entailment.sqlite"))
