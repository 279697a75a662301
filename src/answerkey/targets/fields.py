"""From a JSON reply to a response: by the suite's paths, or by the usual names where it gives none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from answerkey.config.target_tables import ReplyTable
from answerkey.targets.paths import JsonPath, json_path
from answerkey.targets.respond import as_response, content_error
from answerkey.types import Response

FIELDS = ("answer", "passages", "route", "sources", "retrieved", "prompt_tokens", "completion_tokens", "cost", "error")


@dataclass(frozen=True, slots=True)
class Fields:
    """With a path for the answer, only what has a path is read; without one, the usual names count as well."""

    paths: Mapping[str, JsonPath]

    def read(self, reply: Any) -> Response:
        found = {name: path.find(reply) for name, path in self.paths.items()}
        if "answer" not in self.paths:
            return as_response({**reply, **found} if found and isinstance(reply, Mapping) else reply)
        answer = found["answer"]
        if isinstance(answer, list):  # several pieces, or the parts of a chat message
            found["answer"] = "\n".join(_piece(item) for item in answer) or None
        if found["answer"] is None and not found.get("error"):
            path = self.paths["answer"].text
            return content_error("no answer in the reply", f'nothing at "{path}"; the reply is {_outline(reply)}')
        return as_response(found)


def read_fields(settings: ReplyTable, defaults: Mapping[str, str] | None = None) -> Fields:
    own = {name: path for name in FIELDS if (path := getattr(settings, name))}
    texts = {**(defaults or {}), **own}
    return Fields({name: json_path(text, name) for name, text in texts.items()})


def parse(text: str) -> Any:
    """The JSON value in a reply, or a `Response` that says why there is none."""
    start = text.lstrip()[:100].lower()
    if start.startswith(("<!doctype", "<html", "<head", "<body")):
        return content_error("an HTML page came instead of JSON", " ".join(text.split())[:150])
    if not start:
        return content_error("the reply is empty")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return content_error("the reply is not JSON", f'{error}: "{" ".join(text.split())[:150]}"')


def _piece(item: Any) -> str:
    return str(item.get("text", "")) if isinstance(item, Mapping) else str(item)


def _outline(reply: Any) -> str:
    if isinstance(reply, Mapping):
        return f"an object with {', '.join(str(key)[:40] for key in list(reply)[:12]) or 'nothing in it'}"
    return f"{type(reply).__name__}: {json.dumps(reply)[:100]}"
