"""Any JSON endpoint as a target; `openai = …` and `gradio = …` are endpoints whose shape is known."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from answerkey.config.declare import read_table, shown
from answerkey.config.target_tables import EndpointTable, HttpTable
from answerkey.errors import SettingsError
from answerkey.secrets import Secrets
from answerkey.targets.fields import read_fields
from answerkey.targets.respond import content_error
from answerkey.targets.template import check_places, each_text, fill, fill_address
from answerkey.targets.wire import Wire, WireError
from answerkey.types import Question, Response

Exchange = Callable[[Question], Response]

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SECRET_HEADER = re.compile(r"authorization|api-?key|token|secret|cookie", re.IGNORECASE)


class HttpTarget:
    """Asks through one exchange of messages and times it; what goes wrong on the wire is that question's error."""

    def __init__(self, exchange: Exchange, wire: Wire) -> None:
        self._exchange, self._wire = exchange, wire

    def ask(self, question: Question) -> Response:
        self._wire.begin()
        start = perf_counter()
        try:
            response = self._exchange(question)
        except WireError as failed:
            response = failed.response
        except UnicodeError as error:
            response = content_error("the question cannot be sent", str(error))
        return replace(response, seconds=perf_counter() - start)

    def close(self) -> None:
        self._wire.close()


def make(table: Mapping[str, Any], folder: Path, timeout: float) -> HttpTarget:
    if "gradio" in table:
        from answerkey.targets import gradio

        return gradio.make(table, timeout)
    if "openai" in table or "chat" in table:
        from answerkey.targets import chat

        return chat.make(table, timeout)
    settings = read_table(HttpTable, table, "[target]")
    url, wire = open_wire(settings, "url", timeout)
    sent, fields = _read_sent(settings, wire.secrets), read_fields(settings)

    def exchange(question: Question) -> Response:
        reply = wire.json(sent.method, fill_address(url, question), **sent.content(question))
        return reply if isinstance(reply, Response) else fields.read(reply)

    return HttpTarget(exchange, wire)


@dataclass(frozen=True, slots=True)
class Sent:
    """What goes out with each question. With no body of the suite's own, a history is sent where there is one."""

    method: str
    params: Any
    body: Any
    usual: bool

    def content(self, question: Question) -> dict[str, Any]:
        content: dict[str, Any] = {"params": fill(self.params, question)} if self.params else {}
        if self.method == "GET":
            return content
        history = {"history": "{history}"} if self.usual and question.history else {}
        return {**content, "body": fill({**self.body, **history} if history else self.body, question)}


def _read_sent(settings: HttpTable, secrets: Secrets) -> Sent:
    params, body = settings.params, _body(settings.body)
    by_address = settings.body is None and (params or "{question}" in settings.url)
    method = settings.method or ("GET" if by_address else "POST")
    check_places([settings.url, params, *([body] if method != "GET" else [])], "url, params or body")
    params, body = (each_text(template, lambda text: with_variables(text, secrets)) for template in (params, body))
    return Sent(method, params, body, settings.body is None)


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


def _body(given: Any) -> Any:
    """The template: a table, a list, or text (JSON text is read as JSON, so that the question is quoted right)."""
    body = {"question": "{question}"} if given is None else given
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except ValueError:
        return body
