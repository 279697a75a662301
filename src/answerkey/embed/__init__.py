"""Texts in, unit vectors out: the packaged model by default, sentence-transformers or an endpoint on request.

from answerkey.embed import load_embedder
vectors = load_embedder().embed(["a question", "an answer"])   # (2, 384), rows of length 1
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from answerkey.cache import DiskCache, cache_folder
from answerkey.config.declare import read_table
from answerkey.config.tables import DEFAULT_MODEL, INT8_MODEL, EmbeddingTable
from answerkey.embed.embedder import CachedEmbedder, Embedder, unit_rows
from answerkey.errors import MissingPackage, SettingsError, did_you_mean
from answerkey.secrets import key_from_variable

if TYPE_CHECKING:
    from answerkey.embed.embedder import Vectors

_PUBLISHERS = {
    **dict.fromkeys(("bge-",), "BAAI"),
    **dict.fromkeys(("e5-", "multilingual-e5-"), "intfloat"),
    **dict.fromkeys(("gte-",), "thenlper"),
    **dict.fromkeys(("nomic-embed",), "nomic-ai"),
    **dict.fromkeys(("jina-embeddings",), "jinaai"),
    **dict.fromkeys(("mxbai-",), "mixedbread-ai"),
    **dict.fromkeys(("snowflake-arctic",), "Snowflake"),
    **dict.fromkeys(
        ("all-mpnet", "all-distilroberta", "all-roberta", "all-minilm-l12", "all-minilm-l6-v1",
         "multi-qa-", "paraphrase-", "msmarco-", "distiluse-",
         "labse", "gtr-t5-", "sentence-t5-", "static-"), "sentence-transformers"),
}  # fmt: skip


def load_embedder(model: str = DEFAULT_MODEL, **options: object) -> CachedEmbedder:
    """The embedder of that name; the same object for the same name and options, which are those of `[embedding]`.

    `all-MiniLM-L6-v2` (packaged) and `all-MiniLM-L6-v2:int8`; with `base_url`, a model of an OpenAI-compatible
    endpoint; else a sentence-transformers model, by the name of its publisher and model (`org/model`) or its folder.
    """
    return _load(read_table(EmbeddingTable, {"model": model, **options}, "[embedding]"), cache_folder())


@lru_cache(maxsize=8)
def _load(settings: EmbeddingTable, folder: Path) -> CachedEmbedder:
    cache = DiskCache(folder / "vectors.sqlite") if settings.cache else None
    return CachedEmbedder(_inner(settings), cache)


def _inner(settings: EmbeddingTable) -> Embedder:
    backend = settings.backend or _guess(settings.model, settings.base_url)
    if backend == "http":
        from answerkey.embed.http_embedder import HttpEmbedder

        if not settings.base_url:
            raise SettingsError('[embedding] backend = "http" needs base_url, such as http://127.0.0.1:8080/v1')
        key = key_from_variable(settings.api_key_env)
        return HttpEmbedder(settings.model, settings.base_url, key, settings.timeout)
    if backend == "sentence-transformers":
        return load_sentence_transformer(_full(settings.model))
    return _packaged(_short(settings.model), settings.threads)


@lru_cache(maxsize=4)
def _packaged(name: str, threads: int | None) -> Embedder:
    from answerkey.embed.minilm import MiniLM

    if name not in (DEFAULT_MODEL, INT8_MODEL):
        raise SettingsError(f'"{name}" is not packaged; {DEFAULT_MODEL} and {INT8_MODEL} are')
    return MiniLM(int8=name == INT8_MODEL, threads=threads)


def _guess(name: str, base_url: str | None) -> str:
    if base_url:
        return "http"
    if _short(name) in (DEFAULT_MODEL, INT8_MODEL):
        return "minilm"
    if "/" in name or Path(name).is_dir() or "/" in _full(name):
        return "sentence-transformers"
    hint = did_you_mean(name, (DEFAULT_MODEL, INT8_MODEL))
    ways = f'; use "{DEFAULT_MODEL}", an "org/model" of sentence-transformers, or give base_url for an endpoint'
    raise SettingsError(f'unknown embedding model "{name}"{hint or ways}')


def _full(name: str) -> str:
    """`BAAI/bge-small-en-v1.5` for `bge-small-en-v1.5`: the publisher of a well-known model, by how its name begins."""
    if "/" in name or Path(name).is_dir():
        return name
    publisher = next((who for start, who in _PUBLISHERS.items() if name.lower().startswith(start)), "")
    return f"{publisher}/{name}" if publisher else name


def _short(name: str) -> str:
    return name.removeprefix("sentence-transformers/")


class SentenceTransformerEmbedder:
    """Any model of sentence-transformers (the extra of that name), on torch."""

    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        self.digest = _weights_hash(model)
        self.precision = str(next(model.parameters()).dtype).removeprefix("torch.")
        # The method was renamed; either name may be the one that is there.
        measure = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
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
    except Exception as error:  # a hub that is not reached, a folder with no model: each raises its own
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SettingsError(f'sentence-transformers cannot load "{name}": {why}') from error
    return SentenceTransformerEmbedder(name, model)


def _weights_hash(model: Any) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().float().numpy().tobytes())
    return digest.hexdigest()
