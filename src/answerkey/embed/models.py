"""From a name and a few options to an embedder, loaded once a process."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from answerkey.cache import DiskCache, cache_folder
from answerkey.embed.embedder import CachedEmbedder, Embedder
from answerkey.errors import SettingsError, did_you_mean

DEFAULT_MODEL = "all-MiniLM-L6-v2"
INT8_MODEL = f"{DEFAULT_MODEL}:int8"
BACKENDS = ("minilm", "sentence-transformers", "http")


@dataclass(frozen=True, slots=True)
class Options:
    """What `[embedding]` of a suite may hold besides the model's name.

    `api_key_env` is the name of the variable with the key, never the key. `threads` is for the packaged model;
    unset, it takes the physical cores. `cache = false` keeps no vector on disk.
    """

    backend: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    timeout: float = 30.0
    threads: int | None = None
    cache: bool = True


def load_embedder(name: str = DEFAULT_MODEL, **options: Any) -> CachedEmbedder:
    """The embedder of that name; the same object for the same name and options.

    `all-MiniLM-L6-v2` (packaged) and `all-MiniLM-L6-v2:int8`; with `base_url`, a model of an OpenAI-compatible
    endpoint; else a sentence-transformers model, by the name of its publisher and model (`org/model`) or its folder.
    """
    known = {field.name for field in fields(Options)}
    for key in options:
        if key not in known:
            hint = did_you_mean(key, known) or f"; it takes {', '.join(sorted(known))}"
            raise SettingsError(f'the embedding has no setting "{key}"{hint}')
    return _load(name, Options(**options), cache_folder())


@lru_cache(maxsize=8)
def _load(name: str, options: Options, folder: Path) -> CachedEmbedder:
    cache = DiskCache(folder / "vectors.sqlite") if options.cache else None
    return CachedEmbedder(_inner(name, options), cache)


def _inner(name: str, options: Options) -> Embedder:
    backend = options.backend or _guess(name, options)
    if backend == "http":
        from answerkey.embed.http_embedder import HttpEmbedder

        if not options.base_url:
            raise SettingsError(
                'the embedding backend "http" needs base_url, as in "http://127.0.0.1:8080/v1"'
            )
        return HttpEmbedder(name, options.base_url, options.api_key_env, options.timeout)
    if backend == "sentence-transformers":
        from answerkey.embed.sentence_transformers import load_sentence_transformer

        return load_sentence_transformer(name)
    if backend == "minilm":
        return _packaged(_short(name), options.threads)
    raise SettingsError(f'unknown embedding backend "{backend}"; there are {", ".join(BACKENDS)}')


@lru_cache(maxsize=4)
def _packaged(name: str, threads: int | None) -> Embedder:
    from answerkey.embed.minilm import MiniLM

    if name not in (DEFAULT_MODEL, INT8_MODEL):
        raise SettingsError(f'"{name}" is not packaged; {DEFAULT_MODEL} and {INT8_MODEL} are')
    return MiniLM(int8=name == INT8_MODEL, threads=threads)


def _guess(name: str, options: Options) -> str:
    if options.base_url:
        return "http"
    if _short(name) in (DEFAULT_MODEL, INT8_MODEL):
        return "minilm"
    if "/" in name or Path(name).is_dir():
        return "sentence-transformers"
    hint = did_you_mean(name, (DEFAULT_MODEL, INT8_MODEL))
    ways = (
        f'; use "{DEFAULT_MODEL}", an "org/model" of sentence-transformers, or give base_url for an endpoint'
    )
    raise SettingsError(f'unknown embedding model "{name}"{hint or ways}')


def _short(name: str) -> str:
    return name.removeprefix("sentence-transformers/")
