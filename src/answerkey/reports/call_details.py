"""Tool calls and turns as the pages show them: as they happened, with texts cut and made inert."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from answerkey.text import printable, short_label
from answerkey.types import Case, Response, ToolCall

Lines = list[dict[str, object]]

_LONGEST = 600  # characters of arguments and results
_MOST_CALLS = 200


def describe_calls(calls: Iterable[ToolCall]) -> Lines:
    """Each call as one line: name, arguments, result or error, and how deep in sub-agents it is."""
    lines: Lines = []
    for depth, call in _walk(calls):
        if len(lines) == _MOST_CALLS:
            break
        lines.append(
            {
                "name": short_label(call.name, 80),
                "arguments": _show(call.arguments) if call.arguments else "",
                "result": "" if call.result is None else _show(call.result),
                "error": None if call.error is None else _clip(call.error),
                "seconds": call.seconds,
                "depth": depth,
            }
        )
    return lines


def _walk(calls: Iterable[ToolCall], depth: int = 0) -> Iterator[tuple[int, ToolCall]]:
    for call in calls:
        yield depth, call
        yield from _walk(call.calls, depth + 1)


def describe_turns(response: Response) -> Lines:
    """The turns of a conversation, each with its calls."""
    return [
        {"user": turn.user, "answer": turn.answer, "calls": describe_calls(turn.tools)}
        for turn in response.turns
    ]


def describe_expected_calls(case: Case) -> list[Lines]:
    """The right lists of calls; an empty list where no call is expected."""
    return [
        [
            {
                "name": short_label(call.name, 80),
                "arguments": "" if call.arguments is None else _show(call.arguments),
            }
            for call in plan.calls
        ]
        for plan in case.expected_tools or ()
    ]


def _show(value: object) -> str:
    if isinstance(value, str):
        return _clip(value)
    # Anyone's tool may return values that JSON can't hold.
    return _clip(json.dumps(value, ensure_ascii=False, default=str))


def _clip(text: str) -> str:
    # Cut first: a result may be a whole web page.
    shown = printable(text[:_LONGEST])
    if len(text) > _LONGEST:
        return f"{shown}…"
    return shown
