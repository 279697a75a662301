"""Kept connections to one place, on which every read and write ends at the deadline of the calling thread.

    set_deadline(30.0)
    with open_pool(url).stream("POST", url, headers=headers, content=b"{}") as reply: ...

httpcore2 makes the connections, TLS and proxies included. It takes longer for one exchange than everything around it, so
a direct connection does the usual exchange itself: one packet out, and a reply with status 200 and a stated length in. Every
other exchange is left to httpcore2, replies from their first byte on.
"""

from __future__ import annotations

import re
import ssl
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2

_READ = 64 * 1024
_PACKET = 16 * 1024
_KEPT = 60.0  # seconds without use
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_PORTS = {b"http": 80, b"https": 443}
_PLAIN_HEADER = re.compile(r"[\w-]+: [!-~](?:[ -~]*[!-~])?", re.ASCII)
_OF_FRAMING = {"host", "content-length", "transfer-encoding", "connection", "expect", "upgrade"}
_OF_REPLY_FRAMING = {b"content-length", b"transfer-encoding", b"connection"}
_TEXT = rb"[^\x00-\x08\x0a-\x1f\x7f]*\r\n"
_USUAL_HEAD = re.compile(rb"HTTP/1\.1 200 %b((?:[\w-]+:%b)+)\r\n" % (_TEXT, _TEXT))
_HEAD_END = re.compile(rb"\n\r?\n")
_deadline = threading.local()


def set_deadline(seconds: float) -> None:
    """All that the calling thread sends and reads from now on must be done after so many seconds."""
    _deadline.at = time.monotonic() + seconds


def _left() -> float:
    left = _deadline.at - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("deadline")
    return left


class DeadlineStream(httpcore2.NetworkStream):
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
        return DeadlineStream(self._inner.start_tls(ssl_context, server_hostname, _left()))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Begun(DeadlineStream):
    """A connection on which the request is sent and the reply has begun: another reader gets it from the first byte on."""

    def __init__(self, inner: httpcore2.NetworkStream, received: bytes) -> None:
        super().__init__(inner)
        self._received: bytes | None = received

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        received, self._received = self._received, None
        return self._inner.read(max_bytes, timeout) if received is None else received

    def write(self, buffer: bytes, timeout: float | None = None) -> None: ...


class _Backend(httpcore2.SyncBackend):
    """New connections, until the pool is closed: one that a late thread still opens is closed at once."""

    closed = False

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *more: Any, **named: Any
    ) -> DeadlineStream:
        stream = DeadlineStream(super().connect_tcp(host, port, _left(), *more, **named))
        if self.closed:
            stream.close()
            raise httpcore2.ConnectError("the client was closed")
        return stream


class _SizedReply(httpcore2.Response):
    """A reply with status 200 and a stated length."""

    def __init__(self, headers: list[tuple[bytes, bytes]], chunks: Iterator[bytes]) -> None:
        # Without what httpcore2 checks: the pattern of the head has made sure of it.
        self.status, self.headers, self._chunks, self.extensions = 200, headers, chunks, {}

    def iter_stream(self) -> Iterator[bytes]:
        return self._chunks


class _Direct(httpcore2.ConnectionInterface):
    """A connection without a proxy; one exchange at a time."""

    def __init__(self, origin: httpcore2.Origin, context: ssl.SSLContext | None, backend: _Backend) -> None:
        self._origin, self._context, self._backend = origin, context, backend
        self._wire: httpcore2.NetworkStream | None = None
        self._available, self._used = False, 0.0

    @contextmanager
    def stream(
        self, method: Any, url: Any, *, headers: Any = (), content: Any = None, **more: Any
    ) -> Generator[httpcore2.Response]:
        self._available = False
        wire = self._wire = self._wire or self._connect()
        if head := _usual_request(method, url, tuple(headers)):
            size = b"" if content is None else b"Content-Length: %d\r\n" % len(content)
            wire.write(b"".join((head, size, b"\r\n", content or b"")))
            received = _beginning(wire)
            if usual := self._usual_reply(wire, received):
                yield usual
                return
            wire = _Begun(wire, received)
        other = httpcore2.HTTP11Connection(self._origin, wire)
        with other.stream(method, parsed(url), headers=headers, content=content, **more) as reply:
            yield reply
        self._available, self._used = other.is_available(), time.monotonic()

    def _connect(self) -> httpcore2.NetworkStream:
        host = self._origin.host.decode("ascii")
        wire = self._backend.connect_tcp(host, self._origin.port)
        return wire if self._context is None else wire.start_tls(self._context, host)

    def _usual_reply(self, wire: httpcore2.NetworkStream, received: bytes) -> httpcore2.Response | None:
        head = _USUAL_HEAD.match(received)
        if head is None:
            return None
        fields = [line.partition(b":") for line in head[1].split(b"\r\n")[:-1]]
        headers = [(name.lower(), value.strip()) for name, _, value in fields]
        framing = [value for name, value in headers if name in _OF_REPLY_FRAMING and value.lower() != b"keep-alive"]
        if len(framing) != 1 or not framing[0].isdigit() or len(framing[0]) > 18:
            return None
        return _SizedReply(headers, self._body(wire, received[head.end() :], int(framing[0])))

    def _body(self, wire: httpcore2.NetworkStream, received: bytes, size: int) -> Iterator[bytes]:
        left = size - len(received)
        yield received[:size]
        while left > 0:
            received = wire.read(_READ)
            if not received:
                have = f"received {size - left} bytes, expected {size}"
                raise httpcore2.RemoteProtocolError(
                    f"peer closed connection without sending complete message body ({have})"
                )
            yield received[:left]
            left -= len(received)
        self._available, self._used = left == 0, time.monotonic()

    def close(self) -> None:
        self._available = False
        if self._wire is not None:
            self._wire.close()

    def can_handle_request(self, origin: httpcore2.Origin) -> bool:
        return origin == self._origin

    def is_available(self) -> bool:
        return self._available

    def has_expired(self) -> bool:
        """Also where the server has closed it: then there is something to read, the end."""
        return time.monotonic() - self._used > _KEPT or bool(self._wire and self._wire.get_extra_info("is_readable"))


def _beginning(wire: httpcore2.NetworkStream) -> bytes:
    """What a reply begins with, the whole head where it may be a usual one."""
    received = wire.read(_READ)
    while received.startswith(b"HTTP/1.1 200 ") and not _HEAD_END.search(received) and len(received) < _READ:
        more = wire.read(_READ)
        if not more:
            break
        received += more
    return received


@lru_cache(maxsize=64)
def _usual_request(method: str, url: str, headers: Sequence[tuple[str, str]]) -> bytes:
    """The head of a request up to the length of its body; nothing where httpcore2 has to check or refuse it."""
    address = parsed(url)
    lines = [f"{name}: {value}" for name, value in headers]
    plain = method in {"GET", "POST"} and re.fullmatch(rb"/[!-~]*", address.target)
    if not plain or not all(map(_PLAIN_HEADER.fullmatch, lines)) or _OF_FRAMING & {name.lower() for name, _ in headers}:
        return b""
    port = "" if address.port in (None, _PORTS.get(address.scheme)) else f":{address.port}"
    first = [f"{method} {address.target.decode()} HTTP/1.1", f"Host: {address.host.decode()}{port}"]
    return "".join(f"{line}\r\n" for line in first + lines).encode()


class Pool(httpcore2.ConnectionPool):
    """Connections that are kept, the last used first, one call at a time on each.

    The pool of httpcore2 looks at all its connections twice per call: with 200 of them that takes longer than the rest.
    """

    def __init__(self, context: ssl.SSLContext | None, proxy: httpcore2.Proxy | None) -> None:
        self._backend, self._context, self._direct = _Backend(), context, proxy is None
        super().__init__(ssl_context=context, proxy=proxy, keepalive_expiry=_KEPT, network_backend=self._backend)
        self._idle: list[httpcore2.ConnectionInterface] = []
        self._open: set[httpcore2.ConnectionInterface] = set()

    @property
    def connections(self) -> list[httpcore2.ConnectionInterface]:
        return list(self._open)

    @contextmanager
    def stream(self, method: Any, url: Any, **sent: Any) -> Generator[httpcore2.Response]:
        connection = self._take(parsed(url).origin)
        try:
            with connection.stream(method, url, **sent) as reply:
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
        direct = self._direct
        connection = _Direct(origin, self._context, self._backend) if direct else self.create_connection(origin)
        self._open.add(connection)
        return connection

    def _drop(self, connection: httpcore2.ConnectionInterface) -> None:
        self._open.discard(connection)
        connection.close()

    def close(self) -> None:
        """Calls under way end with an error."""
        self._backend.closed = True
        for connection in self.connections:
            self._drop(connection)


@lru_cache(maxsize=64)
def parsed(url: str) -> httpcore2.URL:
    return httpcore2.URL(url)


def open_pool(url: str) -> Pool:
    """Through the proxy that the environment names for this address, if any; this machine is reached directly."""
    parts = urlsplit(url)
    proxy = None
    direct = parts.hostname in _LOOPBACK or proxy_bypass(parts.hostname or "")
    if not direct and (address := getproxies().get(parts.scheme)):
        proxy = httpcore2.Proxy(address)
    context = httpcore2.default_ssl_context() if parts.scheme == "https" else None
    if context:
        context.set_alpn_protocols(["http/1.1"])
    return Pool(context, proxy)
