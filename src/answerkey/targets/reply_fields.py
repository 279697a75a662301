"""The fields of a reply: read by the suite's paths, or by the usual names where it gives none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from answerkey.coerce.values import is_list, is_mapping
from answerkey.config.target_tables import ReplyTable
from answerkey.errors import SettingsError
from answerkey.targets.json_path import JsonPath, json_path
from answerkey.targets.respond import FailedExchange, as_response, content_error
from answerkey.types import Response

FIELDS = (
    "answer",
    "passages",
    "route",
    "sources",
    "retrieved",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "error",
    "tools",
)
_PATTERN_MARK = "re:"
_HTML_STARTS = ("<!doctype", "<html", "<head", "<body")


@dataclass(frozen=True, slots=True)
class FieldRule:
    """The place of a field: a path, and perhaps a pattern of the text there.

    `$[0] re:Route: (\\w+)` searches the text at `$[0]`; the value is the first group, or the match.
    """

    path: JsonPath
    pattern: re.Pattern[str] | None = None

    @property
    def text(self) -> str:
        if self.pattern is None:
            return self.path.text
        return f"{self.path.text} {_PATTERN_MARK}{self.pattern.pattern}"

    def find(self, reply: object) -> object:
        value = self.path.find(reply)
        if self.pattern is None or value is None:
            return value
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False)
        match = self.pattern.search(value)
        if match is None:
            return None
        return match[1] if match.re.groups else match[0]


@dataclass(frozen=True, slots=True)
class Fields:
    """With a path for the answer, only fields that have a path are read; without one, the usual
    names count as well."""

    paths: Mapping[str, FieldRule]

    def read(self, reply: object) -> Response:
        values = {name: path.find(reply) for name, path in self.paths.items()}
        if "answer" not in self.paths:
            # A path of the suite wins over the usual name of the field.
            if values and is_mapping(reply):
                return as_response({**reply, **values})
            return as_response(reply)
        answer = values["answer"]
        if is_list(answer):
            values["answer"] = _join_pieces(answer)
        if values["answer"] is None and not values.get("error"):
            path = self.paths["answer"].text
            detail = f'nothing at "{path}"; the reply is {_outline(reply)}'
            return content_error("no answer in the reply", detail)
        return as_response(values)


def _join_pieces(pieces: Sequence[object]) -> str | None:
    """The text of several pieces, or of the parts of a chat message."""
    texts = [str(piece.get("text", "") if is_mapping(piece) else piece) for piece in pieces]
    return "\n".join(texts) or None


def read_fields(settings: ReplyTable, defaults: Mapping[str, str] | None = None) -> Fields:
    texts = dict(defaults or {})
    for name in FIELDS:
        path = getattr(settings, name)
        if path:
            texts[name] = path
    default = (defaults or {}).get("answer", "$")
    return Fields({name: _read_rule(text, name, default) for name, text in texts.items()})


def _read_rule(text: str, name: str, default: str) -> FieldRule:
    """A path, a path with a pattern, or a pattern alone, which reads the text of the answer."""
    path, has_pattern, pattern = text.partition(_PATTERN_MARK)
    if not has_pattern:
        return FieldRule(json_path(text, name))
    try:
        # An answer may have several lines.
        compiled = re.compile(pattern.strip(), re.DOTALL)
    except re.error as error:
        problem = f"not a regular expression: {error}"
        raise SettingsError(f'[target] {name} = "{text}": {problem}') from None
    return FieldRule(json_path(path.strip() or default, name), compiled)


def parse_reply_json(text: str) -> object:
    """The JSON value in a reply."""
    start = text.lstrip()[:100].lower()
    snippet = " ".join(text[:1000].split())[:150]
    if start.startswith(_HTML_STARTS):
        raise FailedExchange(content_error("an HTML page came instead of JSON", snippet))
    if not start:
        raise FailedExchange(content_error("the reply is empty"))
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        detail = f'{error}: "{snippet}"'
        raise FailedExchange(content_error("the reply is not JSON", detail)) from None


def _outline(reply: object) -> str:
    if is_mapping(reply):
        keys = ", ".join(str(key)[:40] for key in list(reply)[:12])
        return f"an object with {keys or 'nothing in it'}"
    return f"{type(reply).__name__}: {json.dumps(reply)[:100]}"
