"""Paths into a JSON value: `$.answer`, `$.choices[0].message.content`, `$.sources[*].text`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from answerkey.coerce.values import is_list, is_mapping
from answerkey.errors import SettingsError

EVERY = object()  # the step `*`
_STEP = re.compile(
    r"\.?\[\s*(?:(?P<index>-?\d+)|(?P<all>\*)|'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\")\s*\]"
    r"|\.?(?P<every>\*)|\.?(?P<name>[^.\[\]*'\"\s]+)"
)


@dataclass(frozen=True, slots=True)
class JsonPath:
    """`find` gives one value or None; with a `*` in the path, the list of all that are there."""

    text: str
    steps: tuple[object, ...]

    def find(self, value: object) -> object:
        # Null is the same as missing: bots write both for "none".
        values = [item for item in _walk(value, self.steps) if item is not None]
        if EVERY in self.steps:
            return values
        return values[0] if values else None


def json_path(text: str, key: str) -> JsonPath:
    """The path of setting `key`; the leading `$` may be left out."""
    rest = text.strip().removeprefix("$")
    steps: list[object] = []
    position = 0
    while position < len(rest):
        match = _STEP.match(rest, position)
        if match is None:
            examples = '"$.answer", "$.items[0].text" or "$.sources[*].text"'
            problem = f'not a path at "{rest[position:]}"; expected such as {examples}'
            raise SettingsError(f'[target] {key} = "{text}": {problem}')
        steps.append(_step_of(match))
        position = match.end()
    return JsonPath(text, tuple(steps))


def _step_of(match: re.Match[str]) -> object:
    if match["all"] or match["every"]:
        return EVERY
    if match["index"] is not None:
        return int(match["index"])
    names = (match["single"], match["double"], match["name"])
    return next(name for name in names if name is not None)


def _walk(value: object, steps: tuple[object, ...]) -> Iterator[object]:
    if not steps:
        yield value
        return
    step, *rest = steps
    for item in _children(value, step):
        yield from _walk(item, tuple(rest))


def _children(value: object, step: object) -> Iterable[object]:
    if is_list(value):
        if step is EVERY:
            return value
        if isinstance(step, int) and -len(value) <= step < len(value):
            return (value[step],)
    elif is_mapping(value):
        if step is EVERY:
            return value.values()
        if isinstance(step, str) and step in value:
            return (value[step],)
    return ()
