"""The HTTP client of judges, targets and embedding endpoints: a deadline, a size limit, and keys that stay secret.

    client = HttpClient("http://127.0.0.1:8080/v1", {"Authorization": f"Bearer {key}"}, timeout=30, secrets=Secrets([key]))
    client.begin()                                  # the time for one exchange runs from here
    client.request("POST", f"{url}/chat", b"{}").status

httpcore2 (the layer under httpx2, half its CPU time per call) times out each read; a server that sends a byte now and
then would hold a call forever. Here each read gets only what is left of the deadline. A redirect is never followed,
so no key leaves for another address. Raises one of

    NoReply
    ├── TimedOutReply    no full reply before the deadline
    ├── NoConnection     nothing listens at the address
    ├── LostConnection   the connection ended before the reply did
    └── TooLargeReply    more bytes than the limit
"""

from __future__ import annotations

import random
import re
import ssl
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from ssl import SSLContext
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2

from answerkey.secrets import Secrets

MOST_BYTES = 32_000_000
_PACKET = 16 * 1024
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_deadline = threading.local()


class NoReply(Exception):
    """There is no whole reply; the message says why and holds no key."""


class TimedOutReply(NoReply): ...


class NoConnection(NoReply): ...


class LostConnection(NoReply): ...


class TooLargeReply(NoReply): ...


@dataclass(frozen=True, slots=True)
class HttpReply:
    """Status, headers by lower-case name, and the body as it came: hide keys with `Secrets` after decoding it."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Sends requests to one place over kept-alive connections; may be used from many threads at once."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        timeout: float,
        secrets: Secrets | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.timeout, self.most_bytes = timeout, most_bytes
        self.secrets = secrets or Secrets()
        self._host = urlsplit(url).netloc
        self._headers = list(headers.items())
        self._limits = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout)}
        self._backend = _Backend()
        self._pool = _open_pool(url, self._backend)

    def begin(self) -> None:
        """The time for one exchange of the calling thread, however many requests it takes, runs from here."""
        _deadline.at = time.monotonic() + self.timeout

    def request(self, method: str, url: str, content: bytes | None = None) -> HttpReply:
        """The whole reply, whatever its status."""
        with self.stream(method, url, content) as reply:
            return HttpReply(reply.status, headers_of(reply), b"".join(self.chunks(reply)))

    @contextmanager
    def stream(
        self, method: str, url: str, content: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Generator[httpcore2.Response]:
        """The reply as it arrives; read its body with `chunks`."""
        sent = [*self._headers, *headers.items()] if headers else self._headers
        try:
            with self._pool.stream(method, url, headers=sent, content=content, extensions=self._limits) as reply:
                yield reply
        except httpcore2.TimeoutException:
            raise TimedOutReply(f"no full reply within {self.timeout:g} s") from None
        except httpcore2.ConnectError as error:
            raise NoConnection(f"no connection to {self._host}: {self._cause(error)}") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError) as error:
            raise LostConnection(f"no connection to {self._host}: {self._cause(error)}") from None

    def chunks(self, reply: httpcore2.Response) -> Iterator[bytes]:
        """The body piece by piece, up to the size limit."""
        announced = headers_of(reply).get("content-length", "")
        size = int(announced) if announced.isdecimal() and len(announced) < 20 else 0
        received = 0
        for chunk in reply.iter_stream() if size <= self.most_bytes else ():
            received += len(chunk)
            if received > self.most_bytes:
                break
            yield chunk
        if max(size, received) > self.most_bytes:
            raise TooLargeReply(f"a reply of more than {self.most_bytes // 1_000_000} MB")

    def close(self) -> None:
        """Calls under way end with an error."""
        self._backend.closed = True
        self._pool.close()

    def _cause(self, error: Exception) -> str:
        return self.secrets.hide(str(error)) or type(error).__name__


def headers_of(reply: httpcore2.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in reply.headers}


def back_off(tries: int, first: float, longest: float) -> float:
    """Seconds to wait after so many tries: doubling, a quarter up or down."""
    return min(longest, first * 2 ** min(tries - 1, 60)) * random.uniform(0.75, 1.25)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait, from `Retry-After` as seconds or as a date; None where it is absent or makes no sense."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        written = headers["retry-after"].strip()
        if re.fullmatch(r"\d+(\.\d+)?", written):
            return float(written)
        date = parsedate_to_datetime(written)
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


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


class _Backend(httpcore2.SyncBackend):
    """New connections, until the pool is closed: one that a late thread still opens is closed at once."""

    closed = False

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *more: Any, **named: Any) -> _Stream:
        stream = _Stream(super().connect_tcp(host, port, _left(), *more, **named))
        if self.closed:
            stream.close()
            raise httpcore2.ConnectError("the client was closed")
        return stream


class _Pool(httpcore2.ConnectionPool):
    """Connections that are kept, the last used first, one call at a time on each.

    The pool of httpcore2 looks at all its connections twice per call: with 200 of them that takes longer than the rest.
    """

    def __init__(self, context: SSLContext | None, proxy: httpcore2.Proxy | None, backend: _Backend) -> None:
        super().__init__(ssl_context=context, proxy=proxy, keepalive_expiry=60.0, network_backend=backend)
        self._idle: list[httpcore2.ConnectionInterface] = []
        self._open: set[httpcore2.ConnectionInterface] = set()

    @property
    def connections(self) -> list[httpcore2.ConnectionInterface]:
        return list(self._open)

    @contextmanager
    def stream(
        self, method: bytes | str, url: httpcore2.URL | bytes | str, **sent: Any
    ) -> Generator[httpcore2.Response]:
        address = url if isinstance(url, httpcore2.URL) else _parsed(url)
        connection = self._take(address.origin)
        try:
            with connection.stream(method, address, **sent) as reply:
                yield reply
        finally:
            if connection.is_available():
                self._idle.append(connection)
            else:
                self._drop(connection)

    def _take(self, origin: httpcore2.Origin) -> httpcore2.ConnectionInterface:
        while self._idle:
            with suppress(IndexError):  # another thread may have taken the last
                connection = self._idle.pop()
                if connection.can_handle_request(origin) and not connection.has_expired():
                    return connection
                self._drop(connection)
        connection = self.create_connection(origin)
        self._open.add(connection)
        return connection

    def _drop(self, connection: httpcore2.ConnectionInterface) -> None:
        self._open.discard(connection)
        connection.close()

    def close(self) -> None:
        for connection in self.connections:
            self._drop(connection)


@lru_cache(maxsize=64)
def _parsed(url: bytes | str) -> httpcore2.URL:
    return httpcore2.URL(url)


def _left() -> float:
    left = _deadline.at - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("deadline")
    return left


def _open_pool(url: str, backend: _Backend) -> _Pool:
    """Through the proxy that the environment names for this address, if any; this machine is reached directly."""
    parts = urlsplit(url)
    proxy = None
    direct = parts.hostname in _LOOPBACK or proxy_bypass(parts.hostname or "")
    if not direct and (address := getproxies().get(parts.scheme)):
        proxy = httpcore2.Proxy(address)
    context = httpcore2.default_ssl_context() if parts.scheme == "https" else None
    return _Pool(context, proxy, backend)
