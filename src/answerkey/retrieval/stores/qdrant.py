"""An existing Qdrant collection: its payloads are read once (text, page), its vectors are searched where they are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from answerkey.coerce.passages import clean_id
from answerkey.config.tables import RetrievalTable
from answerkey.errors import EndpointError, InputError, MissingPackage, SettingsError
from answerkey.retrieval.chunk import Chunk
from answerkey.retrieval.search_index import order_of
from answerkey.retrieval.top import Top

_AT_ONCE = 64
_PAGE_OF_POINTS = 1_000


@dataclass(frozen=True, slots=True)
class QdrantSearch:
    """`place` gives for each point id its place among the chunks."""

    client: Any
    collection: str
    place: dict[Any, int]

    def search(self, vectors: Any, pool: int) -> Top:
        chunk = np.full((len(vectors), pool), -1, np.int64)
        score = np.full((len(vectors), pool), -np.inf)
        for start in range(0, len(vectors), _AT_ONCE):
            for row, found in enumerate(self._batch(vectors[start : start + _AT_ONCE], pool), start=start):
                pairs = sorted((-point.score, self.place[point.id]) for point in found.points if point.id in self.place)
                chunk[row, : len(pairs)] = [place for _, place in pairs]
                score[row, : len(pairs)] = [-negative for negative, _ in pairs]
        return Top(chunk, score)

    def _batch(self, vectors: Any, pool: int) -> Any:
        from qdrant_client import models

        requests = [models.QueryRequest(query=vector.tolist(), limit=pool) for vector in vectors]
        return _asked(lambda: self.client.query_batch_points(self.collection, requests=requests), "search")


def open_qdrant(settings: RetrievalTable, dimension: int, client: Any = None) -> tuple[list[Chunk], QdrantSearch]:
    """The chunks of the collection, ordered by page, and a search over it."""
    collection = settings.qdrant_collection or ""
    client = client or _connect(settings)
    config = _asked(lambda: client.get_collection(collection), f'collection "{collection}" at {settings.qdrant_url}')
    size = getattr(config.config.params.vectors, "size", None)
    if size != dimension:
        held = f"vectors of {size} numbers" if size else "several named vectors"
        raise SettingsError(
            f'the collection "{collection}" holds {held}, the embedding model gives {dimension}: '
            "set [embedding] to the model that made the collection"
        )
    points = _all_points(client, collection)
    if not points:
        raise InputError(f'the Qdrant collection "{collection}" is empty')
    chunks = [_chunk(point, settings) for point in points]
    order = order_of([chunk.page for chunk in chunks])
    place = {points[n].id: position for position, n in enumerate(order)}
    return [chunks[n] for n in order], QdrantSearch(client, collection, place)


def _connect(settings: RetrievalTable) -> Any:
    try:
        from qdrant_client import QdrantClient
    except ImportError:
        raise MissingPackage("qdrant-client", "qdrant") from None
    key = os.environ.get(settings.qdrant_api_key_env) if settings.qdrant_api_key_env else None
    if settings.qdrant_api_key_env and not key:
        raise SettingsError(f"the variable {settings.qdrant_api_key_env} (qdrant_api_key_env) is not set")
    try:
        return QdrantClient(url=settings.qdrant_url, api_key=key, timeout=30, check_compatibility=False)
    except ValueError as error:
        raise SettingsError(f'qdrant_url = "{settings.qdrant_url}": {error}') from None


def _all_points(client: Any, collection: str) -> list[Any]:
    points: list[Any] = []
    offset = None
    while True:
        ask = partial(client.scroll, collection, limit=_PAGE_OF_POINTS, offset=offset, with_payload=True)
        page, offset = _asked(ask, "scroll")
        points += page
        if offset is None:
            return points


def _chunk(point: Any, settings: RetrievalTable) -> Chunk:
    payload: dict[str, Any] = point.payload or {}
    try:
        text, page = str(payload[settings.text_field]), clean_id(payload[settings.page_field])
    except (KeyError, ValueError):
        raise InputError(
            f'point {point.id} of "{settings.qdrant_collection}" has the fields {", ".join(payload) or "none"}; '
            f'expected "{settings.text_field}" and "{settings.page_field}": set text_field and page_field'
        ) from None
    return Chunk(str(point.id), text, page, settings.qdrant_collection or "", 0, len(text))


def _asked(call: Any, what: str) -> Any:
    """The client's answer; its many kinds of failure as one line."""
    try:
        return call()
    except (ValueError, OSError) as error:
        told: Exception = error
    except Exception as error:
        if not type(error).__module__.startswith(("qdrant_client", "httpx", "grpc")):
            raise
        told = error
    if getattr(told, "status_code", None) == 404 or "not found" in str(told).lower():
        raise SettingsError(f"Qdrant has no {what}") from None
    first = (str(told).strip() or type(told).__name__).splitlines()[0]
    raise EndpointError(f"Qdrant does not answer ({what}): {first}; is the server running?") from None
