"""Any JSON endpoint as a target; the shapes of `openai = …` and `gradio = …` are known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Protocol

from answerkey.coerce.values import table_of
from answerkey.config.declare import read_table
from answerkey.config.target_tables import GradioTable, HttpTable, OpenAiTable
from answerkey.secrets import with_variables
from answerkey.targets.chat_endpoint import CHAT_PATHS, ChatExchange
from answerkey.targets.gradio import FIRST_OUTPUT, GradioExchange
from answerkey.targets.reply_fields import Fields, read_fields
from answerkey.targets.respond import FailedExchange, content_error
from answerkey.targets.templates import check_places, each_text, fill, fill_address
from answerkey.targets.wire import Wire, open_wire
from answerkey.types import Question, Response


class Exchange(Protocol):
    """One exchange of messages, which gives the JSON value of the reply."""

    def __call__(self, question: Question) -> object: ...


class HttpTarget:
    """Asks through an exchange, reads the fields of its reply, and times it."""

    def __init__(self, exchange: Exchange, wire: Wire, fields: Fields) -> None:
        self._exchange = exchange
        self._wire = wire
        self._fields = fields

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
        gradio = read_table(GradioTable, table, "[target]")
        base, wire = open_wire(gradio, "gradio", timeout)
        fields = read_fields(gradio, {"answer": FIRST_OUTPUT})
        return HttpTarget(GradioExchange(gradio, base, wire), wire, fields)
    if "openai" in table or "chat" in table:
        endpoint = read_table(OpenAiTable, table, "[target]")
        base, wire = open_wire(endpoint, "openai" if endpoint.openai else "chat", timeout)
        fields = read_fields(endpoint, CHAT_PATHS)
        return HttpTarget(ChatExchange(endpoint, base, wire), wire, fields)
    settings = read_table(HttpTable, table, "[target]")
    url, wire = open_wire(settings, "url", timeout)
    return HttpTarget(JsonExchange(settings, url, wire), wire, read_fields(settings))


class JsonExchange:
    """A request that the suite describes: address, method, parameters and body."""

    def __init__(self, settings: HttpTable, url: str, wire: Wire) -> None:
        self._url = url
        self._wire = wire
        self._has_own_body = settings.body is not None
        has_place = "{question}" in settings.url or bool(settings.params)
        # A question in the address needs no body.
        if has_place and not self._has_own_body:
            default_method = "GET"
        else:
            default_method = "POST"
        self._method = settings.method or default_method
        body = _read_body(settings.body)
        sent: list[object] = [settings.url, settings.params]
        if self._method != "GET":
            sent.append(body)
        check_places(sent, "url, params or body")
        self._params = each_text(settings.params, self._fill_variables)
        self._body = each_text(body, self._fill_variables)

    def _fill_variables(self, text: str) -> str:
        return with_variables(text, self._wire.secrets)

    def __call__(self, question: Question) -> object:
        address = fill_address(self._url, question)
        query = table_of(fill(self._params, question))
        if self._method == "GET":
            return self._wire.json(self._method, address, query)
        body = self._body
        # A body of the suite has a place for the history if the bot takes one.
        if question.history and not self._has_own_body:
            body = {**table_of(body), "history": "{history}"}
        return self._wire.json(self._method, address, query, fill(body, question))


def _read_body(body: object) -> object:
    """A body that is JSON text is read as JSON, so that the question is quoted right."""
    if body is None:
        return {"question": "{question}"}
    if isinstance(body, str):
        with suppress(ValueError):
            return json.loads(body)
    return body
