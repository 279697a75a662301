"""The exported model on texts: onnxruntime and numpy only, so that what is measured is what ships."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tools.train_entailment.data import batches

LONGEST = 384
TOKENS = 4096


class Scorer:
    """Logits of (premise, hypothesis) pairs, in their order."""

    def __init__(self, graph: bytes | Path, tokenizer: Path, threads: int = 1) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        source: Any = graph if isinstance(graph, bytes) else str(graph)
        self.session = onnxruntime.InferenceSession(
            source, options, providers=["CPUExecutionProvider"]
        )
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(LONGEST, strategy="longest_first")

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
        return [(found.ids, found.type_ids) for found in self.tokenizer.encode_batch(list(pairs))]

    def run(
        self, encoded: Sequence[tuple[list[int], list[int]]], wanted: list[str] | None = None
    ) -> list[np.ndarray]:
        """The graph's outputs for one batch."""
        width = max(len(ids) for ids, _ in encoded)
        inputs = {
            name: np.zeros((len(encoded), width), np.int32)
            for name in ("input_ids", "attention_mask", "token_type_ids")
        }
        for row, (ids, types) in enumerate(encoded):
            inputs["input_ids"][row, : len(ids)] = ids
            inputs["token_type_ids"][row, : len(ids)] = types
            inputs["attention_mask"][row, : len(ids)] = 1
        return self.session.run(wanted or ["logits"], inputs)

    def logits(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        encoded = self.encode(pairs)
        out = np.zeros((len(pairs), 3), np.float32)
        for batch in batches([len(ids) for ids, _ in encoded], TOKENS, random.Random(0)):
            out[batch] = self.run([encoded[place] for place in batch])[0]
        return out


def probabilities(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Softmax over the three classes."""
    scaled = logits / temperature
    powers = np.exp(scaled - scaled.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def best_temperature(logits: np.ndarray, supported: np.ndarray) -> float:
    """The temperature whose probability of "supported" has the least log loss."""

    def loss(temperature: float) -> float:
        given = np.clip(probabilities(logits, temperature)[:, 0], 1e-6, 1 - 1e-6)
        return float(-np.where(supported, np.log(given), np.log(1 - given)).mean())

    return min((round(0.5 + 0.01 * step, 2) for step in range(251)), key=loss)
