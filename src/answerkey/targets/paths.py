"""Paths into JSON, as in JSONPath: `$.answer`, `$.choices[0].message.content`, `$.sources[*].text`, `$['a b'][-1]`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from answerkey.errors import SettingsError

_STEP = re.compile(
    r"\.?\[\s*(?:(?P<index>-?\d+)|(?P<all>\*)|'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\")\s*\]"
    r"|\.?(?P<every>\*)|\.?(?P<name>[^.\[\]*'\"\s]+)"
)
EVERY = object()


@dataclass(frozen=True, slots=True)
class JsonPath:
    """`find` gives one value, or None where there is none; with a `*` in the path, the list of all that are there."""

    text: str
    steps: tuple[Any, ...]

    def find(self, value: Any) -> Any:
        found = [item for item in _walk(value, self.steps) if item is not None]
        if EVERY in self.steps:
            return found
        return found[0] if found else None


def json_path(text: str, key: str) -> JsonPath:
    """The path of setting `key`; the leading `$` may be left out."""
    rest = text.strip().removeprefix("$")
    steps: list[Any] = []
    position = 0
    while position < len(rest):
        match = _STEP.match(rest, position)
        if match is None:
            raise SettingsError(
                f'[target] {key} = "{text}": not a path at "{rest[position:]}"; expected such as "$.answer",'
                ' "$.items[0].text" or "$.sources[*].text"'
            )
        steps.append(_step(match))
        position = match.end()
    return JsonPath(text, tuple(steps))


def _step(match: re.Match[str]) -> Any:
    if match["all"] or match["every"]:
        return EVERY
    if match["index"] is not None:
        return int(match["index"])
    return next(name for name in (match["single"], match["double"], match["name"]) if name is not None)


def _walk(value: Any, steps: tuple[Any, ...]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    if step is EVERY:
        items = value if listed else value.values() if isinstance(value, Mapping) else ()
        for item in items:
            yield from _walk(item, rest)
    elif isinstance(step, int):
        if listed and -len(value) <= step < len(value):
            yield from _walk(value[step], rest)
    elif isinstance(value, Mapping) and step in value:
        yield from _walk(value[step], rest)
