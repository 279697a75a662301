"""Any OpenAI-compatible `/embeddings` endpoint."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx2
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from answerkey.embed.embedder import unit_rows
from answerkey.errors import EndpointError, SettingsError

if TYPE_CHECKING:
    from answerkey.embed.embedder import Vectors


TEXTS_A_REQUEST = 64
ATTEMPTS = 4
LONGEST_PAUSE = 60.0
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class _TryAgain(EndpointError):
    """A failure that may pass; the server may say after how many seconds."""

    def __init__(self, message: str, after: float = 0.0) -> None:
        super().__init__(message)
        self.after = after


class HttpEmbedder:
    """The digest is that of address and model name: an endpoint does not show its weights."""

    precision = "unknown"

    def __init__(
        self, name: str, base_url: str, api_key_env: str | None = None, timeout: float = 30.0
    ) -> None:
        self.name = name
        self.url = _checked_url(base_url) + "/embeddings"
        self.digest = hashlib.sha256(f"{self.url}\0{name}".encode()).hexdigest()
        self._headers = _authorisation(api_key_env)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._dimension: int | None = None

    @property
    def dimension(self) -> int:
        """Asked from the endpoint with one short text where no vector has been seen yet."""
        if self._dimension is None:
            self.embed(["dimension"])
        assert self._dimension is not None
        return self._dimension

    @cached_property
    def _client(self) -> httpx2.Client:
        return httpx2.Client(headers=self._headers, timeout=self._timeout, follow_redirects=False)

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not texts:
            return np.empty((0, self.dimension), np.float32)
        parts = [self._request(texts[n : n + TEXTS_A_REQUEST]) for n in range(0, len(texts), TEXTS_A_REQUEST)]
        return np.concatenate(parts)

    def _request(self, texts: Sequence[str]) -> Vectors:
        retrying = Retrying(
            retry=retry_if_exception_type(_TryAgain),
            stop=stop_after_attempt(ATTEMPTS),
            wait=_pause,
            reraise=True,
        )
        rows = self._rows(retrying(self._post, texts), len(texts))
        with self._lock:
            vectors = unit_rows(rows, len(texts), self._dimension, self._told)
            self._dimension = vectors.shape[1]
        return vectors

    def _post(self, texts: Sequence[str]) -> Any:
        try:
            reply = self._client.post(
                self.url, json={"model": self.name, "input": [_sendable(text) for text in texts]}
            )
        except httpx2.TimeoutException:
            raise _TryAgain(f"{self._told} did not answer within {self._timeout:g} s") from None
        except httpx2.TransportError as error:
            raise _TryAgain(f"{self._told} cannot be reached: {error}; is it running?") from None
        if reply.status_code in _PASSING:
            message = f"{self._told} answered {reply.status_code}: {_short(reply.text)}"
            raise _TryAgain(message, _seconds(reply.headers.get("retry-after", "")))
        if reply.status_code in {401, 403}:
            raise EndpointError(
                f"{self._told} refused the key ({reply.status_code}); check the variable of api_key_env"
            )
        if not reply.is_success:
            raise EndpointError(f"{self._told} answered {reply.status_code}: {_short(reply.text)}")
        try:
            return reply.json()
        except ValueError:
            raise EndpointError(f"{self._told} did not answer with JSON: {_short(reply.text)}") from None

    def _rows(self, reply: Any, count: int) -> list[Any]:
        try:
            rows = [(item.get("index", n), item["embedding"]) for n, item in enumerate(reply["data"])]
            rows = [vector for _, vector in sorted(rows, key=lambda row: row[0])]
        except (TypeError, KeyError, AttributeError):
            raise EndpointError(f'{self._told} answered without "data": [{{"embedding": …}}]') from None
        if len(rows) != count:
            raise EndpointError(f"{self._told} returned {len(rows)} vectors for {count} texts")
        return rows

    @property
    def _told(self) -> str:
        return f'the embedding endpoint {self.url} (model "{self.name}")'


def _pause(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.after if isinstance(error, _TryAgain) else 0.0
    return max(asked, wait_random_exponential(multiplier=0.5, max=10)(state))


def _seconds(retry_after: str) -> float:
    return min(float(retry_after), LONGEST_PAUSE) if retry_after.isdecimal() else 0.0


def _authorisation(api_key_env: str | None) -> dict[str, str]:
    if not api_key_env:
        return {}
    key = os.environ.get(api_key_env, "").strip()
    if not key:
        raise SettingsError(f"the embedding endpoint needs a key: set the environment variable {api_key_env}")
    return {"Authorization": f"Bearer {key}"}


def _checked_url(base_url: str) -> str:
    try:
        url = httpx2.URL(base_url)
    except httpx2.InvalidURL:
        url = httpx2.URL("")
    if url.scheme not in {"http", "https"} or not url.host:
        raise SettingsError(
            f'embedding base_url "{base_url}" is not an address like "http://127.0.0.1:8080/v1"'
        )
    if url.userinfo:
        raise SettingsError("embedding base_url holds a password; give the key through api_key_env")
    return str(url).rstrip("/").removesuffix("/embeddings")


def _sendable(text: str) -> str:
    """Never empty, which servers reject, and without half surrogates, which JSON cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8") or " "


def _short(text: str) -> str:
    return " ".join(text.split())[:200] or "no text"
