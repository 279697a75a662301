"""Any OpenAI-compatible `/embeddings` endpoint."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from answerkey.coerce.values import valid_text
from answerkey.embed.embedder import unit_rows
from answerkey.errors import EndpointError
from answerkey.net import HttpClient, HttpReply, NoReply, TimedOutReply, back_off, retry_after
from answerkey.secrets import Secrets

if TYPE_CHECKING:
    from answerkey.embed.embedder import Vectors

TEXTS_PER_REQUEST = 64
ATTEMPTS = 4
LONGEST_PAUSE = 60.0
FIRST_PAUSE = 0.5
# Errors that may pass; 529 means overloaded.
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class _Item(msgspec.Struct):
    embedding: object
    index: int | None = None


class _Reply(msgspec.Struct):
    data: list[_Item]


class HttpEmbedder:
    """The digest is that of address and model name: an endpoint does not show its weights."""

    precision = "unknown"

    def __init__(self, name: str, base_url: str, key: str = "", timeout: float = 30.0) -> None:
        self.name = name
        self.url = base_url.rstrip("/").removesuffix("/embeddings") + "/embeddings"
        self.digest = hashlib.sha256(f"{self.url}\0{name}".encode()).hexdigest()
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "user-agent": "answerkey",
        }
        if key:
            headers["authorization"] = f"Bearer {key}"
        self._client = HttpClient(self.url, headers, timeout=timeout, secrets=Secrets([key]))
        self._lock = threading.Lock()
        self._dimension: int | None = None

    @property
    def dimension(self) -> int:
        """Asked from the endpoint with one short text where no vector has been seen yet."""
        if self._dimension is None:
            self.embed(["dimension"])
        assert self._dimension is not None
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not texts:
            return np.empty((0, self.dimension), np.float32)
        starts = range(0, len(texts), TEXTS_PER_REQUEST)
        return np.concatenate([self._vectors(texts[n : n + TEXTS_PER_REQUEST]) for n in starts])

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        # An empty text, which servers reject, is a blank.
        body = {"model": self.name, "input": [valid_text(text) or " " for text in texts]}
        try:
            items = msgspec.convert(self._ask(json.dumps(body).encode()), _Reply).data
        except (msgspec.ValidationError, UnicodeEncodeError):  # the latter for half a character
            raise EndpointError(
                f'{self._title} answered without "data": [{{"embedding": …}}]'
            ) from None
        if len(items) != len(texts):
            raise EndpointError(
                f"{self._title} returned {len(items)} vectors for {len(texts)} texts"
            )
        # The order of a reply is that of `index`; servers without it keep the order of the request.
        places = sorted(
            (n if item.index is None else item.index, n) for n, item in enumerate(items)
        )
        rows = [items[n].embedding for _, n in places]
        with self._lock:
            vectors = unit_rows(rows, len(texts), self._dimension, self._title)
            self._dimension = vectors.shape[1]
        return vectors

    def _ask(self, content: bytes) -> object:
        """The reply, tried again after a failure that may pass."""
        problem = ""
        for tries in range(1, ATTEMPTS + 1):
            self._client.begin()
            after = 0.0  # the server may name a number of seconds to wait
            try:
                reply = self._client.request("POST", self.url, content)
            except TimedOutReply:
                problem = f"{self._title} did not answer within {self._client.timeout:g} s"
            except NoReply as error:
                problem = f"{self._title} cannot be reached: {error}; is it running?"
            else:
                problem = f"{self._title} answered {reply.status}: {self._short(reply)}"
                if reply.status not in _PASSING:
                    return self._value(reply, problem)
                after = min(retry_after(reply.headers) or 0.0, LONGEST_PAUSE)
            if tries < ATTEMPTS:
                time.sleep(max(after, back_off(tries, FIRST_PAUSE, 10.0)))
        raise EndpointError(problem)

    def _value(self, reply: HttpReply, answered: str) -> object:
        if reply.status in {401, 403}:
            fix = "check the variable named by api_key_env"
            raise EndpointError(f"{self._title} refused the key ({reply.status}); {fix}")
        if reply.status // 100 != 2:
            raise EndpointError(answered)
        try:
            return json.loads(reply.body)
        except (ValueError, RecursionError):
            raise EndpointError(
                f"{self._title} did not answer with JSON: {self._short(reply)}"
            ) from None

    @property
    def _title(self) -> str:
        return f'the embedding endpoint {self.url} (model "{self.name}")'

    def _short(self, reply: HttpReply) -> str:
        text = self._client.secrets.hide(reply.body.decode("utf-8", "replace"))
        return " ".join(text.split())[:200] or "no text"
