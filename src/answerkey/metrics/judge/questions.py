"""What a judge is asked besides our prompts: criteria in words, and which of two answers is better; how replies are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from answerkey.coerce.values import is_list, is_mapping
from answerkey.llm.chat import Reply, Schema
from answerkey.llm.verdict import (
    NO_VERDICT,
    Read,
    parse_reply,
    plain_key,
    plain_keys,
    read_amount,
    reason_of,
)
from answerkey.metrics.judge.prompt import (
    Frame,
    JudgeQuestion,
    ShownPart,
    object_schema,
    read_prompt_file,
    shown_parts,
)
from answerkey.text import words
from answerkey.types import Case, Pair, Requirement, Response

MOST_TOGETHER = 20
NO_QUOTE = "no quote"
_RESULT_KEYS = (
    "met",
    "score",
    "pass",
    "passed",
    "satisfied",
    "fulfilled",
    "verdict",
    "result",
    "decision",
    "value",
    "answer",
    "points",
)
_QUOTE_KEYS = (
    "quote",
    "evidence",
    "citation_quality",
    "quotes",
    "excerpt",
)  # plain_key reads "citation" so
_NUMBER_KEYS = ("criterion", "id", "name", "n", "number", "index", "criterion_id")
_TAKEN = {
    *_RESULT_KEYS,
    *_QUOTE_KEYS,
    *_NUMBER_KEYS,
    "reason",
    "reasoning",
}  # mean something else in a reply
_YES = {
    "true",
    "yes",
    "y",
    "pass",
    "passed",
    "met",
    "satisfied",
    "fulfilled",
    "1",
    "1.0",
    "✓",
    "ok",
}
_NO = {
    "false",
    "no",
    "n",
    "fail",
    "failed",
    "not met",
    "unmet",
    "not satisfied",
    "not fulfilled",
    "0",
    "0.0",
    "✗",
    "not_met",
}
_NONE = {"", "no quote", "none", "n/a", "na", "null", "no quotes", "not applicable", "no quote."}
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


def criteria_question(
    requirements: tuple[Requirement, ...], pair: Pair, frame: Frame
) -> JudgeQuestion:
    """Some criteria about one answer, in one call. They are called c1, c2, … in the reply."""
    asked = _asked(requirements)
    first = asked.names[0]
    last = asked.names[-1]
    if first == last:
        each = first
    else:
        each = f"{first} to {last}"
    return JudgeQuestion(
        names=asked.names,
        schema=asked.schema,
        instructions=asked.instructions,
        frame=frame,
        closing="Now decide each criterion.",
        wanted=f'{each}, each with a short "reason", a "quote" copied from the answer or "no quote", and "met" or "score"',
        parts=lambda longest: shown_parts(read_prompt_file("criteria")[0]["shows"], pair, longest),
        read=lambda reply, marker: _read_criteria(
            reply, marker, requirements, pair[1].answer or ""
        ),
        scales={
            name: (0.0, each.highest) for name, each in zip(asked.names, requirements, strict=True)
        },
    )


def _read_criteria(
    reply: Reply, marker: str, requirements: Sequence[Requirement], answer: str
) -> Read:
    names = [f"c{n}" for n in range(1, len(requirements) + 1)]
    parsed = parse_reply(reply, marker, answer, r"\bc\d+\b|\bmet\b|\bscore\b|\bcriterion\b")
    if parsed.problem:
        return Read({}, dict.fromkeys(names, parsed.problem), reasoning=parsed.reasoning)
    given = _verdicts(parsed.objects, requirements)
    values: dict[str, float] = {}
    problems: dict[str, str] = {}
    reasons: dict[str, str] = {}
    quotes: dict[str, str] = {}
    for name, requirement in zip(names, requirements, strict=True):
        found = given.get(name)
        if is_mapping(found):
            found = plain_keys(found)
        else:
            found = found
        if found is not None:
            value = _value(found, requirement)
        else:
            value = f'no "{name}" in the reply'
        quote = _quote(found)
        if isinstance(value, float) and quote != NO_QUOTE and not stands_in(quote, answer):
            value = f"the quote of {name} is not in the answer: {quote[:80]!r}"
        if isinstance(value, str):
            problems[name] = value
            continue
        values[name] = value
        quotes[name] = quote
        reasons[name] = reason_of(found) if is_mapping(found) else ""
    return Read(values, problems, reasoning=parsed.reasoning, reasons=reasons, quotes=quotes)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is the same for all answers that are judged by the same criteria."""

    names: tuple[str, ...]
    schema: Schema
    instructions: str


@lru_cache(maxsize=64)
def _asked(requirements: tuple[Requirement, ...]) -> _Asked:
    named = {f"c{n}": each for n, each in enumerate(requirements, start=1)}
    lines = (
        f"- {name} ({'scale 0 to 5' if each.kind == '0-5' else 'met or not'}): {each.ask}"
        for name, each in named.items()
    )
    instructions = read_prompt_file("criteria")[1].replace("{criteria}", "\n".join(lines))
    return _Asked(tuple(named), _schema(tuple(each.kind for each in requirements)), instructions)


@lru_cache(maxsize=64)
def _schema(kinds: tuple[str, ...]) -> Schema:
    texts = {"reason": {"type": "string"}, "quote": {"type": "string"}}
    score = {"score": {"type": "integer", "enum": [0, 1, 2, 3, 4, 5]}}
    met = {"met": {"type": "boolean"}}
    results = [score if kind == "0-5" else met for kind in kinds]
    return object_schema(
        {f"c{n}": object_schema({**texts, **each}) for n, each in enumerate(results, start=1)}
    )


def in_groups(
    requirements: Sequence[Requirement], together: bool
) -> Iterator[tuple[Requirement, ...]]:
    """The requirements of one call each: all of them up to a limit, or one by one."""
    size = MOST_TOGETHER if together else 1
    for start in range(0, len(requirements), size):
        yield tuple(requirements[start : start + size])


def stands_in(quote: str, answer: str) -> bool:
    """Whether the words of a quote stand in the answer in this order; parts left out as `…` are skipped.

    >>> stands_in("“Arrives … Friday”", "Your parcel arrives on Friday.")
    True
    """
    text = f" {' '.join(words(answer))} "
    place = 0
    for part in re.split(r"\[?(?:\.\.\.|…)\]?", quote):
        wanted = " ".join(words(part))
        if not wanted:
            continue
        found = text.find(f" {wanted} ", place)
        if found < 0:
            return False
        place = found + len(wanted)
    return True


def _verdicts(
    objects: Sequence[Mapping[str, object]], requirements: Sequence[Requirement]
) -> dict[str, object]:
    """For each criterion what the last object that names any of them says; objects of one criterion each count together."""
    keys = _keys(requirements)
    for given in reversed(objects):
        if named := _named(given, keys):
            return named
    bare = [plain for given in objects if _is_result(plain := plain_keys(given))]
    if len(requirements) == 1 and bare:
        return {"c1": bare[-1]}
    by_number: dict[str, object] = {name: item for item in bare if (name := _numbered(item, keys))}
    if by_number:
        return by_number
    if len(bare) == len(requirements):
        return {f"c{n}": item for n, item in enumerate(bare, start=1)}
    return {}


def _keys(requirements: Sequence[Requirement]) -> dict[str, str]:
    """What a criterion may be called in a reply: c1, 1, criterion_1, its own name."""
    keys: dict[str, str] = {}
    numbered = list(enumerate(requirements, start=1))
    for n, _ in numbered:
        keys |= dict.fromkeys((f"c{n}", str(n), f"criterion_{n}", f"criterion{n}"), f"c{n}")
    for n, each in numbered:  # a name such as c2 must not take the place of the second criterion
        for key in (plain_key(each.name), plain_key(each.ask)):
            if key and key not in _TAKEN:
                keys.setdefault(key, f"c{n}")
    return keys


def _named(value: object, keys: Mapping[str, str], depth: int = 0) -> dict[str, object]:
    """The object that has criteria as its keys, or the list of verdicts in it."""
    if depth > 4:
        return {}
    if is_mapping(value):
        plain = plain_keys(value)
        found = {keys[key]: item for key, item in plain.items() if key in keys}
        if found:
            return found
        return next(
            (inner for item in plain.values() if (inner := _named(item, keys, depth + 1))),
            dict[str, object](),
        )
    if is_list(value):
        items = [plain_keys(item) for item in value if is_mapping(item)]
        numbered: dict[str, object] = {
            name: item for item in items if (name := _numbered(item, keys))
        }
        count = len(set(keys.values()))
        if not numbered and len(items) == count and all(map(_is_result, items)):
            return {f"c{n}": item for n, item in enumerate(items, start=1)}
        return numbered or next(
            (inner for item in items if (inner := _named(item, keys, depth + 1))),
            dict[str, object](),
        )
    return {}


def _is_result(plain: Mapping[str, object]) -> bool:
    return any(key in plain for key in _RESULT_KEYS)


def _numbered(plain: Mapping[str, object], keys: Mapping[str, str]) -> str | None:
    written = next((plain[key] for key in _NUMBER_KEYS if key in plain), None)
    if written is not None:
        return keys.get(plain_key(str(written)))
    return None


def _value(found: object, requirement: Requirement) -> float | str:
    if is_mapping(found):
        if requirement.kind == "0-5":
            first = ("score", "points", "value")
        else:
            first = ("met",)
        found = next((found[key] for key in (*first, *_RESULT_KEYS) if key in found), None)
    if requirement.kind == "0-5":
        return read_amount(found, (0.0, 5.0))
    text = str(found).strip().strip(".!*").lower()
    if text in _YES or text in _NO:
        return float(text in _YES)
    return f"{str(found)[:40]!r} is neither true nor false"


def _quote(found: object) -> str:
    if not is_mapping(found):
        return NO_QUOTE
    given = next((found[key] for key in _QUOTE_KEYS if found.get(key)), "")
    if is_list(given):
        given = " … ".join(str(part) for part in given)
    text = str(given).strip().strip("\"'“”‘’`").strip()
    return NO_QUOTE if text.lower() in _NONE else text


@dataclass(frozen=True, slots=True)
class Duel:
    """Two responses to the same case."""

    case: Case
    first: Response
    second: Response

    def swapped(self) -> Duel:
        return Duel(self.case, self.second, self.first)


def preference_question(duel: Duel, frame: Frame) -> JudgeQuestion:
    """Which of two answers is better. The value is 1 for the first, 0 for the second, 0.5 for a tie."""
    return JudgeQuestion(
        names=("better",),
        schema=object_schema(
            {"reason": {"type": "string"}, "better": {"type": "string", "enum": ["1", "2", "tie"]}}
        ),
        instructions=read_prompt_file("prefer")[1],
        frame=frame,
        closing="Now say which answer is better.",
        wanted='a short "reason" and "better" ("1", "2" or "tie")',
        parts=lambda longest: _both_answers(duel, longest),
        read=lambda reply, marker: _read_preference(reply, marker, duel),
    )


def _both_answers(duel: Duel, longest: int | None) -> list[ShownPart]:
    """Passages are shown only where both answers have the same: one answer must not be judged by the other's."""
    same = duel.first.contexts == duel.second.contexts
    if same:
        shows = _SHOWS
    else:
        shows = tuple(name for name in _SHOWS if name != "contexts")
    answers = [
        ShownPart("answer", f"ANSWER {n}", (response.answer or "").strip() or "(empty)")
        for n, response in enumerate((duel.first, duel.second), start=1)
    ]
    return [*shown_parts(shows, (duel.case, duel.first), longest), *answers]


def _read_preference(reply: Reply, marker: str, duel: Duel) -> Read:
    candidate = f"{duel.first.answer or ''}\n{duel.second.answer or ''}"
    parsed = parse_reply(
        reply, marker, candidate, "|".join(rf"\b{key}\b" for key in _CHOICE_KEYS[:6])
    )
    bare = parsed.problem == NO_VERDICT and _plain_choice(parsed.text) in _CHOICES
    picks: list[dict[str, object]]
    if bare:
        picks = [{"better": parsed.text}]
    else:
        picks = [_picked(item) for item in parsed.objects]
    given = next((pick for pick in reversed(picks) if pick), dict[str, object]())
    written = next((given[key] for key in _CHOICE_KEYS if key in given), None)
    if written is None:
        choice = None
    else:
        choice = _CHOICES.get(_plain_choice(str(written)))
    if choice is not None:
        return Read({"better": choice}, {}, reason_of(given), parsed.reasoning)
    if given:
        unread = f"{str(written)[:40]!r} is none of 1, 2 and tie"
    else:
        unread = 'no "better" in the reply'
    return Read({}, {"better": parsed.problem or unread}, reasoning=parsed.reasoning)


def _picked(value: object, depth: int = 0) -> dict[str, object]:
    """The object that holds a choice: this one, or one nested in it."""
    if not is_mapping(value) or depth > 3:
        return {}
    plain = plain_keys(value)
    if any(key in plain and not is_mapping(plain[key]) for key in _CHOICE_KEYS):
        return plain
    return next(
        (inner for item in plain.values() if (inner := _picked(item, depth + 1))),
        dict[str, object](),
    )


def _plain_choice(written: str) -> str:
    text = re.sub(r"[\W_]+", "_", written.strip().lower()).strip("_")
    return re.sub(
        r"^(?:the_)?(answer|response|option|candidate)_(?=[12ab]$)", "", text
    ).removeprefix("the_")
