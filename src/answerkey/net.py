"""The HTTP client of judges, targets and embedding endpoints: a deadline, a size limit, and keys that stay secret.

    client = HttpClient("http://127.0.0.1:8080/v1", {"Authorization": f"Bearer {key}"}, timeout=30, secrets=Secrets([key]))
    client.begin()                                  # the time for one exchange runs from here
    client.request("POST", f"{url}/chat", b"{}").status

A timeout for each read would let a server that sends a byte now and then hold a call forever: here each read gets only what
is left of the deadline. A redirect is never followed, so no key leaves for another address. Raises one of

    NoReply
    ├── TimedOutReply    no full reply before the deadline
    ├── NoConnection     nothing listens at the address
    ├── LostConnection   the connection ended before the reply did
    └── TooLargeReply    more bytes than the limit
"""

from __future__ import annotations

import random
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpcore2

from answerkey.connections import open_pool, set_deadline
from answerkey.secrets import Secrets

MOST_BYTES = 32_000_000


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
        self._pool = open_pool(url)

    def begin(self) -> None:
        """The time for one exchange of the calling thread, however many requests it takes, runs from here."""
        set_deadline(self.timeout)

    def request(self, method: str, url: str, content: bytes | None = None) -> HttpReply:
        """The whole reply, whatever its status."""
        with self.stream(method, url, content) as reply:
            return HttpReply(reply.status, headers_of(reply), b"".join(self.chunks(reply)))

    @contextmanager
    def stream(
        self,
        method: str,
        url: str,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Generator[httpcore2.Response]:
        """The reply as it arrives; read its body with `chunks`."""
        sent = [*self._headers, *headers.items()] if headers else self._headers
        try:
            with self._pool.stream(method, url, headers=sent, content=content) as reply:
                yield reply
        except httpcore2.TimeoutException:
            raise TimedOutReply(f"no full reply within {self.timeout:g} s") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError) as error:
            kind = NoConnection if isinstance(error, httpcore2.ConnectError) else LostConnection
            cause = self.secrets.hide(str(error)) or type(error).__name__
            raise kind(f"no connection to {self._host}: {cause}") from None

    def chunks(self, reply: httpcore2.Response) -> Iterator[bytes]:
        """The body piece by piece, up to the size limit."""
        received = 0
        for chunk in reply.iter_stream():
            received += len(chunk)
            if received > self.most_bytes:
                raise TooLargeReply(f"a reply of more than {self.most_bytes // 1_000_000} MB")
            yield chunk

    def close(self) -> None:
        """Calls under way end with an error."""
        self._pool.close()


def headers_of(reply: httpcore2.Response) -> dict[str, str]:
    return {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in reply.headers
    }


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
