"""An OpenAI-compatible chat endpoint as a target: `openai = "http://127.0.0.1:8080/v1"` is enough."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from answerkey.config.declare import read_table
from answerkey.config.target_tables import OpenAiTable
from answerkey.targets.fields import read_fields
from answerkey.targets.http import HttpTarget, open_wire
from answerkey.targets.respond import infrastructure_error
from answerkey.targets.wire import Wire, WireError
from answerkey.types import Question, Response

_PATHS = {
    "answer": "$.choices[0].message.content",
    "prompt_tokens": "$.usage.prompt_tokens",
    "completion_tokens": "$.usage.completion_tokens",
    "error": "$.error.message",
}


def make(table: Mapping[str, Any], timeout: float) -> HttpTarget:
    """`body` holds whatever else goes with each request, such as `{temperature = 0, max_tokens = 300}`."""
    settings = read_table(OpenAiTable, table, "[target]")
    base, wire = open_wire(settings, "openai" if settings.openai else "chat", timeout)
    base = base.removesuffix("/chat/completions")
    fields, model = read_fields(settings, _PATHS), _Model(settings.model, base, wire)

    def exchange(question: Question) -> Response:
        body = {"model": model.name(), "messages": messages(question, settings.system), **settings.body}
        reply = wire.json("POST", f"{base}/chat/completions", body=body)
        return reply if isinstance(reply, Response) else fields.read(reply)

    return HttpTarget(exchange, wire)


def messages(question: Question, system: str = "", asked: str | None = None) -> list[dict[str, str]]:
    """The conversation so far and the question (or `asked` in its place), as chat endpoints take them."""
    listed = [{"role": "system", "content": system}] if system else []
    for turn in question.history:
        listed.append({"role": "user", "content": turn.user})
        if turn.answer:
            listed.append({"role": "assistant", "content": turn.answer})
    return [*listed, {"role": "user", "content": question.text if asked is None else asked}]


class _Model:
    """The model's name; where the suite gives none, the first that the endpoint lists, asked for once."""

    def __init__(self, name: str, base: str, wire: Wire) -> None:
        self._name, self._base, self._wire = name, base, wire
        self._lock = threading.Lock()

    def name(self) -> str:
        with self._lock:
            if not self._name:
                self._name = self._first()
        return self._name

    def _first(self) -> str:
        reply: Any = self._wire.json("GET", f"{self._base}/models")
        try:
            return str(reply["data"][0]["id"])
        except (KeyError, IndexError, TypeError):
            problem = infrastructure_error("no model", f"{self._base}/models lists none; put model = … in the suite")
            raise WireError(problem) from None
