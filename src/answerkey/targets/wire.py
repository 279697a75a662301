"""Requests to one target, and what each failure means for the question that was asked."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import quote, urlencode, urlsplit

import httpcore2

from answerkey import __version__
from answerkey.config.declare import shown
from answerkey.config.target_tables import EndpointTable
from answerkey.errors import SettingsError
from answerkey.net import HttpClient, NoConnection, NoReply, TimedOutReply, TooLargeReply, headers_of
from answerkey.secrets import Secrets
from answerkey.targets.fields import parse
from answerkey.targets.respond import MAX_SIZE, content_error, infrastructure_error
from answerkey.types import Response

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SECRET_HEADER = re.compile(r"authorization|api-?key|token|secret|cookie", re.IGNORECASE)
_ABOUT_THE_QUESTION = {400, 413, 414, 422}
_SNIPPET = 200
_HEADERS = {"Accept": "application/json, */*;q=0.5", "User-Agent": f"answerkey/{__version__}"}


class WireError(Exception):
    """The exchange failed; `response` says how."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.error)
        self.response = response


class Wire:
    """Sends requests to one place. `shown` is its address as the suite wrote it, for messages."""

    def __init__(self, shown: str, headers: Mapping[str, str], secrets: Secrets, timeout: float) -> None:
        self._shown, self.secrets, self._timeout = shown.partition("?")[0], secrets, timeout
        self._client = HttpClient(shown, {**_HEADERS, **headers}, timeout=timeout, secrets=secrets, most_bytes=MAX_SIZE)
        self.begin, self.close = self._client.begin, self._client.close

    def json(self, method: str, url: str, params: Mapping[str, object] | None = None, body: object = None) -> object:
        """The JSON value of the reply, without any key in it; a `Response` where it is not JSON.

        Anything but UTF-8 (or its stated charset) with status 2xx is a WireError.
        """
        with self.stream(method, url, params, body) as reply:
            content = b"".join(self.chunks(reply))
        charset = re.search(r"charset=\"?([\w.-]+)", headers_of(reply).get("content-type", ""))
        try:
            text = content.decode(charset[1] if charset else "utf-8").removeprefix("\ufeff")
        except (UnicodeDecodeError, LookupError) as error:
            raise WireError(content_error("the reply is not valid UTF-8", str(error))) from None
        return self.secrets.hide_in(parse(self.secrets.hide(text)))

    def chunks(self, reply: httpcore2.Response) -> Iterator[bytes]:
        """The body of a streamed reply, piece by piece."""
        return self._client.chunks(reply)

    @contextmanager
    def stream(
        self, method: str, url: str, params: Mapping[str, object] | None = None, body: object = None
    ) -> Generator[httpcore2.Response]:
        """The reply as it comes; not followed to another address, which our headers are not meant for."""
        headers, content = dict[str, str](), None
        if isinstance(body, str):
            headers["Content-Type"], content = "text/plain; charset=utf-8", body.encode()
        elif body is not None:
            headers["Content-Type"], content = "application/json", json.dumps(body).encode()
        try:
            with self._client.stream(method, _address(url, params), content, headers) as reply:
                if reply.status // 100 != 2:
                    raise WireError(self._refused(reply))
                yield reply
        except TimedOutReply:
            problem = infrastructure_error("timed out", f"no answer within {self._timeout:g} s")
            raise WireError(problem) from None
        except TooLargeReply:
            detail = f"more than {MAX_SIZE // 1_000_000} MB"
            raise WireError(content_error("the reply is too large", detail)) from None
        except NoConnection as error:
            detail = f"{self._shown}: {error}; is the target running?"
            raise WireError(infrastructure_error("connection failed", detail)) from None
        except NoReply as error:
            raise WireError(infrastructure_error("connection lost", f"{self._shown}: {error}")) from None

    def _refused(self, reply: httpcore2.Response) -> Response:
        name = f"HTTP {reply.status}"
        if where := headers_of(reply).get("location"):
            to = self.secrets.hide(where)
            return infrastructure_error(name, f"{self._shown} redirects to {to}; put that address in the suite")
        body = self.secrets.hide(b"".join(self.chunks(reply)).decode("utf-8", "replace"))
        phrase = HTTPStatus(reply.status).phrase if reply.status in set(HTTPStatus) else ""
        detail = f"{phrase}: {' '.join(body[: 4 * _SNIPPET].split())[:_SNIPPET]}".strip(": ")
        return (content_error if reply.status in _ABOUT_THE_QUESTION else infrastructure_error)(name, detail)


def _address(url: str, params: Mapping[str, object] | None) -> str:
    """Only what an address may hold; what is already quoted stays so."""
    parts = urlsplit(url)
    host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
    query = "&".join(part for part in (parts.query, urlencode(params or {}, doseq=True)) if part)
    safe = "/%:=&?~#+!$,;'@()*[]"
    return f"{parts.scheme}://{host}{quote(parts.path, safe)}{'?' if query else ''}{quote(query, safe)}"


def open_wire(settings: EndpointTable, key: str, timeout: float) -> tuple[str, Wire]:
    """The address with its variables filled in, and the wire to it."""
    address: str = getattr(settings, key)
    if not re.match(r"https?://[^/\s]", address):
        raise SettingsError(
            f"[target] {key} = {shown(address)}: expected an address that begins with http:// or https://"
        )
    if "@" in address.split("/")[2]:
        raise SettingsError(f"[target] {key} contains a password: send it as a header with a ${{VARIABLE}} instead")
    secrets = Secrets()
    headers = {name: _header(name, value, secrets) for name, value in settings.headers.items()}
    if settings.api_key_env:
        headers["Authorization"] = with_variables(f"Bearer ${{{settings.api_key_env}}}", secrets)
    url = with_variables(address, secrets)
    return url.rstrip("/") if key != "url" else url, Wire(address, headers, secrets, timeout)


def _header(name: str, value: str, secrets: Secrets) -> str:
    if _SECRET_HEADER.search(name) and "${" not in value:
        raise SettingsError(
            f'[target] headers: {name} is written out; a key belongs in a variable: {name} = "… ${{MY_TOKEN}}"'
        )
    return with_variables(value, secrets)


def with_variables(text: str, secrets: Secrets) -> str:
    """`${NAME}` becomes the variable's value, which is added to `secrets` so that it can be kept out of files."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if not found:
            raise SettingsError(
                f"[target] uses ${{{match[1]}}}, but the variable {match[1]} is not set: export it first"
            )
        secrets.add(found)
        return found

    return _VARIABLE.sub(value, text)
