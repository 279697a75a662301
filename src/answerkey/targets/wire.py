"""One pooled HTTP client per target: a deadline, a size limit, and keys that stay out of every text."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import httpx2

from answerkey.targets.respond import MAX_SIZE, content_error, infrastructure_error
from answerkey.targets.settings import with_variables
from answerkey.types import Response

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_ABOUT_THE_QUESTION = {400, 413, 414, 422}
_SNIPPET = 200


class WireError(Exception):
    """The exchange failed; `response` says how."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.error)
        self.response = response


class Wire:
    """Sends requests to one place. `shown` is its address as the suite wrote it, for messages."""

    def __init__(self, shown: str, headers: Mapping[str, str], secrets: set[str], timeout: float) -> None:
        self._shown, self._secrets, self.timeout = shown.partition("?")[0], secrets, timeout
        self._client = httpx2.Client(
            headers={"Accept": "application/json, */*;q=0.5", **headers},
            timeout=timeout,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=2.0),
            # A bot on this machine is asked directly, whatever proxy the environment names.
            trust_env=urlsplit(shown).hostname not in _LOOPBACK,
        )

    def text(self, method: str, url: str, **what: Any) -> str:
        """The whole reply as text; anything but a page with status 2xx in UTF-8 is a WireError."""
        with self.stream(method, url, **what) as reply:
            body = b"".join(self.chunks(reply))
            try:
                text = body.decode(reply.charset_encoding or "utf-8").removeprefix("\ufeff")
            except (UnicodeDecodeError, LookupError) as error:
                raise WireError(content_error("the reply is not valid UTF-8", str(error))) from None
        return self.scrub(text)

    @contextmanager
    def stream(self, method: str, url: str, **what: Any) -> Generator[httpx2.Response]:
        """The reply as it comes; not followed to another address, which our headers are not meant for."""
        try:
            with self._client.stream(method, url, **what) as reply:
                if reply.status_code // 100 != 2:
                    raise WireError(self._refused(reply))
                yield reply
        except httpx2.TimeoutException:
            raise WireError(timed_out(self.timeout)) from None
        except httpx2.ConnectError as error:
            detail = f"{self._shown}: {self.scrub(str(error))}; is the target running?"
            raise WireError(infrastructure_error("connection failed", detail)) from None
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as error:
            detail = f"{self._shown}: {type(error).__name__}: {self.scrub(str(error))}"
            raise WireError(infrastructure_error("connection broken", detail)) from None

    def chunks(self, reply: httpx2.Response) -> Iterator[bytes]:
        """The body piece by piece, up to the size limit and the deadline (a slow drip is a hang too)."""
        deadline, size = perf_counter() + self.timeout, 0
        for chunk in reply.iter_bytes():
            size += len(chunk)
            if size > MAX_SIZE:
                raise WireError(
                    content_error("the reply is too large", f"more than {MAX_SIZE // 1_000_000} MB")
                )
            if perf_counter() > deadline:
                raise WireError(timed_out(self.timeout))
            yield chunk

    def with_variables(self, text: str) -> str:
        return with_variables(text, self._secrets)

    def scrub(self, text: str) -> str:
        """The text without any key in it: a server may echo what it was sent."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def close(self) -> None:
        self._client.close()

    def _refused(self, reply: httpx2.Response) -> Response:
        name = f"HTTP {reply.status_code}"
        if reply.is_redirect:
            where = self.scrub(reply.headers.get("location", "elsewhere"))
            return infrastructure_error(
                name, f"{self._shown} redirects to {where}; put that address in the suite"
            )
        body = b"".join(self.chunks(reply))[: 4 * _SNIPPET].decode("utf-8", "replace")
        detail = f"{reply.reason_phrase}: {self.scrub(' '.join(body.split()))[:_SNIPPET]}".strip(": ")
        return (content_error if reply.status_code in _ABOUT_THE_QUESTION else infrastructure_error)(
            name, detail
        )


def timed_out(seconds: float) -> Response:
    return infrastructure_error("timed out", f"no answer within {seconds:g} s")
