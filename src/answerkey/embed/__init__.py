"""Texts in, unit vectors out: the packaged model by default, sentence-transformers or an endpoint on request.

from answerkey.embed import load_embedder
vectors = load_embedder().embed(["a question", "an answer"])   # (2, 384), rows of length 1
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from answerkey.cache import DiskCache, cache_folder
from answerkey.config.declare import read_table
from answerkey.config.tables import DEFAULT_MODEL, INT8_MODEL, EmbeddingTable
from answerkey.errors import EndpointError, MissingPackage, SettingsError, did_you_mean
from answerkey.secrets import key_from_variable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """`digest` names the weights by their content; with `precision` it says whether two runs used one model."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...

    @property
    def precision(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A row of length 1 for each text, in order, as float32; (0, dimension) for no text."""
        ...


def unit_rows(given: object, count: int, dimension: int | None, source: str) -> Vectors:
    """The vectors as float32 rows of length 1, or an error that names `source` and what is wrong with them."""
    import numpy as np

    try:
        with np.errstate(
            over="ignore"
        ):  # what float32 can't hold becomes infinite, which is refused below
            rows = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise EndpointError(
            f"{source} returned something that is not a list of number lists of one length"
        ) from None
    if rows.ndim != 2 or len(rows) != count:
        raise EndpointError(f"{source} returned vectors of shape {rows.shape} for {count} texts")
    if dimension is not None and rows.shape[1] != dimension:
        found = f"{source} returned vectors of dimension {rows.shape[1]}"
        raise EndpointError(f"{found}, expected {dimension}: is it another model?")
    if not np.isfinite(rows).all():
        raise EndpointError(
            f"{source} returned a vector with NaN or infinite numbers: its weights may be damaged"
        )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if (lengths < 1e-12).any():
        raise EndpointError(f"{source} returned a zero vector: it has no direction to compare")
    return rows / lengths


KEPT_IN_MEMORY = 20_000
# What is computed between two writes to disk: an interrupted run loses no more.
TEXTS_PER_WRITE = 2_048
Key = TypeVar("Key", bound=str | tuple[str, ...])


class RowCache(Generic[Key]):
    """What a model gave for each key, in memory and, with a `store`, on disk; `most` rows are kept in memory.

    `name` has the model, `is_whole` says whether a row from the disk can be used. Safe with several threads.
    """

    def __init__(
        self, name: str, store: DiskCache | None, is_whole: Callable[[Vectors], bool], most: int
    ) -> None:
        self._name, self.store, self._is_whole, self._most = name, store, is_whole, most
        self._memory: OrderedDict[Key, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def rows(
        self, keys: Sequence[Key], compute: Callable[[Sequence[Key]], Vectors], at_once: int
    ) -> list[Vectors]:
        """A row per key; those that are not known are computed, `at_once` at a time."""
        import numpy as np

        with self._lock:
            found = {key: self._memory[key] for key in keys if key in self._memory}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing and self.store:
            digests = {self._digest(key): key for key in missing}
            stored = {
                digests[name]: row
                for name, row in self.store.get(list(digests)).items()
                if len(row) % 4 == 0
            }
            rows = {key: np.frombuffer(row, "<f4") for key, row in stored.items()}
            found |= {key: row for key, row in rows.items() if self._is_whole(row)}
            missing = [key for key in missing if key not in found]
        for start in range(0, len(missing), at_once):
            part = missing[start : start + at_once]
            new = dict(zip(part, compute(part), strict=True))
            if self.store:
                self.store.put(
                    {self._digest(key): row.astype("<f4").tobytes() for key, row in new.items()}
                )
            found |= new
        with self._lock:
            for key, row in found.items():
                self._memory[key] = row
                self._memory.move_to_end(key)
            while len(self._memory) > self._most:
                self._memory.popitem(last=False)
        return [found[key] for key in keys]

    def _digest(self, key: Key) -> bytes:
        named = "\0".join((self._name, *((key,) if isinstance(key, str) else key)))
        return hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=20).digest()


class CachedEmbedder:
    """`cache` None keeps vectors in memory only."""

    def __init__(self, inner: Embedder, cache: DiskCache | None = None) -> None:
        self.inner = inner
        self.name, self.digest, self.precision = inner.name, inner.digest, inner.precision
        model = f"{inner.digest}:{inner.precision}"
        self._rows: RowCache[str] = RowCache(model, cache, self._is_unit, KEPT_IN_MEMORY)

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if isinstance(texts, str):
            raise TypeError("embed takes a list of strings, not one string")
        rows = self._rows.rows(texts, self.inner.embed, TEXTS_PER_WRITE)
        return np.stack(rows) if rows else np.empty((0, self.dimension), np.float32)

    def _is_unit(self, row: Vectors) -> bool:
        return len(row) == self.dimension and abs(float(row @ row) - 1) < 1e-3


_PREFIX = "sentence-transformers/"
_PUBLISHERS = {  # how the names of their models begin
    "BAAI": ("bge-",),
    "intfloat": ("e5-", "multilingual-e5-"),
    "thenlper": ("gte-",),
    "nomic-ai": ("nomic-embed",),
    "jinaai": ("jina-embeddings",),
    "mixedbread-ai": ("mxbai-",),
    "Snowflake": ("snowflake-arctic",),
    "sentence-transformers": (
        "all-mpnet",
        "all-distilroberta",
        "all-roberta",
        "all-minilm-l12",
        "all-minilm-l6-v1",
        "multi-qa-",
        "paraphrase-",
        "msmarco-",
        "distiluse-",
        "labse",
        "gtr-t5-",
        "sentence-t5-",
        "static-",
    ),
}


def load_embedder(model: str = DEFAULT_MODEL, **options: object) -> CachedEmbedder:
    """The embedder of that name; the same object for the same name and options, which are those of `[embedding]`.

    `all-MiniLM-L6-v2` (packaged) and `all-MiniLM-L6-v2:int8`; with `base_url`, a model of an OpenAI-compatible
    endpoint; else a sentence-transformers model, by the name of its publisher and model (`org/model`) or its folder.
    """
    return _load(
        read_table(EmbeddingTable, {"model": model, **options}, "[embedding]"), cache_folder()
    )


@lru_cache(maxsize=8)
def _load(settings: EmbeddingTable, folder: Path) -> CachedEmbedder:
    backend = settings.backend or _guess(settings.model, settings.base_url)
    if backend == "http":
        from answerkey.embed.http_embedder import HttpEmbedder

        if not settings.base_url:
            raise SettingsError(
                '[embedding] backend = "http" needs base_url, such as http://127.0.0.1:8080/v1'
            )
        key = key_from_variable(settings.api_key_env)
        inner: Embedder = HttpEmbedder(settings.model, settings.base_url, key, settings.timeout)
    elif backend == "sentence-transformers":
        inner = load_sentence_transformer(_full(settings.model))
    else:
        inner = _packaged(settings.model.removeprefix(_PREFIX), settings.threads)
    return CachedEmbedder(inner, DiskCache(folder / "vectors.sqlite") if settings.cache else None)


@lru_cache(maxsize=4)
def _packaged(name: str, threads: int | None) -> Embedder:
    from answerkey.embed.minilm import MiniLM

    if name not in (DEFAULT_MODEL, INT8_MODEL):
        raise SettingsError(f'"{name}" is not packaged; {DEFAULT_MODEL} and {INT8_MODEL} are')
    return MiniLM(int8=name == INT8_MODEL, threads=threads)


def _guess(name: str, base_url: str | None) -> str:
    if base_url:
        return "http"
    if name.removeprefix(_PREFIX) in (DEFAULT_MODEL, INT8_MODEL):
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
    publisher = next(
        (who for who, starts in _PUBLISHERS.items() if name.lower().startswith(starts)), ""
    )
    return f"{publisher}/{name}" if publisher else name


class SentenceTransformerEmbedder:
    """Any model of sentence-transformers (the extra of that name), on torch."""

    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        digest = hashlib.sha256()
        for part, tensor in sorted(model.state_dict().items()):
            digest.update(part.encode())
            digest.update(tensor.detach().cpu().float().numpy().tobytes())
        self.digest = digest.hexdigest()
        self.precision = str(next(model.parameters()).dtype).removeprefix("torch.")
        # The method was renamed; either name may be the one that is there.
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
    except (
        Exception
    ) as error:  # a hub that is not reached, a folder with no model: each raises its own
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SettingsError(f'sentence-transformers cannot load "{name}": {why}') from error
    return SentenceTransformerEmbedder(name, model)
