"""Models of sentence-transformers, on torch: the extra of that name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from answerkey.embed.embedder import unit_rows
from answerkey.errors import MissingPackage, SettingsError

if TYPE_CHECKING:
    from answerkey.embed.embedder import Vectors


class SentenceTransformerEmbedder:
    """Any model of sentence-transformers."""

    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        digest = hashlib.sha256()
        for part, tensor in sorted(model.state_dict().items()):
            digest.update(part.encode())
            digest.update(tensor.detach().cpu().float().numpy().tobytes())
        self.digest = digest.hexdigest()
        self.precision = str(next(model.parameters()).dtype).removeprefix("torch.")
        # The method was renamed; older releases have the second name.
        measure = (
            getattr(model, "get_embedding_dimension", None)
            or model.get_sentence_embedding_dimension
        )
        self.dimension = int(measure())
        self._model = model

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = self._model.encode(list(texts), show_progress_bar=False, convert_to_numpy=True)
        return unit_rows(rows, len(texts), self.dimension, f"the embedding model {self.name}")


def load_sentence_transformer(name: str) -> SentenceTransformerEmbedder:
    """The model of that name or folder; SettingsError with the reason if it can't be loaded."""
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    try:
        from sentence_transformers import SentenceTransformer  # pyright: ignore
    except ImportError:
        raise MissingPackage("sentence-transformers", "sentence-transformers") from None
    try:
        model = cast("Any", SentenceTransformer(name))
    except Exception as error:  # an unreachable hub, a folder with no model: each raises its own
        if str(error):
            why = str(error).splitlines()[0]
        else:
            why = type(error).__name__
        raise SettingsError(f'sentence-transformers cannot load "{name}": {why}') from error
    return SentenceTransformerEmbedder(name, model)
