"""What is sent to a target and what is read from its reply.

`{question}`, `{history}` and `{id}` are filled into a body, a query or a list, without ever reading braces as code. A reply is
read by the suite's paths, or by the usual names where it gives none. Paths are as in JSONPath: `$.answer`,
`$.choices[0].message.content`, `$.sources[*].text`, `$['a b'][-1]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from answerkey.coerce.values import is_list, is_mapping
from answerkey.config.target_tables import ReplyTable
from answerkey.errors import SettingsError, did_you_mean
from answerkey.targets.respond import FailedExchange, as_response, content_error
from answerkey.types import Question, Response

_PLACE = re.compile(r"\{(\w+)\}")
PLACES = ("question", "history", "id")


def history_turns(question: Question) -> list[dict[str, str]]:
    """The history as every target sees it: `[{"user": …, "answer": …}, …]`, oldest first."""
    return [{"user": turn.user, "answer": turn.answer} for turn in question.history]


def chat_messages(
    question: Question, system: str = "", asked: str | None = None
) -> list[dict[str, str]]:
    """The conversation so far and the question (or `asked` in its place), as chat endpoints take them."""
    listed = [{"role": "system", "content": system}] if system else []
    for turn in question.history:
        listed.append({"role": "user", "content": turn.user})
        if turn.answer:
            listed.append({"role": "assistant", "content": turn.answer})
    return [*listed, {"role": "user", "content": question.text if asked is None else asked}]


def fill(template: object, question: Question) -> object:
    """The template with its places filled. `"{history}"` alone is the list itself; inside other text, its words."""

    def filled(text: str) -> object:
        if text == "{history}":
            return history_turns(question)
        return _PLACE.sub(lambda match: _text(match, question), text)

    return each_text(template, filled)


def fill_address(url: str, question: Question) -> str:
    """The address with its places filled, each value quoted for an address."""
    return _PLACE.sub(lambda match: quote(_text(match, question), safe=""), url)


def each_text(template: object, change: Callable[[str], object]) -> object:
    """The template with every text in it changed, however deep."""
    if isinstance(template, str):
        return change(template)
    if is_mapping(template):
        return {key: each_text(value, change) for key, value in template.items()}
    if is_list(template):
        return [each_text(item, change) for item in template]
    return template


def check_places(template: object, key: str) -> None:
    """At least one placeholder for the question; a typo such as `{qustion}` is an error with a hint."""
    names: set[str] = set()
    each_text(template, lambda text: names.update(_PLACE.findall(text)))
    for name in names - set(PLACES):
        if hint := did_you_mean(name, PLACES):
            raise SettingsError(f'[target] {key}: nothing is known to fill "{{{name}}}" with{hint}')
    if "question" not in names:
        raise SettingsError(
            f'[target] {key}: no place for the question in it; put "{{question}}" somewhere'
        )


def _text(match: re.Match[str], question: Question) -> str:
    if match[1] == "history":
        return "\n".join(
            f"User: {turn.user}\nAssistant: {turn.answer}" for turn in question.history
        )
    return {"question": question.text, "id": question.id}.get(match[1], match[0])


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
)
_STEP = re.compile(
    r"\.?\[\s*(?:(?P<index>-?\d+)|(?P<all>\*)|'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\")\s*\]"
    r"|\.?(?P<every>\*)|\.?(?P<name>[^.\[\]*'\"\s]+)"
)
EVERY = object()


@dataclass(frozen=True, slots=True)
class Fields:
    """With a path for the answer, only what has a path is read; without one, the usual names count as well."""

    paths: Mapping[str, JsonPath]

    def read(self, reply: object) -> Response:
        found = {name: path.find(reply) for name, path in self.paths.items()}
        if "answer" not in self.paths:
            return as_response({**reply, **found} if found and is_mapping(reply) else reply)
        if is_list(pieces := found["answer"]):  # several pieces, or the parts of a chat message
            texts = [str(item.get("text", "") if is_mapping(item) else item) for item in pieces]
            found["answer"] = "\n".join(texts) or None
        if found["answer"] is None and not found.get("error"):
            path = self.paths["answer"].text
            return content_error(
                "no answer in the reply", f'nothing at "{path}"; the reply is {_outline(reply)}'
            )
        return as_response(found)


def read_fields(settings: ReplyTable, defaults: Mapping[str, str] | None = None) -> Fields:
    own = {name: path for name in FIELDS if (path := getattr(settings, name))}
    texts = {**(defaults or {}), **own}
    return Fields({name: json_path(text, name) for name, text in texts.items()})


def parse_reply_json(text: str) -> object:
    """The JSON value in a reply."""
    start, shown = text.lstrip()[:100].lower(), " ".join(text[:1000].split())[:150]
    if start.startswith(("<!doctype", "<html", "<head", "<body")):
        raise FailedExchange(content_error("an HTML page came instead of JSON", shown))
    if not start:
        raise FailedExchange(content_error("the reply is empty"))
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FailedExchange(
            content_error("the reply is not JSON", f'{error}: "{shown}"')
        ) from None


def _outline(reply: object) -> str:
    if is_mapping(reply):
        return f"an object with {', '.join(str(key)[:40] for key in list(reply)[:12]) or 'nothing in it'}"
    return f"{type(reply).__name__}: {json.dumps(reply)[:100]}"


@dataclass(frozen=True, slots=True)
class JsonPath:
    """`find` gives one value, or None where there is none; with a `*` in the path, the list of all that are there."""

    text: str
    steps: tuple[object, ...]

    def find(self, value: object) -> object:
        found = [item for item in _walk(value, self.steps) if item is not None]
        if EVERY in self.steps:
            return found
        return found[0] if found else None


def json_path(text: str, key: str) -> JsonPath:
    """The path of setting `key`; the leading `$` may be left out."""
    rest = text.strip().removeprefix("$")
    steps: list[object] = []
    position = 0
    while position < len(rest):
        match = _STEP.match(rest, position)
        if match is None:
            raise SettingsError(
                f'[target] {key} = "{text}": not a path at "{rest[position:]}"; expected such as "$.answer",'
                ' "$.items[0].text" or "$.sources[*].text"'
            )
        names = (
            name for name in (match["single"], match["double"], match["name"]) if name is not None
        )
        number = match["index"]
        steps.append(
            EVERY
            if match["all"] or match["every"]
            else next(names)
            if number is None
            else int(number)
        )
        position = match.end()
    return JsonPath(text, tuple(steps))


def _walk(value: object, steps: tuple[object, ...]) -> Iterator[object]:
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if step is EVERY:
        for item in value if is_list(value) else value.values() if is_mapping(value) else ():
            yield from _walk(item, rest)
    elif isinstance(step, int):
        if is_list(value) and -len(value) <= step < len(value):
            yield from _walk(value[step], rest)
    elif isinstance(step, str) and is_mapping(value) and step in value:
        yield from _walk(value[step], rest)
