"""all-MiniLM-L6-v2 from package data, through onnxruntime: no network, no torch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from answerkey.embed.embedder import unit_rows
from answerkey.embed.model_files import GRAPH as INT8_GRAPH
from answerkey.embed.model_files import PACKAGED, int8_graph, open_model
from answerkey.embed.model_files import WEIGHTS as INT8_WEIGHTS
from answerkey.embed.wordpiece import Tokens, WordPiece
from answerkey.errors import SettingsError
from answerkey.processes import threads_to_use

if TYPE_CHECKING:
    import onnxruntime

    from answerkey.embed.embedder import Vectors

# Enough for a core to be busy, few enough for the activations to stay in its cache.
TOKENS_PER_BATCH = 256
TEXTS_PER_ROUND = 4096
# 256 tokens never come from more than this, and a hostile text of 100 MB must not be tokenised whole.
CHARACTERS_READ = 100_000


class MiniLM:
    """Texts are cut at 256 tokens, as the model's authors set it. May be called from several threads."""

    name = "all-MiniLM-L6-v2"

    def __init__(self, int8: bool = False, threads: int | None = None, folder: Path = PACKAGED) -> None:
        files = open_model(folder)
        if int8:
            graph, self.precision = int8_graph(files), "int8"
            self.digest = files.digest(INT8_GRAPH, INT8_WEIGHTS, "tokenizer.json")
        else:
            files.checked("weights.bin")
            graph, self.precision = files.checked("model.onnx"), "fp32"
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
            for batch, rows in self._run(encodings):
                vectors[[start + n for n in batch]] = rows
        return unit_rows(vectors, len(texts), self.dimension, f"the embedding model {self.name}")

    def _run(self, encodings: Sequence[Tokens]) -> Iterator[tuple[list[int], Vectors]]:
        """Batches of text numbers, each with its part of the output; every core takes a batch of its own."""
        batches = list(batches_by_length(encodings))
        with ThreadPoolExecutor(min(self._threads, len(batches)) or 1, "embed") as pool:
            parts = ([encodings[n] for n in batch] for batch in batches)
            yield from zip(batches, pool.map(self._run_batch, parts), strict=True)

    def _run_batch(self, encodings: Sequence[Tokens]) -> Vectors:
        longest = max(len(encoding) for encoding in encodings)
        ids = np.zeros((len(encodings), longest), np.int32)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding)] = encoding.ids
            mask[row, : len(encoding)] = 1
        return np.asarray(self._session.run(["vectors"], {"ids": ids, "mask": mask})[0], np.float32)


def batches_by_length(encodings: Sequence[Tokens]) -> Iterator[list[int]]:
    """Numbers of texts of nearly one length, longest first: little padding, and memory is reached early."""
    lengths = [len(encoding) for encoding in encodings]
    batch: list[int] = []
    for n in sorted(range(len(encodings)), key=lambda n: -lengths[n]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > TOKENS_PER_BATCH:
            yield batch
            batch = []
        batch.append(n)
    if batch:
        yield batch


def tokenizable(text: str) -> str:
    """Cut, and half of a surrogate pair replaced: the tokenizer takes only text that UTF-8 can hold."""
    text = text[:CHARACTERS_READ]
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def open_session(graph: Path) -> onnxruntime.InferenceSession:
    """onnxruntime without its telemetry: since 1.31 it keeps a device id in the home folder and reports to its maker."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when it is imported
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # where somebody else has imported it before
    options = cast("Any", onnxruntime.SessionOptions())  # without types
    options.log_severity_level = 3
    # The batches are divided among the cores, which then never wait for each other.
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common class for its errors
        raise SettingsError(f"onnxruntime cannot load {graph}: {str(error).splitlines()[0]}") from error
