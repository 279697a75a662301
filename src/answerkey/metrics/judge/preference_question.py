"""Two answers to one question: what the judge is asked, and how its choice is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from answerkey.cache import digest
from answerkey.llm.chat import Message, Reply, Schema
from answerkey.llm.verdict import Read, parse_reply, plain_key, reason_of
from answerkey.metrics.judge.prompt import Frame, ShownPart, object_schema, read_prompt_file, shown_parts
from answerkey.types import Case, Response

_CHOICE_KEYS = ("better", "winner", "preferred", "preference", "choice", "best", "verdict", "answer", "result")
_CHOICES: Mapping[str, float] = {
    **dict.fromkeys(("1", "a", "first", "one", "answer_1", "answer_a", "answer1"), 1.0),
    **dict.fromkeys(("2", "b", "second", "two", "answer_2", "answer_b", "answer2"), 0.0),
    **dict.fromkeys(("tie", "0", "equal", "both", "neither", "draw", "same", "equally_good", "none", "c"), 0.5),
}
_SHOWS: tuple[str, ...] = ("history", "question", "expected", "contexts")


@dataclass(frozen=True, slots=True)
class Duel:
    """Two responses to the same case."""

    case: Case
    first: Response
    second: Response

    def swapped(self) -> Duel:
        return Duel(self.case, self.second, self.first)


@dataclass(frozen=True, slots=True)
class PreferenceQuestion:
    """Which of two answers is better. The value is 1 for the first, 0 for the second, 0.5 for a tie."""

    duel: Duel
    frame: Frame

    @property
    def names(self) -> tuple[str, ...]:
        return ("better",)

    @property
    def schema(self) -> Schema:
        return object_schema({"reason": {"type": "string"}, "better": {"type": "string", "enum": ["1", "2", "tie"]}})

    @property
    def instructions(self) -> str:
        return read_prompt_file("prefer")[1]

    @property
    def digest(self) -> str:
        return digest(self.instructions, self.frame.digest)

    def messages(self, marker: str, longest: int | None = None) -> list[Message]:
        """Passages are shown only where both answers have the same: one answer must not be judged by the other's."""
        duel = self.duel
        same = duel.first.contexts == duel.second.contexts
        shows = _SHOWS if same else tuple(name for name in _SHOWS if name != "contexts")
        answers = [
            ShownPart("answer", f"ANSWER {n}", (response.answer or "").strip() or "(empty)")
            for n, response in enumerate((duel.first, duel.second), start=1)
        ]
        parts = [*shown_parts(shows, (duel.case, duel.first), longest), *answers]
        return self.frame.messages(self.instructions, parts, marker, "Now say which answer is better.")

    def read(self, reply: Reply, marker: str) -> Read:
        candidate = f"{self.duel.first.answer or ''}\n{self.duel.second.answer or ''}"
        parsed = parse_reply(reply, marker, candidate, "|".join(rf"\b{key}\b" for key in _CHOICE_KEYS[:6]))
        problem, choice, given = parsed.problem, None, dict[str, Any]()
        if problem == "no verdict in the reply" and _plain_choice(parsed.text) in _CHOICES:
            return Read({"better": _CHOICES[_plain_choice(parsed.text)]}, {}, reasoning=parsed.reasoning)
        for given in reversed([_picked(item) for item in parsed.objects]):
            if given:
                break
        if not problem:
            written = next((given[key] for key in _CHOICE_KEYS if key in given), None)
            choice = _CHOICES.get(_plain_choice(str(written))) if written is not None else None
            if choice is None:
                problem = f"{str(written)[:40]!r} is none of 1, 2 and tie" if given else 'no "better" in the reply'
        if choice is None:
            return Read({}, {"better": problem}, reasoning=parsed.reasoning)
        return Read({"better": choice}, {}, reason_of(given), parsed.reasoning)

    def wanted(self) -> str:
        return 'a short "reason" and "better" ("1", "2" or "tie")'

    def share(self, name: str, value: float) -> float:
        return 0.5  # which answer comes first is no merit: no reason contradicts it


def _picked(value: Any, depth: int = 0) -> dict[str, Any]:
    """The object that holds a choice: this one, or one nested in it."""
    if not isinstance(value, Mapping) or depth > 3:
        return {}
    plain = {plain_key(str(key)): item for key, item in value.items()}
    if any(key in plain and not isinstance(plain[key], Mapping) for key in _CHOICE_KEYS):
        return plain
    return next((inner for item in plain.values() if (inner := _picked(item, depth + 1))), {})


def _plain_choice(written: str) -> str:
    text = re.sub(r"[\W_]+", "_", written.strip().lower()).strip("_")
    return re.sub(r"^(?:the_)?(answer|response|option|candidate)_(?=[12ab]$)", "", text).removeprefix("the_")
