"""The entailment model: does a premise support a statement, say nothing of it, or contradict it?

A small cross-encoder for English, trained by `tools/train_entailment` and stored in 8 bits beside this file; its card is in
docs/validity.md. Without its file, everything that uses it goes by words only.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from answerkey.cache import DiskCache, cache_folder
from answerkey.embed import RowCache
from answerkey.embed.minilm import Tokens, WordPiece
from answerkey.embed.model_files import PACKAGED as TOKENIZER_FOLDER
from answerkey.embed.model_files import open_model
from answerkey.processes import threads_to_use

PACKAGED = Path(__file__).parent / "data"
GRAPH = "entailment.onnx"
CARD = "entailment.json"
KEPT_IN_MEMORY = 50_000
PAIRS_PER_ROUND = 4_096
Logits = NDArray[np.float32]
TextPair = tuple[str, str]  # premise and statement


@dataclass(frozen=True, slots=True)
class Entailment:
    """Three probabilities that sum to 1."""

    supported: float
    neutral: float
    contradicted: float


class EntailmentModel:
    """Logits of (premise, statement) pairs, each pair computed once. May be called from several threads."""

    def __init__(self, folder: Path = PACKAGED, store: DiskCache | None = None) -> None:
        from answerkey.embed.minilm import open_session

        files = open_model(folder, CARD)
        graph = files.checked(GRAPH)
        tokenizer = replace(files, folder=TOKENIZER_FOLDER).checked("tokenizer.json")
        self.digest = files.facts.sha256[GRAPH]
        self.temperature = files.facts.temperature
        self._tokenizer = WordPiece(tokenizer, files.facts.longest)
        self._session = open_session(graph)
        self.threads = threads_to_use()
        self.rows: RowCache[TextPair] = RowCache(
            self.digest, store, lambda row: len(row) == 3, KEPT_IN_MEMORY
        )

    def logits(self, pairs: Sequence[TextPair]) -> Logits:
        """A row per pair: supported, neutral, contradicted, divided by the temperature."""
        rows = self.rows.rows(pairs, self._computed, PAIRS_PER_ROUND)
        return np.array(rows, np.float32).reshape(-1, 3) / np.float32(self.temperature)

    def _computed(self, pairs: Sequence[TextPair]) -> Logits:
        from answerkey.embed.minilm import batches_by_length, tokenizable

        encodings = self._tokenizer.encode_pairs(
            [(tokenizable(a), tokenizable(b)) for a, b in pairs]
        )
        batches = list(batches_by_length(encodings))
        parts = ([encodings[n] for n in batch] for batch in batches)
        rows = np.empty((len(pairs), 3), np.float32)
        if self.threads == 1:
            done = map(self._run_batch, parts)
        else:
            with ThreadPoolExecutor(self.threads, "entailment") as pool:
                done = pool.map(self._run_batch, parts)
        for batch, logits in zip(batches, done, strict=True):
            rows[batch] = logits
        return rows

    def _run_batch(self, encodings: Sequence[Tokens]) -> Logits:
        longest = max(len(encoding) for encoding in encodings)
        ids, mask, types = (np.zeros((len(encodings), longest), np.int32) for _ in range(3))
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding)] = encoding.ids
            types[row, : len(encoding)] = encoding.type_ids
            mask[row, : len(encoding)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        return np.asarray(self._session.run(["logits"], given)[0], np.float32)


@cache
def load_model() -> EntailmentModel | None:
    """The packaged model with a cache on disk; None where the package has no model file."""
    if not (PACKAGED / GRAPH).exists():
        return None
    return EntailmentModel(PACKAGED, DiskCache(cache_folder() / "entailment.sqlite"))


def probabilities(logits: Logits) -> NDArray[np.float64]:
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def supported_odds(logits: Logits) -> NDArray[np.float64]:
    """The log-odds of "supported" against the other two classes."""
    rows = logits.astype(np.float64)
    return rows[:, 0] - np.logaddexp(rows[:, 1], rows[:, 2])


def contradicted_odds(logits: Logits) -> NDArray[np.float64]:
    """The log-odds of "contradicted" against the other two classes."""
    rows = logits.astype(np.float64)
    return rows[:, 2] - np.logaddexp(rows[:, 0], rows[:, 1])
