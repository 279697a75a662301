"""The question to a judge which of two answers is better, and how its reply is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from answerkey.coerce.values import is_mapping
from answerkey.llm.chat import Reply
from answerkey.llm.verdict import (
    NO_VERDICT,
    Read,
    parse_reply,
    plain_keys,
    reason_of,
)
from answerkey.metrics.judge.prompt import (
    ONE_OBJECT,
    Frame,
    JudgeQuestion,
    ShownPart,
    object_schema,
    read_prompt_file,
    shown_parts,
)
from answerkey.types import Case, Response

_CHOICE_KEYS = (
    "better",
    "winner",
    "preferred",
    "preference",
    "choice",
    "best",
    "verdict",
    "answer",
    "result",
)
_CHOICES: Mapping[str, float] = {
    **dict.fromkeys(("1", "a", "first", "one", "answer_1", "answer_a", "answer1"), 1.0),
    **dict.fromkeys(("2", "b", "second", "two", "answer_2", "answer_b", "answer2"), 0.0),
    **dict.fromkeys(
        ("tie", "0", "equal", "both", "neither", "draw", "same", "equally_good", "none", "c"), 0.5
    ),
}
_SHOWS: tuple[str, ...] = ("history", "question", "expected", "contexts")


@dataclass(frozen=True, slots=True)
class Duel:
    """Two responses to the same case."""

    case: Case
    first: Response
    second: Response

    def swap(self) -> Duel:
        return Duel(self.case, self.second, self.first)


def preference_question(duel: Duel, frame: Frame) -> JudgeQuestion:
    """The question which of two answers is better. The value is 1 for the first, 0 for the second, 0.5 for a tie."""
    return JudgeQuestion(
        names=("better",),
        schema=object_schema(
            {"reason": {"type": "string"}, "better": {"type": "string", "enum": ["1", "2", "tie"]}}
        ),
        instructions=read_prompt_file("prefer")[1],
        frame=frame,
        closing="Now say which answer is better.",
        wanted=f'{ONE_OBJECT}a short "reason" and "better" ("1", "2" or "tie")',
        parts=lambda longest: _both_answers(duel, longest),
        read=lambda reply, marker: _read_preference(reply, marker, duel),
    )


def _both_answers(duel: Duel, longest: int | None) -> list[ShownPart]:
    """Passages are shown only where both answers have the same: one answer must not be judged by the other's."""
    if duel.first.contexts == duel.second.contexts:
        shows = _SHOWS
    else:
        shows = tuple(name for name in _SHOWS if name != "contexts")
    answers = [
        ShownPart("answer", f"ANSWER {n}", (response.answer or "").strip() or "(empty)")
        for n, response in enumerate((duel.first, duel.second), start=1)
    ]
    return [*shown_parts(shows, (duel.case, duel.first), longest), *answers]


def _read_preference(reply: Reply, marker: str, duel: Duel) -> Read:
    # A verdict that one of the answers quotes must not be taken for the judge's.
    candidate = f"{duel.first.answer or ''}\n{duel.second.answer or ''}"
    names = "|".join(rf"\b{key}\b" for key in _CHOICE_KEYS[:6])
    parsed = parse_reply(reply, marker, candidate, names)
    picks = [_find_choice(item) for item in parsed.objects]
    # Small models reply with the bare choice instead of JSON.
    if parsed.problem == NO_VERDICT and _plain_choice(parsed.text) in _CHOICES:
        picks = [{"better": parsed.text}]
    # The last verdict counts (specification, section 4.4): drafts stand before it.
    fields = next((pick for pick in reversed(picks) if pick), dict[str, object]())
    written = next((fields[key] for key in _CHOICE_KEYS if key in fields), None)
    choice = None
    if written is not None:
        choice = _CHOICES.get(_plain_choice(str(written)))
    if choice is not None:
        return Read({"better": choice}, {}, reason_of(fields), parsed.reasoning)
    problem = 'no "better" in the reply'
    if fields:
        problem = f"{str(written)[:40]!r} is none of 1, 2 and tie"
    return Read({}, {"better": parsed.problem or problem}, reasoning=parsed.reasoning)


def _find_choice(value: object, depth: int = 0) -> dict[str, object]:
    """The object that holds a choice: this one, or one nested in it."""
    if not is_mapping(value) or depth > 3:
        return {}
    plain = plain_keys(value)
    if any(key in plain and not is_mapping(plain[key]) for key in _CHOICE_KEYS):
        return plain
    return next(
        (inner for item in plain.values() if (inner := _find_choice(item, depth + 1))),
        dict[str, object](),
    )


def _plain_choice(written: str) -> str:
    text = re.sub(r"[\W_]+", "_", written.strip().lower()).strip("_")
    return re.sub(
        r"^(?:the_)?(answer|response|option|candidate)_(?=[12ab]$)", "", text
    ).removeprefix("the_")
