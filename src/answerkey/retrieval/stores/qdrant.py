"""An existing Qdrant collection: payloads are read once, vectors are searched there."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from answerkey.config.retrieval_tables import RetrievalTable, StoreTable
from answerkey.errors import EndpointError, InputError, MissingPackage, SettingsError
from answerkey.retrieval.fuse import Top, Vectors
from answerkey.retrieval.search_index import OpenedStore, SparseSearch
from answerkey.retrieval.stores import make_chunks, passage_of_row, top_of_hits
from answerkey.retrieval.user_functions import load_function

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.models import Record, SparseVector, VectorParams

T = TypeVar("T")
_QUERIES_AT_ONCE = 64
_POINTS_AT_ONCE = 1_000
# Failures of the client and of the libraries below it; any other exception is a bug of ours.
_CLIENT_PACKAGES = ("qdrant_client", "httpx", "grpc")


def open_qdrant(settings: RetrievalTable, dimension: int | None) -> OpenedStore:
    """The points of the collection as chunks, and a search over their vectors."""
    store = settings.store
    client = _connect(store)
    try:
        return _open_collection(client, settings, dimension)
    except BaseException:
        _close(client, store)
        raise


def _open_collection(
    client: QdrantClient, settings: RetrievalTable, dimension: int | None
) -> OpenedStore:
    store = settings.store
    name = store.qdrant_collection or ""
    where = store.qdrant_url or store.qdrant_path or store.qdrant_client
    params = _call(
        lambda: client.get_collection(name), f'collection "{name}" at {where}'
    ).config.params
    vector, distance = _choose_vector(params.vectors, store, dimension)
    points = _read_points(client, name)
    passages = [
        passage_of_row(point.payload or {}, store, f'point {point.id} of "{name}"')
        for point in points
    ]
    chunks, place = make_chunks(passages, [point.id for point in points], settings.ids)
    collection = _Collection(client, name, place)

    def search_dense(vectors: Vectors, pool: int) -> Top:
        return collection.search([row.tolist() for row in vectors], vector, pool, distance)

    weakref.finalize(collection, _close, client, store)
    sparse = None
    if store.sparse_encoder is not None:
        sparse = _open_sparse(collection, store, list(params.sparse_vectors or {}))
    return OpenedStore(f"Qdrant collection {name}", chunks, search_dense, sparse)


def _read_points(client: QdrantClient, name: str) -> list[Record]:
    points: list[Record] = []
    offset = None
    # The offset is None before the first page and after the last one.
    while not points or offset is not None:
        scroll = partial(
            client.scroll, name, limit=_POINTS_AT_ONCE, offset=offset, with_payload=True
        )
        page, offset = _call(scroll, "scroll")
        points += page
        if not points:
            raise InputError(f'the Qdrant collection "{name}" is empty')
    return points


class _Collection:
    """Searches a collection; `place` gives the chunk of each point."""

    def __init__(self, client: QdrantClient, name: str, place: dict[Hashable, int]) -> None:
        self._client = client
        self._name = name
        self._place = place

    def search(
        self,
        queries: Sequence[list[float] | SparseVector],
        using: str | None,
        pool: int,
        distance: str = "",
    ) -> Top:
        """The best points for each query: a list of numbers, or a sparse vector."""
        from qdrant_client import models

        hits: list[list[tuple[float, int]]] = []
        for start in range(0, len(queries), _QUERIES_AT_ONCE):
            requests = [
                models.QueryRequest(query=query, using=using, limit=pool)
                for query in queries[start : start + _QUERIES_AT_ONCE]
            ]
            ask = partial(self._client.query_batch_points, self._name, requests=requests)
            for reply in _call(ask, "search"):
                # A point that was added after the payloads were read has no chunk.
                points = [point for point in reply.points if point.id in self._place]
                hits.append(
                    [(_as_cosine(point.score, distance), self._place[point.id]) for point in points]
                )
        return top_of_hits(hits, pool)


def _open_sparse(collection: _Collection, store: StoreTable, names: list[str]) -> SparseSearch:
    """The search over a stored sparse vector, with the suite's own encoder for questions."""
    chosen = store.qdrant_sparse_vector
    if chosen is None and len(names) == 1:
        chosen = names[0]
    if chosen is None or chosen not in names:
        raise SettingsError(
            f'the collection "{store.qdrant_collection}" has the sparse vectors '
            f"{', '.join(names) or '(none)'}: set qdrant_sparse_vector to one of them"
        )
    encode = load_function(store.sparse_encoder or "")

    def search(questions: Sequence[str], pool: int) -> Top:
        return collection.search(
            [_sparse_vector(encode(question)) for question in questions], chosen, pool
        )

    return search


def _as_cosine(score: float, distance: str) -> float:
    """Unit vectors at the distance d have the cosine 1 - d²/2."""
    if distance == "Euclid":
        return 1.0 - score * score / 2.0
    if distance == "Manhattan":
        # No cosine follows from this distance; its negative at least keeps the order.
        return -score
    return score


def _sparse_vector(encoded: Any) -> SparseVector:
    """A question as the suite's own function encodes it: `{index: weight}`, or two lists."""
    from qdrant_client import models

    try:
        if hasattr(encoded, "keys"):
            indices = encoded.keys()
            values = encoded.values()
        else:
            indices = encoded.indices
            values = encoded.values
        return models.SparseVector(
            indices=[int(index) for index in indices], values=[float(value) for value in values]
        )
    except (AttributeError, TypeError, ValueError):
        raise InputError(
            f"the sparse_encoder gave {type(encoded).__name__}, expected {{index: weight}} "
            "or indices and values"
        ) from None


def _choose_vector(
    params: VectorParams | dict[str, VectorParams] | None,
    store: StoreTable,
    dimension: int | None,
) -> tuple[str | None, str]:
    """The name of the dense vector to search, None for the only unnamed one, and its distance."""
    vectors: dict[str, VectorParams] = {}
    if isinstance(params, dict):
        vectors = params
    elif params is not None:
        vectors = {"": params}
    sizes = [f"{name or 'unnamed'} of {vector.size} numbers" for name, vector in vectors.items()]
    listed = ", ".join(sizes) or "none"
    collection = f'the collection "{store.qdrant_collection}"'
    chosen = store.qdrant_vector
    if chosen is not None and chosen not in vectors:
        raise SettingsError(f'{collection} has no vector "{chosen}"; it has {listed}')
    fitting = [
        name
        for name, vector in vectors.items()
        if dimension in (None, vector.size) and chosen in (None, name)
    ]
    if not fitting:
        raise SettingsError(
            f"{collection} has these dense vectors: {listed}; the embedding model gives "
            f"{dimension}: set [embedding] to the model that made the collection"
        )
    if len(fitting) > 1:
        raise SettingsError(
            f"{collection} has several vectors of {dimension} numbers: set qdrant_vector to one "
            f"of them, {', '.join(fitting)}"
        )
    return fitting[0] or None, str(vectors[fitting[0]].distance.value)


def _connect(store: StoreTable) -> QdrantClient:
    if store.qdrant_client is not None:
        return load_function(store.qdrant_client)()
    try:
        from qdrant_client import QdrantClient
    except ImportError:
        raise MissingPackage("qdrant-client", "qdrant") from None
    if store.qdrant_path is not None:
        if not store.qdrant_path.is_dir():
            raise SettingsError(
                f"no Qdrant folder at {store.qdrant_path}; for your own client, also one in "
                'memory, set qdrant_client = "module:function"'
            )
        try:
            # The local mode uses SQLite, which refuses other threads; a run has several.
            return QdrantClient(path=str(store.qdrant_path), force_disable_check_same_thread=True)
        except (RuntimeError, OSError) as error:
            raise InputError(
                f"Qdrant folder {store.qdrant_path}: {str(error).splitlines()[0]}"
            ) from None
    try:
        return QdrantClient(
            url=store.qdrant_url, api_key=_api_key(store), timeout=30, check_compatibility=False
        )
    except ValueError as error:
        raise SettingsError(f'qdrant_url = "{store.qdrant_url}": {error}') from None


def _api_key(store: StoreTable) -> str | None:
    variable = store.qdrant_api_key_env
    if not variable:
        return None
    key = os.environ.get(variable)
    if not key:
        raise SettingsError(f"the variable {variable} (qdrant_api_key_env) is not set")
    return key


def _close(client: QdrantClient, store: StoreTable) -> None:
    """A folder is locked until its client is closed."""
    if store.qdrant_path is not None:
        client.close()


def _call(request: Callable[[], T], purpose: str) -> T:
    """The client's answer; its many kinds of failure become one line."""
    try:
        return request()
    except (ValueError, OSError) as error:
        cause: Exception = error
    except Exception as error:
        if not type(error).__module__.startswith(_CLIENT_PACKAGES):
            raise
        cause = error
    # The local mode raises a ValueError with this text where a server replies 404.
    if getattr(cause, "status_code", None) == 404 or "not found" in str(cause).lower():
        raise SettingsError(f"Qdrant has no {purpose}") from None
    first = (str(cause).strip() or type(cause).__name__).splitlines()[0]
    raise EndpointError(
        f"Qdrant does not answer ({purpose}): {first}; is the server running?"
    ) from None
