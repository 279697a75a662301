"""The HTTP client of judges, targets and embedding endpoints, on httpx2.

    client = HttpClient("http://127.0.0.1:8080/v1", {"Authorization": f"Bearer {key}"}, timeout=30)
    client.begin()                                  # the time for one exchange runs from here
    client.request("POST", f"{url}/chat", b"{}").status

It adds what httpx2 leaves to its caller: one deadline for a whole exchange, a size limit, and
messages without keys. A redirect is never followed, so no key leaves for another address. Raises

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
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from answerkey.errors import SettingsError
from answerkey.secrets import Secrets

MAX_BYTES = 32_000_000
_KEEP_ALIVE = 60.0  # seconds; a judge is seldom idle for longer within a run
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_deadline = threading.local()  # of the exchange of each thread


class NoReply(Exception):
    """There is no whole reply; the message has the reason and contains no key."""


class TimedOutReply(NoReply): ...


class NoConnection(NoReply): ...


class LostConnection(NoReply): ...


class TooLargeReply(NoReply): ...


@dataclass(frozen=True, slots=True)
class HttpReply:
    """Status, headers by lower-case name, and the raw body: hide keys with `Secrets` after decoding it."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpStream:
    """A reply whose body is still to be read with `chunks`."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]

    def read(self) -> bytes:
        return b"".join(self.chunks)


class HttpClient:
    """Sends requests to one server over kept-alive connections, from any number of threads."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        timeout: float,
        secrets: Secrets | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.timeout = timeout
        self.max_bytes = max_bytes
        self.secrets = secrets or Secrets()
        self._host = urlsplit(url).netloc
        # Bodies are read raw: a compressed one could grow past the size limit when it is unpacked.
        self._headers = {"accept-encoding": "identity", **headers}
        # A transport, not a `Client`: that would keep cookies from one case to the next.
        self._transport = open_transport(url)
        self._closed = False

    def begin(self) -> None:
        """Start the time limit of the calling thread; it covers all requests up to the next `begin`."""
        _deadline.at = time.monotonic() + self.timeout

    def request(self, method: str, url: str, content: bytes | None = None) -> HttpReply:
        """The whole reply, whatever its status."""
        with self.stream(method, url, content) as reply:
            return HttpReply(reply.status, reply.headers, reply.read())

    @contextmanager
    def stream(
        self,
        method: str,
        url: str,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Generator[HttpStream]:
        """The reply as it arrives."""
        reply: httpx2.Response | None = None
        try:
            request = self._build_request(
                method, url, content, {**self._headers, **(headers or {})}
            )
            reply = self._transport.handle_request(request)
            names = {name.lower(): value for name, value in reply.headers.items()}
            yield HttpStream(reply.status_code, names, self._read_chunks(reply))
        except (httpx2.TimeoutException, httpcore2.TimeoutException):
            raise self._timed_out() from None
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            if isinstance(error, httpx2.ConnectError):
                kind = NoConnection
            else:
                kind = LostConnection
            cause = self.secrets.hide(str(error)) or type(error).__name__
            raise kind(f"no connection to {self._host}: {cause}") from None
        finally:
            if reply is not None:
                reply.close()

    def close(self) -> None:
        """Calls under way end with an error."""
        self._closed = True
        self._transport.close()

    def _build_request(
        self, method: str, url: str, content: bytes | None, headers: Mapping[str, str]
    ) -> httpx2.Request:
        if self._closed:
            raise httpx2.ConnectError("the client was closed")
        timeouts = {"pool": _seconds_left()}
        return httpx2.Request(
            method, url, headers=headers, content=content, extensions={"timeout": timeouts}
        )

    def _read_chunks(self, reply: httpx2.Response) -> Iterator[bytes]:
        """The body up to the size limit."""
        received = 0
        for chunk in reply.iter_raw():
            received += len(chunk)
            if received > self.max_bytes:
                raise TooLargeReply(f"a reply of more than {self.max_bytes // 1_000_000} MB")
            yield chunk

    def _timed_out(self) -> TimedOutReply:
        return TimedOutReply(f"no full reply within {self.timeout:g} s")


def _seconds_left() -> float:
    left = _deadline.at - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("deadline")
    return left


class _DeadlineStream(httpcore2.NetworkStream):
    """A connection on which every read and write ends at the deadline of the calling thread.

    httpx2 limits each read alone: a server that sends one byte now and then, of its headers or of
    its body, could hold a call for hours.
    """

    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _seconds_left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _seconds_left())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> _DeadlineStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, _seconds_left())
        return _DeadlineStream(inner)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _DeadlineBackend(httpcore2.SyncBackend):
    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *more: Any, **named: Any
    ) -> _DeadlineStream:
        return _DeadlineStream(super().connect_tcp(host, port, _seconds_left(), *more, **named))


class _DeadlineTransport(httpx2.HTTPTransport):
    """httpx2's transport over connections with a deadline, for which it has no parameter."""

    def __init__(self, proxy: httpx2.Proxy | None = None) -> None:
        certificates = httpx2.create_ssl_context()
        super().__init__(certificates, proxy=proxy)  # refuses a proxy that cannot be used
        through = None
        if proxy is not None:
            through = httpcore2.Proxy(str(proxy.url), auth=proxy.raw_auth)
        # The limiter of the caller decides how many calls go at once: the pool has no limit.
        self._pool = httpcore2.ConnectionPool(
            certificates,
            through,
            max_connections=None,
            keepalive_expiry=_KEEP_ALIVE,
            network_backend=_DeadlineBackend(),
        )


def check_address(url: str, setting: str) -> None:
    """Raise SettingsError, naming the setting, for an address that no request can be sent to."""
    server = "/".join(url.split("/")[:3])  # the path and the query may contain a key
    try:
        has_host = bool(httpx2.URL(server).host) and urlsplit(server).port != 0
    except (httpx2.InvalidURL, ValueError) as error:
        raise SettingsError(f'{setting} = "{server}…" is not a valid address: {error}') from None
    if not has_host:
        raise SettingsError(f'{setting} = "{server}…" is not a valid address: no host or port 0')


def open_transport(url: str) -> httpx2.HTTPTransport:
    """Connections to this address, through the proxy that the environment names for it, if any."""
    proxy = find_proxy(url)
    if proxy is None:
        return _DeadlineTransport()
    shown = re.sub(r"//[^/@]*@", "//***@", proxy)  # a proxy's address may contain a password
    try:
        return _DeadlineTransport(httpx2.Proxy(proxy))
    except ImportError:
        cause = "SOCKS proxies need the package socksio: pip install socksio"
    except (httpx2.InvalidURL, ValueError) as error:
        cause = str(error).replace(proxy, shown)
    fix = "correct http_proxy, https_proxy or all_proxy, or add the host to no_proxy"
    raise SettingsError(f"the proxy {shown} of the environment cannot be used: {cause}; {fix}")


def find_proxy(url: str) -> str | None:
    """The proxy of the environment for this address; this machine is always reached directly."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _LOOPBACK or proxy_bypass(host):
        return None
    settings = getproxies()
    proxy = (settings.get(parts.scheme) or settings.get("all") or "").strip()
    if not proxy:
        return None
    # curl takes `127.0.0.1:3128` without a scheme, so people write it that way.
    if "://" in proxy:
        return proxy
    return f"http://{proxy}"


def back_off(tries: int, first: float, longest: float) -> float:
    """Seconds to wait after so many tries: doubling, a quarter up or down."""
    return min(longest, first * 2 ** min(tries - 1, 60)) * random.uniform(0.75, 1.25)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait, from `Retry-After` as seconds or as a date; None where it cannot be used."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        written = headers["retry-after"].strip()
        if re.fullmatch(r"\d+(\.\d+)?", written):
            return float(written)
        date = parsedate_to_datetime(written)
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
