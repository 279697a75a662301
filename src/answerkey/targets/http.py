"""Any JSON endpoint as a target; `openai = …` and `gradio = …` are endpoints whose shape is known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from answerkey.errors import SettingsError
from answerkey.targets.fields import FIELDS, parse, read_fields
from answerkey.targets.live import KEYS, Manners
from answerkey.targets.respond import content_error
from answerkey.targets.settings import Table, check_keys, need, take, with_variables
from answerkey.targets.template import check_places, each_text, fill, fill_address
from answerkey.targets.wire import Wire, WireError
from answerkey.types import Question, Response

Exchange = Callable[[Question], Response]

_KEYS = ("url", "method", "headers", "body", "params", "openai", "chat", "gradio", "api_key_env")
_METHODS = ("GET", "POST", "PUT", "PATCH")
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


def make(table: Table, folder: Path, manners: Manners) -> HttpTarget:
    if "gradio" in table:
        from answerkey.targets import gradio

        return gradio.make(table, manners)
    if "openai" in table or "chat" in table:
        from answerkey.targets import chat

        return chat.make(table, manners)
    check_keys(table, (*KEYS, *FIELDS, *_KEYS))
    url, wire = open_wire(table, "url", manners)
    sent, fields = _read_sent(table, wire), read_fields(table)

    def exchange(question: Question) -> Response:
        reply = parse(wire.text(sent.method, fill_address(url, question), **sent.content(question)))
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


def _read_sent(table: Table, wire: Wire) -> Sent:
    params, body = take(table, "params", dict, {}), _body(table)
    by_address = "body" not in table and (params or "{question}" in table["url"])
    method = take(table, "method", str, "GET" if by_address else "POST").upper()
    if method not in _METHODS:
        raise SettingsError(f'[target] method = "{method}": expected one of {", ".join(_METHODS)}')
    check_places([table["url"], params, *([body] if method != "GET" else [])], "url, params or body")
    params, body = (each_text(template, wire.with_variables) for template in (params, body))
    return Sent(method, params, body, "body" not in table)


def open_wire(table: Table, key: str, manners: Manners) -> tuple[str, Wire]:
    """The address with its variables filled in, and the wire to it."""
    shown = need(table, key, '"http://127.0.0.1:8000"')
    if not re.match(r"https?://[^/\s]", shown):
        raise SettingsError(
            f'[target] {key} = "{shown}": expected an address that begins with http:// or https://'
        )
    if "@" in shown.split("/")[2]:
        raise SettingsError(
            f"[target] {key} has a password in it: send it as a header with a ${{VARIABLE}} instead"
        )
    secrets: set[str] = set()
    headers = {
        name: _header(name, value, secrets) for name, value in take(table, "headers", dict, {}).items()
    }
    if "api_key_env" in table:
        variable = need(table, "api_key_env", '"MY_KEY"')
        headers["Authorization"] = with_variables(f"Bearer ${{{variable}}}", secrets)
    url = with_variables(shown, secrets)
    return url.rstrip("/") if key != "url" else url, Wire(shown, headers, secrets, manners.timeout)


def _header(name: str, value: Any, secrets: set[str]) -> str:
    if not isinstance(value, str):
        raise SettingsError(f"[target] headers: {name} = {value!r}: expected text")
    if _SECRET_HEADER.search(name) and "${" not in value:
        raise SettingsError(
            f'[target] headers: {name} is written out; a key belongs in a variable: {name} = "… ${{MY_TOKEN}}"'
        )
    return with_variables(value, secrets)


def _body(table: Table) -> Any:
    """The template: a table, a list, or text (JSON text is read as JSON, so that the question is quoted right)."""
    body = table.get("body", {"question": "{question}"})
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except ValueError:
        return body
