"""An existing Qdrant collection: its payloads are read once (text, page), its vectors are searched where they are."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.errors import EndpointError, InputError, MissingPackage, SettingsError
from answerkey.retrieval.fuse import Top, Vectors
from answerkey.retrieval.retriever import load_function
from answerkey.retrieval.search_index import OpenedStore
from answerkey.retrieval.stores import stored_chunks, stored_passage, top_of

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.models import Record, SparseVector, VectorParams

T = TypeVar("T")
_AT_ONCE = 64
_PAGE_OF_POINTS = 1_000


def open_qdrant(settings: RetrievalTable, dimension: int | None) -> OpenedStore:
    client = _connect(settings)
    try:
        return _opened(client, settings, dimension)
    except BaseException:
        _close(client, settings)
        raise


def _opened(client: QdrantClient, settings: RetrievalTable, dimension: int | None) -> OpenedStore:
    from qdrant_client import models

    name = settings.store.qdrant_collection or ""
    where = settings.store.qdrant_url or settings.store.qdrant_path or settings.store.qdrant_client
    params = _asked(
        lambda: client.get_collection(name), f'collection "{name}" at {where}'
    ).config.params
    vector, distance = _vector(params.vectors, settings, dimension)
    points: list[Record] = []
    offset = None
    while not points or offset is not None:
        ask = partial(client.scroll, name, limit=_PAGE_OF_POINTS, offset=offset, with_payload=True)
        page, offset = _asked(ask, "scroll")
        points += page
        if not points:
            raise InputError(f'the Qdrant collection "{name}" is empty')
    passages = [
        stored_passage(point.payload or {}, settings, f'point {point.id} of "{name}"')
        for point in points
    ]
    chunks, place = stored_chunks(passages, [point.id for point in points])

    def search(
        queries: Sequence[list[float] | models.SparseVector],
        using: str | None,
        pool: int,
        distance: str = "",
    ) -> Top:
        """The best points for each query: a list of numbers, or a sparse vector. Distances become cosines."""
        hits: list[list[tuple[float, int]]] = []
        for start in range(0, len(queries), _AT_ONCE):
            part = queries[start : start + _AT_ONCE]
            asked = [models.QueryRequest(query=query, using=using, limit=pool) for query in part]
            for found in _asked(partial(client.query_batch_points, name, requests=asked), "search"):
                known = [point for point in found.points if point.id in place]
                hits.append([(_cosine(point.score, distance), place[point.id]) for point in known])
        return top_of(hits, pool)

    def dense(vectors: Vectors, pool: int) -> Top:
        return search([one.tolist() for one in vectors], vector, pool, distance)

    weakref.finalize(search, _close, client, settings)
    if settings.store.sparse_encoder is None:
        return f"Qdrant collection {name}", chunks, dense, None
    names, wanted = list(params.sparse_vectors or {}), settings.store.qdrant_sparse_vector
    if wanted not in names and (wanted is not None or len(names) != 1):
        raise SettingsError(
            f'the collection "{name}" has the sparse vectors {", ".join(names) or "(none)"}: '
            "set qdrant_sparse_vector to one of them"
        )
    encode = load_function(settings.store.sparse_encoder)

    def sparse(questions: Sequence[str], pool: int) -> Top:
        return search([_sparse_vector(encode(one)) for one in questions], wanted or names[0], pool)

    return f"Qdrant collection {name}", chunks, dense, sparse


def _cosine(score: float, distance: str) -> float:
    """Unit vectors at the distance d have the cosine 1 - d²/2."""
    if distance == "Euclid":
        return 1.0 - score * score / 2.0
    return -score if distance == "Manhattan" else score


def _sparse_vector(given: Any) -> SparseVector:
    """A question as the suite's own function encodes it; what has no word in common is no hit."""
    from qdrant_client import models

    try:
        named = hasattr(given, "keys")
        indices, values = (given.keys(), given.values()) if named else (given.indices, given.values)
        return models.SparseVector(
            indices=[int(n) for n in indices], values=[float(value) for value in values]
        )
    except (AttributeError, TypeError, ValueError):
        kind = type(given).__name__
        raise InputError(
            f"the sparse_encoder gave {kind}, expected {{index: weight}} or indices and values"
        ) from None


def _vector(
    held: VectorParams | dict[str, VectorParams] | None,
    settings: RetrievalTable,
    dimension: int | None,
) -> tuple[str | None, str]:
    """The name of the dense vector to search, None for the only unnamed one, and its distance."""
    vectors = held if isinstance(held, dict) else {"": held} if held is not None else {}
    sizes = (
        ", ".join(
            f"{name or 'unnamed'} of {params.size} numbers" for name, params in vectors.items()
        )
        or "none"
    )
    collection = f'the collection "{settings.store.qdrant_collection}"'
    wanted = settings.store.qdrant_vector
    if wanted is not None and wanted not in vectors:
        raise SettingsError(f'{collection} has no vector "{wanted}"; it has {sizes}')
    fitting = [
        name
        for name, each in vectors.items()
        if dimension in (None, each.size) and wanted in (None, name)
    ]
    if not fitting:
        raise SettingsError(
            f"{collection} has these dense vectors: {sizes}; the embedding model gives {dimension}: "
            "set [embedding] to the model that made the collection"
        )
    if len(fitting) > 1:
        raise SettingsError(
            f"{collection} has several vectors of {dimension} numbers: set qdrant_vector to one of them, {', '.join(fitting)}"
        )
    return fitting[0] or None, str(vectors[fitting[0]].distance.value)


def _connect(settings: RetrievalTable) -> QdrantClient:
    if settings.store.qdrant_client is not None:
        return load_function(settings.store.qdrant_client)()
    try:
        from qdrant_client import QdrantClient
    except ImportError:
        raise MissingPackage("qdrant-client", "qdrant") from None
    if settings.store.qdrant_path is not None:
        if not settings.store.qdrant_path.is_dir():
            raise SettingsError(
                f"no Qdrant folder at {settings.store.qdrant_path}; for your own client, also one in memory, "
                'set qdrant_client = "module:function"'
            )
        try:
            return QdrantClient(
                path=str(settings.store.qdrant_path), force_disable_check_same_thread=True
            )
        except (RuntimeError, OSError) as error:
            raise InputError(
                f"Qdrant folder {settings.store.qdrant_path}: {str(error).splitlines()[0]}"
            ) from None
    key = (
        os.environ.get(settings.store.qdrant_api_key_env)
        if settings.store.qdrant_api_key_env
        else None
    )
    if settings.store.qdrant_api_key_env and not key:
        raise SettingsError(
            f"the variable {settings.store.qdrant_api_key_env} (qdrant_api_key_env) is not set"
        )
    try:
        return QdrantClient(
            url=settings.store.qdrant_url, api_key=key, timeout=30, check_compatibility=False
        )
    except ValueError as error:
        raise SettingsError(f'qdrant_url = "{settings.store.qdrant_url}": {error}') from None


def _close(client: QdrantClient, settings: RetrievalTable) -> None:
    """A folder is locked until its client is closed."""
    if settings.store.qdrant_path is not None:
        client.close()


def _asked(call: Callable[[], T], what: str) -> T:
    """The client's answer; its many kinds of failure as one line."""
    try:
        return call()
    except (ValueError, OSError) as error:
        cause: Exception = error
    except Exception as error:
        if not type(error).__module__.startswith(("qdrant_client", "httpx", "grpc")):
            raise
        cause = error
    if getattr(cause, "status_code", None) == 404 or "not found" in str(cause).lower():
        raise SettingsError(f"Qdrant has no {what}") from None
    first = (str(cause).strip() or type(cause).__name__).splitlines()[0]
    raise EndpointError(
        f"Qdrant does not answer ({what}): {first}; is the server running?"
    ) from None
