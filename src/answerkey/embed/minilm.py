"""all-MiniLM-L6-v2 from package data, through onnxruntime, with its tokenizer: no network, no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from answerkey.embed.embedder import unit_rows
from answerkey.embed.int8 import INT8_GRAPH, INT8_WEIGHTS, int8_graph
from answerkey.local_models.model_files import MINILM_FOLDER, open_model
from answerkey.local_models.sessions import BatchRunner, tokenizable
from answerkey.local_models.wordpiece import WordPiece

if TYPE_CHECKING:
    from answerkey.embed.embedder import Vectors

TEXTS_PER_ROUND = 4096  # bounds the memory of a large corpus


class MiniLM:
    """Texts are cut at 256 tokens, as the model's authors set it. May be called from several threads."""

    name = "all-MiniLM-L6-v2"

    def __init__(
        self, int8: bool = False, threads: int | None = None, folder: Path = MINILM_FOLDER
    ) -> None:
        files = open_model(folder)
        if int8:
            graph = int8_graph(files)
            self.precision = "int8"
            self.digest = files.digest(INT8_GRAPH, INT8_WEIGHTS, "tokenizer.json")
        else:
            files.verified_path("weights.bin")
            graph = files.verified_path("model.onnx")
            self.precision = "fp32"
            self.digest = files.digest("model.onnx", "weights.bin", "tokenizer.json")
        self.dimension = files.facts.dimension
        self._tokenizer = WordPiece(files.verified_path("tokenizer.json"), files.facts.longest)
        self._runner = BatchRunner(graph, "vectors", threads)

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), TEXTS_PER_ROUND):
            part = [tokenizable(text) for text in texts[start : start + TEXTS_PER_ROUND]]
            for n, row in enumerate(self._runner.run(self._tokenizer.encode(part)), start):
                vectors[n] = row
        return unit_rows(vectors, len(texts), self.dimension, f"the embedding model {self.name}")
