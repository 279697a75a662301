"""A pair model without ONNX files, through the CrossEncoder of sentence-transformers: the extra of that name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from answerkey.cache import DiskCache
from answerkey.entailment.heads import Head
from answerkey.entailment.onnx_model import KEPT_IN_MEMORY, PAIRS_PER_ROUND
from answerkey.entailment.pair_model import Logits, TextPair
from answerkey.entailment.windows import WindowEncoder, pool_windows
from answerkey.errors import MissingPackage, SettingsError
from answerkey.local_models.repository import ModelRepository
from answerkey.local_models.row_cache import RowCache


class CrossEncoderModel:
    """Logits of pairs, computed by torch; windows are those of the ONNX models."""

    def __init__(
        self,
        repository: ModelRepository,
        head: Head,
        store: DiskCache | None = None,
        *,
        allow_code: bool = False,
    ) -> None:
        self.name = repository.name
        self.revision = repository.snapshot.commit
        self.digest = repository.digest
        self._head = head
        self._encoder = WindowEncoder(repository.load_tokenizer(), repository.longest)
        self._model = _load_cross_encoder(repository, allow_code)
        self._rows: RowCache[TextPair] = RowCache(
            f"{self.digest}:{head!r}", store, lambda row: len(row) == 3, KEPT_IN_MEMORY
        )

    def logits(self, pairs: Sequence[TextPair]) -> Logits:
        rows = self._rows.rows(pairs, self._compute, PAIRS_PER_ROUND)
        return np.array(rows, np.float32).reshape(-1, 3)

    def _compute(self, pairs: Sequence[TextPair]) -> Logits:
        windows = self._encoder.windows(pairs)
        texts = [window.texts(pairs[window.pair]) for window in windows]
        outputs = self._model.predict(
            texts, activation_fn=_leave_unchanged, show_progress_bar=False, convert_to_numpy=True
        )
        numbers = np.asarray(outputs, np.float32).reshape(len(texts), -1)
        places = [(window.pair, window.part) for window in windows]
        return pool_windows(self._head.rows(numbers), places, len(pairs))


def _leave_unchanged(outputs: Any) -> Any:
    """The activation: heads take the plain outputs, as those of a graph."""
    return outputs


def _load_cross_encoder(repository: ModelRepository, allow_code: bool) -> Any:
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # before the import, which reads it
    try:
        from sentence_transformers import CrossEncoder  # pyright: ignore
    except ImportError:
        raise MissingPackage(
            f'sentence-transformers, which "{repository.name}" needs as it has no ONNX file,',
            "sentence-transformers",
        ) from None
    try:
        return CrossEncoder(  # pyright: ignore[reportUnknownVariableType]
            str(repository.snapshot.folder),
            trust_remote_code=allow_code,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
    except Exception as error:  # torch, transformers: each raises its own
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise SettingsError(
            f'sentence-transformers cannot load "{repository.name}": {reason}'
        ) from error
