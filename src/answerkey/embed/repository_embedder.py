"""A sentence-embedding model by name: ONNX through onnxruntime and `tokenizers`, pooled as its repository says.

`modules.json` and `1_Pooling/config.json` have the pooling, `config_sentence_transformers.json` the prompts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from answerkey.embed.embedder import Prefixes, unit_rows
from answerkey.errors import SettingsError
from answerkey.local_models.repository import ModelRepository
from answerkey.local_models.sessions import BatchRunner, tokenizable

if TYPE_CHECKING:
    from answerkey.embed.embedder import Vectors

TEXTS_PER_ROUND = 2048
_POOLED_HERE = ("Transformer", "Pooling", "Normalize")


class Pooling(Enum):
    """How the vectors of the tokens become the vector of the text."""

    MEAN = "mean"
    FIRST = "cls"
    LAST = "lasttoken"
    LARGEST = "max"


_KEYS = {
    "pooling_mode_mean_tokens": Pooling.MEAN,
    "pooling_mode_cls_token": Pooling.FIRST,
    "pooling_mode_lasttoken": Pooling.LAST,
    "pooling_mode_max_tokens": Pooling.LARGEST,
}


class RepositoryEmbedder:
    """Texts are cut at the length that the repository states. May be called from several threads."""

    precision = "onnx"

    def __init__(
        self, repository: ModelRepository, prefixes: Prefixes | None, threads: int | None = None
    ) -> None:
        self.name = repository.name
        self.prefixes = prefixes or read_prefixes(repository)
        self._pooling = read_pooling(repository)
        shape = repr((self._pooling, self.prefixes))
        self.digest = hashlib.sha256(f"{repository.digest}\0{shape}".encode()).hexdigest()
        self._tokenizer = repository.load_tokenizer()
        self._tokenizer.enable_truncation(repository.longest)
        self._runner = BatchRunner(repository.weights, "last_hidden_state", threads)
        self.dimension = len(self._vectors(["dimension"])[0])

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        starts = range(0, len(texts), TEXTS_PER_ROUND)
        rows = [row for n in starts for row in self._vectors(texts[n : n + TEXTS_PER_ROUND])]
        source = f"the embedding model {self.name}"
        return unit_rows(np.stack(rows), len(texts), self.dimension, source)

    def _vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        encodings = self._tokenizer.encode_batch([tokenizable(text) for text in texts])
        outputs = self._runner.run(encodings)
        return [
            self._pool(output, len(encoding))
            for output, encoding in zip(outputs, encodings, strict=True)
        ]

    def _pool(self, output: NDArray[np.float32], length: int) -> NDArray[np.float32]:
        """One vector from those of the tokens; padding is left out."""
        if output.ndim == 1:
            return output  # pooled in the graph
        tokens = output[:length]
        if self._pooling is Pooling.FIRST:
            return tokens[0]
        if self._pooling is Pooling.LAST:
            return tokens[-1]
        if self._pooling is Pooling.LARGEST:
            return tokens.max(axis=0)
        return tokens.mean(axis=0)


def read_pooling(repository: ModelRepository) -> Pooling:
    """The pooling of a repository; the mean where it states none, as sentence-transformers does."""
    modules = cast("list[Mapping[str, Any]]", repository.read_json("modules.json") or [])
    path = "1_Pooling"
    for module in modules:
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind not in _POOLED_HERE:
            raise SettingsError(
                f'"{repository.name}" has a layer "{kind}" after its graph, which only '
                'sentence-transformers computes: set backend = "sentence-transformers" in [embedding]'
            )
        if kind == "Pooling":
            path = str(module.get("path") or path)
    config = repository.table(f"{path}/config.json")
    if stated := config.get("pooling_mode"):
        modes = [mode for mode in Pooling if mode.value == stated]
    else:
        modes = [mode for key, mode in _KEYS.items() if config.get(key)]
    if not config:
        return Pooling.MEAN
    if len(modes) != 1:
        raise SettingsError(
            f'"{repository.name}" combines several poolings, or one that is not supported: '
            'set backend = "sentence-transformers" in [embedding]'
        )
    return modes[0]


def read_prefixes(repository: ModelRepository) -> Prefixes:
    """The prompts of a repository: for texts to compare, for questions, and for passages."""
    table = repository.table("config_sentence_transformers.json")
    prompts: Mapping[str, str] = table.get("prompts") or {}
    usual = prompts.get(str(table.get("default_prompt_name")), "")
    query = prompts.get("query", usual)
    passage = prompts.get("passage", prompts.get("document", usual))
    return Prefixes(usual, query, passage)
