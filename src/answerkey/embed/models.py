"""From a name and a few options to an embedder, loaded once per process."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from answerkey.cache import DiskCache, cache_folder
from answerkey.config.declare import read_table
from answerkey.config.tables import DEFAULT_MODEL, INT8_MODEL, EmbeddingTable
from answerkey.embed.embedder import CachedEmbedder, Embedder
from answerkey.errors import SettingsError, did_you_mean
from answerkey.secrets import key_from_variable

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


def load_embedder(model: str = DEFAULT_MODEL, **options: Any) -> CachedEmbedder:
    """The embedder of that name; the same object for the same name and options, which are those of `[embedding]`.

    `all-MiniLM-L6-v2` (packaged) and `all-MiniLM-L6-v2:int8`; with `base_url`, a model of an OpenAI-compatible
    endpoint; else a sentence-transformers model, by the name of its publisher and model (`org/model`) or its folder.

        vectors = load_embedder().embed(["a question", "an answer"])   # (2, 384), rows of length 1
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
        from answerkey.embed.sentence_transformers import load_sentence_transformer

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
