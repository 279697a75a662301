"""Models of sentence-transformers, on torch: the extra of that name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from answerkey.embed.embedder import Prefixes, unit_rows
from answerkey.errors import MissingPackage, SettingsError

if TYPE_CHECKING:
    from answerkey.embed.embedder import Vectors


class SentenceTransformerEmbedder:
    """Any model of sentence-transformers."""

    def __init__(self, name: str, model: Any, prefixes: Prefixes) -> None:
        self.name = name
        self.prefixes = prefixes
        digest = hashlib.sha256()
        for part, tensor in sorted(model.state_dict().items()):
            digest.update(part.encode())
            digest.update(tensor.detach().cpu().float().numpy().tobytes())
        digest.update(repr(prefixes).encode())  # other prefixes give other vectors
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
        # Prefixes are put before the texts already: the library must not add the default prompt again.
        rows = self._model.encode(
            list(texts), prompt="", show_progress_bar=False, convert_to_numpy=True
        )
        return unit_rows(rows, len(texts), self.dimension, f"the embedding model {self.name}")


def load_sentence_transformer(
    name: str, source: str, prefixes: Prefixes, revision: str = "main"
) -> SentenceTransformerEmbedder:
    """The model in `source`, a folder or a name; SettingsError with the reason if it can't be loaded.

    Nothing is downloaded, and no pickle is read, because loading one can run code.
    """
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    try:
        from sentence_transformers import SentenceTransformer  # pyright: ignore
    except ImportError:
        raise MissingPackage("sentence-transformers", "sentence-transformers") from None
    try:
        model = cast(
            "Any",
            SentenceTransformer(
                source,
                revision=revision,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            ),
        )
    except Exception as error:  # an unreachable hub, a folder with no model: each raises its own
        if str(error):
            why = str(error).splitlines()[0]
        else:
            why = type(error).__name__
        raise SettingsError(f'sentence-transformers cannot load "{name}": {why}') from error
    return SentenceTransformerEmbedder(name, model, prefixes)
