"""A pool of connections to one server. Every read and write ends at the deadline of the calling thread.

httpcore2 opens the connections, but its HTTP parser costs more than the rest of a call. So, without a proxy, the common
exchange is handled here: a request in one packet, a reply with status 200 and a Content-Length. httpcore2 reads every
other reply.
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
_KEPT = 60.0  # seconds without use
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_OF_US = r"(?!host:|content-length:|transfer-encoding:|connection:|expect:)"
_PLAIN_HEADER = re.compile(_OF_US + r"[\w-]+: [!-~](?:[ -~]*[!-~])?", re.ASCII | re.IGNORECASE)
_LINE = rb"[^\x00-\x08\x0a-\x1f\x7f]*\r\n"
_FIELDS = (
    rb"(?:(?!content-length:|transfer-encoding:|connection:(?! *keep-alive\r))[\w-]+:%b)*" % _LINE
)
_USUAL_HEAD = re.compile(
    rb"HTTP/1\.1 200 %b(%bcontent-length: *(\d{1,18})\r\n%b)\r\n" % (_LINE, _FIELDS, _FIELDS),
    re.IGNORECASE,
)
_FIELD = re.compile(rb"([\w-]+):[ \t]*(.*?)[ \t]*\r\n")
_HEAD_END = re.compile(rb"\n\r?\n")
_deadline = threading.local()
_parsed = lru_cache(maxsize=64)(httpcore2.URL)


def set_deadline(seconds: float) -> None:
    """All that the calling thread sends and reads from now on must be done after so many seconds."""
    _deadline.at = time.monotonic() + seconds


def _left() -> float:
    left = _deadline.at - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("deadline")
    return left


class TimedLine(httpcore2.NetworkStream):
    """One connection; `whole` after an exchange that ended well, so that it can be used again."""

    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner, self.whole, self.used = inner, False, 0.0
        self.origin: httpcore2.Origin | None = None
        self.received: bytes | None = (
            None  # of a reply whose request was sent: what is read next, and nothing is sent
        )

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        received, self.received = self.received, None
        return self._inner.read(max_bytes, _left()) if received is None else received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self.received is None:
            self._inner.write(buffer, _left())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: Any = None
    ) -> TimedLine:
        return TimedLine(self._inner.start_tls(ssl_context, server_hostname, _left()))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def beginning(self) -> bytes:
        """What a reply begins with, the whole head where it may be a usual one."""
        received = more = self.read(_READ)
        while more and received.startswith(b"HTTP/1.1 200 ") and not _HEAD_END.search(received):
            received += (more := self.read(_READ) if len(received) < _READ else b"")
        return received

    def body(self, received: bytes, size: int) -> Iterator[bytes]:
        have = len(received)
        yield received[:size]
        while have < size:
            if not (received := self.read(_READ)):
                raise httpcore2.RemoteProtocolError(f"the reply ended after {have} of {size} bytes")
            yield received[: size - have]
            have += len(received)
        self.whole = have == size


class _Backend(httpcore2.SyncBackend):
    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *more: Any, **named: Any
    ) -> TimedLine:
        return TimedLine(super().connect_tcp(host, port, _left(), *more, **named))


class Pool:
    """Connections without a proxy, the last used first, one exchange at a time on each."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context, self._closed = context, False
        self._idle: list[TimedLine] = []
        self.connections: set[TimedLine] = set()

    @contextmanager
    def stream(
        self,
        method: str,
        url: str,
        headers: Sequence[tuple[str, str]],
        content: bytes | None = None,
    ) -> Generator[httpcore2.Response]:
        origin = _parsed(url).origin
        line = self._kept(origin) or self._connected(origin)
        line.whole = False
        try:
            if head := _usual_request(method, url, tuple(headers)):
                size = b"" if content is None else b"Content-Length: %d\r\n" % len(content)
                with suppress(
                    httpcore2.WriteError
                ):  # a server may answer and close before it has read everything
                    line.write(b"".join((head, size, b"\r\n", content or b"")))
                received = line.beginning()
                if usual := _USUAL_HEAD.match(received):
                    chunks = line.body(received[usual.end() :], int(usual[2]))
                    yield httpcore2.Response(200, headers=_FIELD.findall(usual[1]), content=chunks)
                    return
                line.received = received
            connection = httpcore2.HTTP11Connection(origin, line)
            with connection.stream(method, url, headers=headers, content=content) as reply:
                yield reply
            line.whole = connection.is_available()
        finally:
            line.used = time.monotonic()
            if line.whole:
                self._idle.append(line)
            else:
                self._drop(line)

    def _kept(self, origin: httpcore2.Origin) -> TimedLine | None:
        while self._idle:
            with suppress(IndexError):  # another thread may have taken the last
                line = self._idle.pop()
                # Where the server has closed it there is something to read: the end.
                fresh = time.monotonic() - line.used < _KEPT and not line.get_extra_info(
                    "is_readable"
                )
                if fresh and line.origin == origin:
                    return line
                self._drop(line)
        return None

    def _connected(self, origin: httpcore2.Origin) -> TimedLine:
        host = origin.host.decode("ascii")
        line = _Backend().connect_tcp(host, origin.port)
        line = line.start_tls(self._context, host) if self._context else line
        line.origin = origin
        self.connections.add(line)
        if self._closed:
            self._drop(line)
            raise httpcore2.ConnectError("the client was closed")
        return line

    def _drop(self, line: TimedLine) -> None:
        self.connections.discard(line)
        line.close()

    def close(self) -> None:
        self._closed = True
        for line in list(self.connections):
            self._drop(line)


@lru_cache(maxsize=64)
def _usual_request(method: str, url: str, headers: Sequence[tuple[str, str]]) -> bytes:
    """The head of a request up to the length of its body; nothing where httpcore2 has to check or refuse it."""
    address = _parsed(url)
    lines = [f"{name}: {value}" for name, value in headers]
    plain = method in {"GET", "POST"} and re.fullmatch(rb"/[!-~]*", address.target)
    if not plain or not all(map(_PLAIN_HEADER.fullmatch, lines)):
        return b""
    port = "" if address.port is None else f":{address.port}"
    first = [f"{method} {address.target.decode()} HTTP/1.1", f"Host: {address.host.decode()}{port}"]
    return "".join(f"{line}\r\n" for line in first + lines).encode()


def open_pool(url: str) -> Pool | httpcore2.ConnectionPool:
    """Through the proxy that the environment names for this address, if any; this machine is reached directly."""
    parts = urlsplit(url)
    direct = parts.hostname in _LOOPBACK or proxy_bypass(parts.hostname or "")
    proxy = None if direct else getproxies().get(parts.scheme)
    context = httpcore2.default_ssl_context() if parts.scheme == "https" else None
    if proxy:
        through = httpcore2.Proxy(proxy)
        return httpcore2.ConnectionPool(
            context, through, None, keepalive_expiry=_KEPT, network_backend=_Backend()
        )
    if context:
        context.set_alpn_protocols(["http/1.1"])
    return Pool(context)
