"""The judge's prompts: Markdown files with the scale in front, filled with one pair between random markers."""

from __future__ import annotations

import secrets
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from answerkey.cache import digest
from answerkey.llm.chat import Message, Schema
from answerkey.types import Case, Pair, Response


@dataclass(frozen=True, slots=True)
class Prompt:
    """The instructions, and for each criterion the steps of its scale, lowest first.

    `empty` is the score of an empty answer, set without a call; None for "not applicable".
    """

    name: str
    instructions: str
    steps: Mapping[str, tuple[float, ...]]
    shows: tuple[str, ...]
    empty: float | None
    schema: Schema
    digest: str

    @property
    def scales(self) -> dict[str, tuple[float, float]]:
        return {name: (steps[0], steps[-1]) for name, steps in self.steps.items()}

    def messages(self, pair: Pair, marker: str) -> list[Message]:
        """The same first message for every pair, which endpoints can cache; then the pair's own texts, fenced."""
        parts = [f"{marker} {title}\n{text}\n" for title, text in _parts(self.shows, pair) if text]
        last = f"The marker is {marker}.\n\n{''.join(parts)}{marker} END\nNow judge the ANSWER."
        return [{"role": "system", "content": self.instructions}, {"role": "user", "content": last}]


def new_marker() -> str:
    return secrets.token_hex(6)


@cache
def load_prompt(name: str) -> Prompt:
    head, text = _read(name)
    frame = _read("frame")[1]
    instructions = frame.replace("{instructions}", text)
    steps = {name: tuple(values) for name, values in head["scale"].items()}
    return Prompt(
        name=name,
        instructions=instructions,
        steps=steps,
        shows=tuple(head["shows"]),
        empty=head.get("empty"),
        schema=_schema(steps),
        digest=digest(head, instructions),
    )


def _schema(steps: Mapping[str, tuple[float, ...]]) -> Schema:
    """Reason first, so that the score follows from it; steps as an enum, which every endpoint can enforce."""
    kinds = {name: "integer" if isinstance(values[0], int) else "number" for name, values in steps.items()}
    scores = {name: {"type": kinds[name], "enum": list(values)} for name, values in steps.items()}
    properties = {"reasoning" if len(scores) > 1 else "reason": {"type": "string"}, **scores}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _read(name: str) -> tuple[dict[str, Any], str]:
    written = files("answerkey.metrics.judge").joinpath("prompts", f"{name}.md").read_text("utf-8")
    _, head, text = written.split("+++\n", 2)
    return tomllib.loads(head), text.strip()


def _parts(shows: tuple[str, ...], pair: Pair) -> list[tuple[str, str]]:
    return [(title, text(*pair)) for name, (title, text) in _SHOWN.items() if name in shows]


def _history(case: Case, response: Response) -> str:
    return "\n".join(f"User: {turn.user}\nBot: {turn.answer}" for turn in case.history)


def _expected(case: Case, response: Response) -> str:
    if len(case.expected) < 2:
        return "".join(case.expected)
    return "Any one of these is right:\n" + "\n".join(f"- {text}" for text in case.expected)


def _contexts(case: Case, response: Response) -> str:
    return "\n\n".join(f"[{n}] {text}" for n, text in enumerate(response.contexts, 1))


_SHOWN: Mapping[str, tuple[str, Callable[[Case, Response], str]]] = {
    "history": ("EARLIER TURNS", _history),
    "question": ("QUESTION", lambda case, response: case.question),
    "expected": ("EXPECTED ANSWER", _expected),
    "contexts": ("PASSAGES", _contexts),
    "sources": ("SOURCES THE BOT NAMED", lambda case, response: "\n".join(response.sources)),
    "answer": ("ANSWER", lambda case, response: response.answer or ""),
}
