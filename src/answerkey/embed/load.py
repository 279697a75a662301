"""The embedding model that `[embedding]` names."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from answerkey.cache import DiskCache, cache_folder
from answerkey.config.declare import read_table
from answerkey.config.tables import DEFAULT_MODEL, INT8_MODEL, PYTHON_PREFIX, EmbeddingTable
from answerkey.embed.embedder import CachedEmbedder, Embedder, Prefixes
from answerkey.embed.object_embedder import load_object_embedder
from answerkey.errors import SettingsError, did_you_mean
from answerkey.local_models.repository import open_repository
from answerkey.secrets import key_from_variable

_PREFIX = "sentence-transformers/"


@cache
def _publishers() -> Mapping[str, Sequence[str]]:
    """The publisher of a well-known model, by how the names of its models begin."""
    text = (files("answerkey.embed") / "publishers.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def load_embedder(model: str = DEFAULT_MODEL, **options: object) -> CachedEmbedder:
    """The embedder of that name; the same object for the same name and options, which are those of `[embedding]`.

    `all-MiniLM-L6-v2` (packaged) and `all-MiniLM-L6-v2:int8`; with `base_url`, a model of an OpenAI-compatible
    endpoint; `python:module:object`; else a model by the name of its publisher and model (`org/model`) or its folder:
    with ONNX files if it has some, otherwise through sentence-transformers.
    """
    return _load(
        read_table(EmbeddingTable, {"model": model, **options}, "[embedding]"), cache_folder()
    )


@lru_cache(maxsize=8)
def _load(settings: EmbeddingTable, folder: Path) -> CachedEmbedder:
    backend = settings.backend or _choose_backend(
        settings.model, settings.base_url, settings.revision
    )
    if backend == "http":
        from answerkey.embed.http_embedder import HttpEmbedder

        if not settings.base_url:
            raise SettingsError(
                '[embedding] backend = "http" needs base_url, such as http://127.0.0.1:8080/v1'
            )
        key = key_from_variable(settings.api_key_env)
        inner: Embedder = HttpEmbedder(settings.model, settings.base_url, key, settings.timeout)
    elif backend == "python":
        inner = load_object_embedder(settings.model)
    elif backend == "onnx":
        inner = _load_repository(settings)
    elif backend == "sentence-transformers":
        inner = _load_with_sentence_transformers(settings)
    else:
        inner = _load_packaged(settings.model.removeprefix(_PREFIX), settings.threads)
    if settings.cache:
        store = DiskCache(folder / "vectors.sqlite")
    else:
        store = None
    return CachedEmbedder(inner, store)


def _load_repository(settings: EmbeddingTable) -> Embedder:
    from answerkey.embed.repository_embedder import RepositoryEmbedder, read_prefixes

    repository = open_repository(_full_name(settings.model), settings.revision)
    prefixes = _choose_prefixes(read_prefixes(repository), settings)
    return RepositoryEmbedder(repository, prefixes, settings.threads)


def _load_with_sentence_transformers(settings: EmbeddingTable) -> Embedder:
    from answerkey.embed.repository_embedder import read_prefixes
    from answerkey.embed.sentence_transformer import load_sentence_transformer

    name = _full_name(settings.model)
    try:
        repository = open_repository(name, settings.revision)
    except SettingsError:
        # It may be in the library's own folders; nothing is downloaded either way.
        prefixes = _choose_prefixes(Prefixes(), settings)
        return load_sentence_transformer(name, name, prefixes, settings.revision)
    prefixes = _choose_prefixes(read_prefixes(repository), settings)
    return load_sentence_transformer(name, str(repository.snapshot.folder), prefixes)


def _choose_prefixes(stated: Prefixes, settings: EmbeddingTable) -> Prefixes:
    """The prefixes of the settings, otherwise those that the repository states."""
    return Prefixes(
        stated.plain if settings.prefix is None else settings.prefix,
        stated.query if settings.query_prefix is None else settings.query_prefix,
        stated.passage if settings.passage_prefix is None else settings.passage_prefix,
    )


@lru_cache(maxsize=4)
def _load_packaged(name: str, threads: int | None) -> Embedder:
    from answerkey.embed.minilm import MiniLM

    if name not in (DEFAULT_MODEL, INT8_MODEL):
        raise SettingsError(f'"{name}" is not packaged; {DEFAULT_MODEL} and {INT8_MODEL} are')
    return MiniLM(int8=name == INT8_MODEL, threads=threads)


def _choose_backend(name: str, base_url: str | None, revision: str) -> str:
    if base_url:
        return "http"
    if name.removeprefix(_PREFIX) in (DEFAULT_MODEL, INT8_MODEL):
        return "minilm"
    if name.startswith(PYTHON_PREFIX):
        return "python"
    if "/" in name or Path(name).is_dir() or "/" in _full_name(name):
        return _choose_library(_full_name(name), revision)
    hint = did_you_mean(name, (DEFAULT_MODEL, INT8_MODEL))
    ways = f'; use "{DEFAULT_MODEL}", an "org/model", a folder, or give base_url for an endpoint'
    raise SettingsError(f'unknown embedding model "{name}"{hint or ways}')


def _choose_library(name: str, revision: str) -> str:
    """onnxruntime for a model with ONNX files; otherwise sentence-transformers, where it is installed."""
    has_library = find_spec("sentence_transformers") is not None
    try:
        repository = open_repository(name, revision)
        if repository.has_graph:
            return "onnx"
    except SettingsError:
        # sentence-transformers has models of its own kind, and may find this one in its own folders.
        if has_library:
            return "sentence-transformers"
        raise
    return "sentence-transformers"


def _full_name(name: str) -> str:
    """`BAAI/bge-small-en-v1.5` for `bge-small-en-v1.5`: the publisher of a well-known model, by how its name begins."""
    if "/" in name or Path(name).is_dir():
        return name
    for publisher, beginnings in _publishers().items():
        if name.lower().startswith(tuple(beginnings)):
            return f"{publisher}/{name}"
    return name
