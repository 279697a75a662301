"""Requests to one target: a deadline for the whole exchange, a size limit, and keys that stay out of every text."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpcore2

from answerkey import __version__
from answerkey.llm.transport import Backend, open_pool, set_deadline
from answerkey.targets.respond import MAX_SIZE, content_error, infrastructure_error
from answerkey.targets.settings import with_variables
from answerkey.types import Response

_ABOUT_THE_QUESTION = {400, 413, 414, 422}
_SNIPPET = 200
_CONNECTIONS = 1000  # more than any number of workers: the run decides how many are asked at once
_HEADERS = {"Accept": "application/json, */*;q=0.5", "User-Agent": f"answerkey/{__version__}"}


class WireError(Exception):
    """The exchange failed; `response` says how."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.error)
        self.response = response


class Wire:
    """Sends requests to one place. `shown` is its address as the suite wrote it, for messages."""

    def __init__(self, shown: str, headers: Mapping[str, str], secrets: set[str], timeout: float) -> None:
        self._shown, self._secrets, self._timeout = shown.partition("?")[0], secrets, timeout
        self._headers = {**_HEADERS, **headers}
        self._backend = Backend()
        self._pool = open_pool(shown, _CONNECTIONS, self._backend)

    def begin(self) -> None:
        """The time for one question, however many requests it takes, runs from here."""
        set_deadline(self._timeout)

    def text(self, method: str, url: str, **what: Any) -> str:
        """The whole reply as text; anything but UTF-8 (or its stated charset) with status 2xx is a WireError."""
        with self.stream(method, url, **what) as reply:
            body = b"".join(chunks(reply))
        charset = re.search(r"charset=\"?([\w.-]+)", header(reply, "content-type"))
        try:
            text = body.decode(charset[1] if charset else "utf-8").removeprefix("\ufeff")
        except (UnicodeDecodeError, LookupError) as error:
            raise WireError(content_error("the reply is not valid UTF-8", str(error))) from None
        return self.scrub(text)

    @contextmanager
    def stream(
        self, method: str, url: str, params: Mapping[str, Any] | None = None, body: Any = None
    ) -> Generator[httpcore2.Response]:
        """The reply as it comes; not followed to another address, which our headers are not meant for."""
        headers, content = dict(self._headers), None
        if isinstance(body, str):
            headers["Content-Type"], content = "text/plain; charset=utf-8", body.encode()
        elif body is not None:
            headers["Content-Type"], content = "application/json", json.dumps(body).encode()
        try:
            with self._pool.stream(
                method, _address(url, params), headers=list(headers.items()), content=content
            ) as reply:
                if reply.status // 100 != 2:
                    raise WireError(self._refused(reply))
                yield reply
        except httpcore2.TimeoutException:
            problem = infrastructure_error("timed out", f"no answer within {self._timeout:g} s")
            raise WireError(problem) from None
        except httpcore2.ConnectError as error:
            detail = f"{self._shown}: {self.scrub(str(error))}; is the target running?"
            raise WireError(infrastructure_error("connection failed", detail)) from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError) as error:
            detail = f"{self._shown}: {type(error).__name__}: {self.scrub(str(error))}"
            raise WireError(infrastructure_error("connection broken", detail)) from None

    def with_variables(self, text: str) -> str:
        return with_variables(text, self._secrets)

    def scrub(self, text: str) -> str:
        """The text without any key in it: a server may echo what it was sent."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def close(self) -> None:
        self._backend.closed = True
        self._pool.close()

    def _refused(self, reply: httpcore2.Response) -> Response:
        name = f"HTTP {reply.status}"
        if where := header(reply, "location"):
            told = f"{self._shown} redirects to {self.scrub(where)}; put that address in the suite"
            return infrastructure_error(name, told)
        body = b"".join(chunks(reply))[: 4 * _SNIPPET].decode("utf-8", "replace")
        phrase = HTTPStatus(reply.status).phrase if reply.status in set(HTTPStatus) else ""
        detail = f"{phrase}: {self.scrub(' '.join(body.split()))[:_SNIPPET]}".strip(": ")
        return (content_error if reply.status in _ABOUT_THE_QUESTION else infrastructure_error)(name, detail)


def chunks(reply: httpcore2.Response) -> Iterator[bytes]:
    """The body piece by piece, up to the size limit."""
    too_large = WireError(content_error("the reply is too large", f"more than {MAX_SIZE // 1_000_000} MB"))
    announced = header(reply, "content-length")
    if announced.isdecimal() and int(announced) > MAX_SIZE:
        raise too_large
    size = 0
    for chunk in reply.iter_stream():
        size += len(chunk)
        if size > MAX_SIZE:
            raise too_large
        yield chunk


def header(reply: httpcore2.Response, name: str) -> str:
    return next((value.decode("latin-1") for key, value in reply.headers if key.decode().lower() == name), "")


def _address(url: str, params: Mapping[str, Any] | None) -> str:
    """Only what an address may hold; what is already quoted stays so."""
    parts = urlsplit(url)
    host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
    query = "&".join(part for part in (parts.query, urlencode(params or {}, doseq=True)) if part)
    safe = "/%:=&?~#+!$,;'@()*[]"
    return f"{parts.scheme}://{host}{quote(parts.path, safe)}{'?' if query else ''}{quote(query, safe)}"
