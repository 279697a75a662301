"""One POST of JSON over a pool of kept-alive connections, with a deadline for the whole exchange.

httpcore2 (the layer under httpx2, half its CPU time a call) times out each read; a server that sends a byte now and then
would hold a call for ever. Here each read gets only what is left of the deadline.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2

from answerkey.llm.failures import TimedOut, Transient

MOST_BYTES = 32 * 1024 * 1024
_PACKET = 16 * 1024
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_deadline = threading.local()


class Transport:
    def __init__(self, url: str, connections: int) -> None:
        self._url = url
        self._backend = Backend()
        self._pool = open_pool(url, connections, self._backend)

    def post(
        self, content: bytes, headers: Mapping[str, str], timeout: float
    ) -> tuple[int, dict[str, str], str]:
        """Status, lower-cased headers and body. Raises `TimedOut` or `Transient` when there is none."""
        set_deadline(timeout)
        limits = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout)}
        try:
            with self._pool.stream(
                "POST", self._url, headers=list(headers.items()), content=content, extensions=limits
            ) as response:
                body = bytearray()
                for part in response.iter_stream():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise Transient(f"a reply of more than {MOST_BYTES // 1024**2} MB")
                found = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in response.headers}
                return response.status, found, body.decode("utf-8", "replace")
        except httpcore2.TimeoutException as error:
            raise TimedOut(f"no full reply within {timeout:g} s") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError) as error:
            raise Transient(f"no connection to {_host(self._url)}: {_cause(error)}") from error

    def close(self) -> None:
        """Calls under way end with an error."""
        self._backend.closed = True
        self._pool.close()


class _Stream(httpcore2.NetworkStream):
    """A connection whose reads and writes all end at the deadline of the calling thread.

    Head and body of a small request leave in one packet, when the reply is first waited for.
    """

    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner, self._unsent = inner, b""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._unsent:
            # A server may answer and close before it has read everything.
            with suppress(httpcore2.WriteError):
                self._send()
        return self._inner.read(max_bytes, _left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._unsent += buffer
        if len(self._unsent) > _PACKET:
            self._send()

    def _send(self) -> None:
        data, self._unsent = self._unsent, b""
        self._inner.write(data, _left())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, _left()))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class Backend(httpcore2.SyncBackend):
    """New connections, until the pool is closed: one that a late thread still opens is closed at once."""

    closed = False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        stream = _Stream(super().connect_tcp(host, port, _left(), local_address, socket_options))
        if self.closed:
            stream.close()
            raise httpcore2.ConnectError("the client was closed")
        return stream


def set_deadline(seconds: float) -> None:
    """From now on, for what the calling thread does over a pool of ours."""
    _deadline.at = time.monotonic() + seconds


def _left() -> float:
    left = _deadline.at - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("deadline")
    return left


def open_pool(url: str, connections: int, backend: Backend) -> httpcore2.ConnectionPool:
    """Through the proxy that the environment names for this address, if any; this machine is reached directly."""
    parts = urlsplit(url)
    proxy = None
    direct = parts.hostname in _LOOPBACK or proxy_bypass(parts.hostname or "")
    if not direct and (address := getproxies().get(parts.scheme)):
        proxy = httpcore2.Proxy(address)
    return httpcore2.ConnectionPool(
        ssl_context=httpcore2.default_ssl_context() if parts.scheme == "https" else None,
        proxy=proxy,
        max_connections=connections,
        max_keepalive_connections=connections,
        keepalive_expiry=60.0,
        network_backend=backend,
    )


def _host(url: str) -> str:
    return urlsplit(url).netloc


def _cause(error: Exception) -> str:
    return str(error) or type(error).__name__
