"""Requests of HTTP targets to one place, with the failures that users can understand."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import quote, urlencode, urlsplit

from answerkey import __version__
from answerkey.config.declare import toml_text
from answerkey.config.target_tables import EndpointTable
from answerkey.errors import SettingsError
from answerkey.net import (
    HttpClient,
    HttpStream,
    NoConnection,
    NoReply,
    TimedOutReply,
    TooLargeReply,
    check_address,
)
from answerkey.secrets import Secrets, with_variables
from answerkey.targets.reply_fields import parse_reply_json
from answerkey.targets.respond import MAX_SIZE, FailedExchange, content_error, infrastructure_error
from answerkey.types import Response

_SECRET_HEADER = re.compile(r"authorization|api-?key|token|secret|cookie", re.IGNORECASE)
_CHARSET = re.compile(r"charset=\"?([\w.-]+)")
_ABOUT_THE_QUESTION = {400, 413, 414, 422}  # statuses that another question may not meet
_KEY_ADVICE = 'put the key into the suite: [target.headers] Authorization = "Bearer ${BOT_TOKEN}"'
_BUSY_ADVICE = "ask less at once ([target] concurrency = 1) or more often ([target] retries = 5)"
_ADVICE = {
    401: _KEY_ADVICE,
    403: _KEY_ADVICE,
    404: "check the address of the target",
    429: _BUSY_ADVICE,
    503: _BUSY_ADVICE,
}
# Characters of an error page: enough to see what it is about.
_SNIPPET = 200
_SAFE_IN_ADDRESS = "/%:=&?~#+!$,;'@()*[]"  # with "%": what is already quoted stays so
_HEADERS = {
    "Accept": "application/json, */*;q=0.5",
    "User-Agent": f"answerkey/{__version__}",
    # Each question has its own connection: on a kept one, a second reply that a server sends late
    # would be taken for the answer to the next question.
    "Connection": "close",
}


class Wire:
    """Sends requests to one place. `shown` is its address as the suite wrote it, for messages."""

    def __init__(
        self, shown: str, url: str, headers: Mapping[str, str], secrets: Secrets, timeout: float
    ) -> None:
        self._shown = shown.partition("?")[0]
        self.secrets = secrets
        self._timeout = timeout
        self._client = HttpClient(
            url, {**_HEADERS, **headers}, timeout=timeout, secrets=secrets, max_bytes=MAX_SIZE
        )
        self.begin = self._client.begin
        self.close = self._client.close

    def json(
        self, method: str, url: str, params: Mapping[str, object] | None = None, body: object = None
    ) -> object:
        """The JSON value of a reply with status 2xx, without any key in it."""
        with self.stream(method, url, params, body) as reply:
            content = reply.read()
        charset = _CHARSET.search(reply.headers.get("content-type", ""))
        try:
            text = content.decode(charset[1] if charset else "utf-8").removeprefix("\ufeff")
        except (UnicodeDecodeError, LookupError) as error:
            failure = content_error("the reply is not valid UTF-8", str(error))
            raise FailedExchange(failure) from None
        # Before parsing, because an error quotes the text; after it, because JSON may write a key
        # with escapes.
        return self.secrets.hide_in(parse_reply_json(self.secrets.hide(text)))

    @contextmanager
    def stream(
        self, method: str, url: str, params: Mapping[str, object] | None = None, body: object = None
    ) -> Generator[HttpStream]:
        """The reply as it comes. Redirects are not followed: our headers are not meant for them."""
        headers: dict[str, str] = {}
        content = None
        if isinstance(body, str):
            headers["Content-Type"] = "text/plain; charset=utf-8"
            content = body.encode()
        elif body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode()
        try:
            with self._client.stream(method, _address(url, params), content, headers) as reply:
                if reply.status // 100 != 2:
                    raise FailedExchange(self._refusal(reply))
                yield reply
        except NoReply as error:
            raise FailedExchange(self._failure(error)) from None

    def _failure(self, error: NoReply) -> Response:
        match error:
            case TimedOutReply():
                return infrastructure_error("timed out", f"no answer within {self._timeout:g} s")
            case TooLargeReply():
                size = f"more than {MAX_SIZE // 1_000_000} MB"
                return content_error("the reply is too large", size)
            case NoConnection():
                detail = f"{self._shown}: {error}; is the target running?"
                return infrastructure_error("connection failed", detail)
            case _:
                return infrastructure_error("connection lost", f"{self._shown}: {error}")

    def _refusal(self, reply: HttpStream) -> Response:
        name = f"HTTP {reply.status}"
        location = reply.headers.get("location")
        if location:
            redirect = f"{self._shown} redirects to {self.secrets.hide(location)}"
            return infrastructure_error(name, f"{redirect}; put that address in the suite")
        body = self.secrets.hide(reply.read().decode("utf-8", "replace"))
        phrase = ""
        if reply.status in set(HTTPStatus):
            phrase = HTTPStatus(reply.status).phrase
        detail = f"{phrase}: {' '.join(body[: 4 * _SNIPPET].split())[:_SNIPPET]}".strip(": ")
        if reply.status in _ADVICE:
            detail = f"{detail}; {_ADVICE[reply.status]}"
        if reply.status in _ABOUT_THE_QUESTION:
            return content_error(name, detail)
        return infrastructure_error(name, detail)


def _address(url: str, params: Mapping[str, object] | None) -> str:
    """The address with its parameters, and only with characters that an address may have."""
    parts = urlsplit(url)
    host = parts.netloc
    # A host with other letters has an ASCII name for the network.
    if not host.isascii():
        host = host.encode("idna").decode()
    queries = (parts.query, urlencode(params or {}, doseq=True))
    query = "&".join(part for part in queries if part)
    address = f"{parts.scheme}://{host}{quote(parts.path, _SAFE_IN_ADDRESS)}"
    if query:
        return f"{address}?{quote(query, _SAFE_IN_ADDRESS)}"
    return address


def open_wire(settings: EndpointTable, key: str, timeout: float) -> tuple[str, Wire]:
    """The address with its variables filled in, and the wire to it."""
    address: str = getattr(settings, key)
    if not re.match(r"https?://[^/\s]", address):
        expected = "expected an address that begins with http:// or https://"
        raise SettingsError(f"[target] {key} = {toml_text(address)}: {expected}")
    if "@" in address.split("/")[2]:
        fix = "send it as a header with a ${VARIABLE} instead"
        raise SettingsError(f"[target] {key} contains a password: {fix}")
    secrets = Secrets()
    headers = _headers(settings, secrets)
    url = with_variables(address, secrets)
    check_address(url, f"[target] {key}")
    wire = Wire(address, url, headers, secrets, timeout)
    if key != "url":  # a base address, to which paths are added
        url = url.rstrip("/")
    return url, wire


def _headers(settings: EndpointTable, secrets: Secrets) -> dict[str, str]:
    for name, value in settings.headers.items():
        if _SECRET_HEADER.search(name) and "${" not in value:
            fix = f'a key belongs in a variable: {name} = "… ${{MY_TOKEN}}"'
            raise SettingsError(f"[target] headers: {name} is written out; {fix}")
    headers = {name: with_variables(value, secrets) for name, value in settings.headers.items()}
    if settings.api_key_env:
        headers["Authorization"] = with_variables(f"Bearer ${{{settings.api_key_env}}}", secrets)
    return headers
