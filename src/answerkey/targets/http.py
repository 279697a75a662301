"""Any JSON endpoint as a target; of `openai = …` and `gradio = …` the shape is known."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from time import perf_counter
from urllib.parse import quote, urlencode, urlsplit

from answerkey import __version__
from answerkey.coerce.values import is_mapping, table_of
from answerkey.config.declare import read_table, toml_text
from answerkey.config.target_tables import EndpointTable, GradioTable, HttpTable, OpenAiTable
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
from answerkey.targets.fields import (
    Fields,
    chat_messages,
    check_places,
    each_text,
    fill,
    fill_address,
    json_path,
    parse_reply_json,
    read_fields,
)
from answerkey.targets.respond import MAX_SIZE, FailedExchange, content_error, infrastructure_error
from answerkey.types import Question, Response

Exchange = Callable[[Question], object]

_CHAT_PATHS = {
    "answer": "$.choices[0].message.content",
    "prompt_tokens": "$.usage.prompt_tokens",
    "completion_tokens": "$.usage.completion_tokens",
    "error": "$.error.message",
}
_FIRST_MODEL = json_path("$.data[0].id", "model")


class HttpTarget:
    """Asks through one exchange of messages, which gives the JSON value of the reply, and times it."""

    def __init__(self, exchange: Exchange, wire: Wire, fields: Fields) -> None:
        self._exchange, self._wire, self._fields = exchange, wire, fields

    def ask(self, question: Question) -> Response:
        self._wire.begin()
        start = perf_counter()
        try:
            response = self._fields.read(self._exchange(question))
        except FailedExchange as failed:
            response = failed.response
        except UnicodeError as error:
            response = content_error("the question cannot be sent", str(error))
        return replace(response, seconds=perf_counter() - start)

    def close(self) -> None:
        self._wire.close()


def make_http_target(table: Mapping[str, object], folder: Path, timeout: float) -> HttpTarget:
    if "gradio" in table:
        return _gradio(table, timeout)
    if "openai" in table or "chat" in table:
        return _openai(table, timeout)
    settings = read_table(HttpTable, table, "[target]")
    url, wire = open_wire(settings, "url", timeout)
    # A body that is JSON text is read as JSON, so that the question is quoted right.
    body: object = {"question": "{question}"} if settings.body is None else settings.body
    if isinstance(body, str):
        with suppress(ValueError):
            body = json.loads(body)
    by_address = settings.body is None and (settings.params or "{question}" in settings.url)
    method = settings.method or ("GET" if by_address else "POST")
    check_places(
        [settings.url, settings.params, *([body] if method != "GET" else [])], "url, params or body"
    )
    params, body = (
        each_text(one, lambda text: with_variables(text, wire.secrets))
        for one in (settings.params, body)
    )

    def exchange(question: Question) -> object:
        address, query = fill_address(url, question), table_of(fill(params, question))
        if method == "GET":
            return wire.json(method, address, query)
        # With no body of the suite's own, a history is sent where there is one.
        own = settings.body is not None or not question.history
        sent = body if own else {**table_of(body), "history": "{history}"}
        return wire.json(method, address, query, fill(sent, question))

    return HttpTarget(exchange, wire, read_fields(settings))


def _openai(table: Mapping[str, object], timeout: float) -> HttpTarget:
    """An OpenAI-compatible chat endpoint; `body` is more of each request, such as `{temperature = 0, max_tokens = 300}`."""
    settings = read_table(OpenAiTable, table, "[target]")
    base, wire = open_wire(settings, "openai" if settings.openai else "chat", timeout)
    base = base.removesuffix("/chat/completions")
    model, asking = settings.model, threading.Lock()

    def exchange(question: Question) -> object:
        nonlocal model
        with asking:
            if not model:  # the first that the endpoint lists
                model = str(_FIRST_MODEL.find(wire.json("GET", f"{base}/models")) or "")
            if not model:
                detail = f"{base}/models lists none; put model = … in the suite"
                raise FailedExchange(infrastructure_error("no model", detail))
        body = {
            "model": model,
            "messages": chat_messages(question, settings.system),
            **settings.body,
        }
        return wire.json("POST", f"{base}/chat/completions", body=body)

    return HttpTarget(exchange, wire, read_fields(settings, _CHAT_PATHS))


_PREFIXES = ("/gradio_api/call", "/call")  # Gradio 5 and later; Gradio 4


def _gradio(table: Mapping[str, object], timeout: float) -> HttpTarget:
    """`data` is the list of the function's inputs; the answer is its first output."""
    settings = read_table(GradioTable, table, "[target]")
    data = list(settings.data)
    check_places(data, "data")
    base, wire = open_wire(settings, "gradio", timeout)
    called, prefixes = quote(settings.api_name.strip("/")), list(_PREFIXES)

    def begin(question: Question) -> object:
        body = {"data": [fill(item, question) for item in data]}
        for prefix in tuple(prefixes):
            try:
                reply = wire.json("POST", f"{base}{prefix}/{called}", body=body)
            except FailedExchange as failed:
                if failed.response.error_name != "HTTP 404" or prefix == prefixes[-1]:
                    raise
            else:
                prefixes[:] = [prefix]  # the one that this app has
                return reply
        return None

    def exchange(question: Question) -> object:
        """The function's outputs."""
        reply, hide = begin(question), wire.secrets.hide_in
        event = reply.get("event_id") if is_mapping(reply) else None
        if not event:
            detail = f"no event_id in its reply: {json.dumps(reply)[:150]}"
            raise FailedExchange(content_error("not a Gradio app", detail))
        with wire.stream("GET", f"{base}{prefixes[0]}/{called}/{quote(str(event))}") as stream:
            for name, text in events(stream.chunks):
                if name == "complete":
                    return hide(parse_reply_json(text))
                if name == "error":
                    raise FailedExchange(
                        content_error("the app reported an error", hide(_event_message(text)))
                    )
        raise FailedExchange(content_error("the app ended without an answer"))

    return HttpTarget(exchange, wire, read_fields(settings, {"answer": "$[0]"}))


def _event_message(text: str) -> str:
    """The message of an error event, which is JSON where the app shows its errors and null where it does not."""
    try:
        given = json.loads(text)
    except ValueError:
        given = text
    message = given.get("error") if is_mapping(given) else given
    return str(message)[:300] if message else "launch it with show_error=True to see which"


def events(chunks: Iterator[bytes]) -> Iterator[tuple[str, str]]:
    """(event, data) of a stream of server-sent events; what is not UTF-8 in it becomes `�`."""
    name, rest = "", b""
    data: list[str] = []
    for chunk in chunks:
        *lines, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        for line in (raw.decode("utf-8", "replace") for raw in lines):
            if not line and name:
                yield name, "\n".join(data)
                name, data = "", []
            elif line.startswith("event:"):
                name = line.removeprefix("event:").strip()
            elif line.startswith("data:"):
                data.append(line.removeprefix("data:").removeprefix(" "))
    if name:
        yield name, "\n".join(data)


_SECRET_HEADER = re.compile(r"authorization|api-?key|token|secret|cookie", re.IGNORECASE)
_ABOUT_THE_QUESTION = {400, 413, 414, 422}
_SNIPPET = 200
_HEADERS = {"Accept": "application/json, */*;q=0.5", "User-Agent": f"answerkey/{__version__}"}


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
        """The JSON value of a reply with status 2xx in UTF-8 (or its stated charset), without any key in it."""
        with self.stream(method, url, params, body) as reply:
            content = reply.read()
        charset = re.search(r"charset=\"?([\w.-]+)", reply.headers.get("content-type", ""))
        try:
            text = content.decode(charset[1] if charset else "utf-8").removeprefix("\ufeff")
        except (UnicodeDecodeError, LookupError) as error:
            raise FailedExchange(
                content_error("the reply is not valid UTF-8", str(error))
            ) from None
        return self.secrets.hide_in(parse_reply_json(self.secrets.hide(text)))

    @contextmanager
    def stream(
        self, method: str, url: str, params: Mapping[str, object] | None = None, body: object = None
    ) -> Generator[HttpStream]:
        """The reply as it comes; not followed to another address, which our headers are not meant for."""
        headers, content = dict[str, str](), None
        if isinstance(body, str):
            headers["Content-Type"], content = "text/plain; charset=utf-8", body.encode()
        elif body is not None:
            headers["Content-Type"], content = "application/json", json.dumps(body).encode()
        try:
            with self._client.stream(method, _address(url, params), content, headers) as reply:
                if reply.status // 100 != 2:
                    raise FailedExchange(self._refused(reply))
                yield reply
        except NoReply as error:
            match error:
                case TimedOutReply():
                    failure = infrastructure_error(
                        "timed out", f"no answer within {self._timeout:g} s"
                    )
                case TooLargeReply():
                    failure = content_error(
                        "the reply is too large", f"more than {MAX_SIZE // 1_000_000} MB"
                    )
                case NoConnection():
                    failure = infrastructure_error(
                        "connection failed", f"{self._shown}: {error}; is the target running?"
                    )
                case _:
                    failure = infrastructure_error("connection lost", f"{self._shown}: {error}")
            raise FailedExchange(failure) from None

    def _refused(self, reply: HttpStream) -> Response:
        name = f"HTTP {reply.status}"
        if where := reply.headers.get("location"):
            to = self.secrets.hide(where)
            return infrastructure_error(
                name, f"{self._shown} redirects to {to}; put that address in the suite"
            )
        body = self.secrets.hide(reply.read().decode("utf-8", "replace"))
        phrase = HTTPStatus(reply.status).phrase if reply.status in set(HTTPStatus) else ""
        detail = f"{phrase}: {' '.join(body[: 4 * _SNIPPET].split())[:_SNIPPET]}".strip(": ")
        return (content_error if reply.status in _ABOUT_THE_QUESTION else infrastructure_error)(
            name, detail
        )


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
        expected = "expected an address that begins with http:// or https://"
        raise SettingsError(f"[target] {key} = {toml_text(address)}: {expected}")
    if "@" in address.split("/")[2]:
        raise SettingsError(
            f"[target] {key} contains a password: send it as a header with a ${{VARIABLE}} instead"
        )
    secrets = Secrets()
    for name, value in settings.headers.items():
        if _SECRET_HEADER.search(name) and "${" not in value:
            fix = f'a key belongs in a variable: {name} = "… ${{MY_TOKEN}}"'
            raise SettingsError(f"[target] headers: {name} is written out; {fix}")
    headers = {name: with_variables(value, secrets) for name, value in settings.headers.items()}
    if settings.api_key_env:
        headers["Authorization"] = with_variables(f"Bearer ${{{settings.api_key_env}}}", secrets)
    url = with_variables(address, secrets)
    check_address(url, f"[target] {key}")
    wire = Wire(address, url, headers, secrets, timeout)
    return url.rstrip("/") if key != "url" else url, wire
