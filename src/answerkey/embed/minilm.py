"""all-MiniLM-L6-v2 from package data, through onnxruntime, with its tokenizer: no network, no torch."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from answerkey.embed.embedder import unit_rows
from answerkey.embed.int8 import INT8_GRAPH, INT8_WEIGHTS, int8_graph
from answerkey.local_models.model_files import MINILM_FOLDER, open_model
from answerkey.local_models.sessions import batches_by_length, open_session, tokenizable
from answerkey.local_models.wordpiece import Tokens, WordPiece
from answerkey.processes import threads_to_use

if TYPE_CHECKING:
    from answerkey.embed.embedder import Vectors

TEXTS_PER_ROUND = 4096


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
            files.checked("weights.bin")
            graph = files.checked("model.onnx")
            self.precision = "fp32"
            self.digest = files.digest("model.onnx", "weights.bin", "tokenizer.json")
        self.dimension = files.facts.dimension
        self._tokenizer = WordPiece(files.checked("tokenizer.json"), files.facts.longest)
        self._session = open_session(graph)
        self._threads = threads or threads_to_use()

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), TEXTS_PER_ROUND):
            part = [tokenizable(text) for text in texts[start : start + TEXTS_PER_ROUND]]
            encodings = self._tokenizer.encode(part)
            batches = list(batches_by_length(encodings))
            workers = min(self._threads, len(batches)) or 1
            with ThreadPoolExecutor(workers, "embed") as pool:  # a batch per core
                parts = ([encodings[n] for n in batch] for batch in batches)
                for batch, rows in zip(batches, pool.map(self._run_batch, parts), strict=True):
                    vectors[[start + n for n in batch]] = rows
        return unit_rows(vectors, len(texts), self.dimension, f"the embedding model {self.name}")

    def _run_batch(self, encodings: Sequence[Tokens]) -> Vectors:
        longest = max(len(encoding) for encoding in encodings)
        ids = np.zeros((len(encodings), longest), np.int32)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding)] = encoding.ids
            mask[row, : len(encoding)] = 1
        return np.asarray(self._session.run(["vectors"], {"ids": ids, "mask": mask})[0], np.float32)
