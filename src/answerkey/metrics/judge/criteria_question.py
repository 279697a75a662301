"""The question to a judge about criteria in words, and how its reply is read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from answerkey.coerce.values import is_list, is_mapping
from answerkey.llm.chat import Reply, Schema
from answerkey.llm.verdict import (
    Read,
    parse_reply,
    plain_key,
    plain_keys,
    read_amount,
    reason_of,
)
from answerkey.metrics.judge.prompt import (
    ONE_OBJECT,
    Frame,
    JudgeQuestion,
    object_schema,
    read_prompt_file,
    shown_parts,
)
from answerkey.text import words
from answerkey.types import Pair, Requirement

MOST_TOGETHER = 20
NO_QUOTE = "no quote"  # the prompt asks for these words where nothing can be quoted
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
# `plain_key` turns "citation" into "citation_quality".
_QUOTE_KEYS = ("quote", "evidence", "citation_quality", "quotes", "excerpt")
_NUMBER_KEYS = ("criterion", "id", "name", "n", "number", "index", "criterion_id")
# Names of criteria that mean something else in a reply.
_TAKEN = {*_RESULT_KEYS, *_QUOTE_KEYS, *_NUMBER_KEYS, "reason", "reasoning"}
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


def criteria_question(
    requirements: tuple[Requirement, ...], pair: Pair, frame: Frame
) -> JudgeQuestion:
    """Some criteria about one answer, in one call. They are called c1, c2, … in the reply."""
    shared = _shared_parts(requirements)
    first = shared.names[0]
    last = shared.names[-1]
    if first == last:
        each = first
    else:
        each = f"{first} to {last}"
    return JudgeQuestion(
        names=shared.names,
        schema=shared.schema,
        instructions=shared.instructions,
        frame=frame,
        closing="Now decide each criterion.",
        wanted=(
            f'{ONE_OBJECT}{each}, each with a short "reason", a "quote" copied from the answer or '
            '"no quote", and "met" or "score"'
        ),
        parts=lambda longest: shown_parts(read_prompt_file("criteria")[0]["shows"], pair, longest),
        read=lambda reply, marker: _read_criteria(
            reply, marker, requirements, pair[1].answer or ""
        ),
        scales={
            name: (0.0, each.highest) for name, each in zip(shared.names, requirements, strict=True)
        },
    )


def _read_criteria(
    reply: Reply, marker: str, requirements: Sequence[Requirement], answer: str
) -> Read:
    names = [f"c{n}" for n in range(1, len(requirements) + 1)]
    parsed = parse_reply(reply, marker, answer, r"\bc\d+\b|\bmet\b|\bscore\b|\bcriterion\b")
    if parsed.problem:
        return Read({}, dict.fromkeys(names, parsed.problem), reasoning=parsed.reasoning)
    verdicts = _verdicts(parsed.objects, requirements)
    values: dict[str, float] = {}
    problems: dict[str, str] = {}
    reasons: dict[str, str] = {}
    quotes: dict[str, str] = {}
    for name, requirement in zip(names, requirements, strict=True):
        verdict = verdicts.get(name)
        if is_mapping(verdict):
            verdict = plain_keys(verdict)
        if verdict is not None:
            value = _value(verdict, requirement)
        else:
            value = f'no "{name}" in the reply'
        quote = _quote(verdict)
        # A verdict with an invented quote is not used (specification, section 20).
        if isinstance(value, float) and quote != NO_QUOTE and not stands_in(quote, answer):
            value = f"the quote of {name} is not in the answer: {quote[:80]!r}"
        if isinstance(value, str):
            problems[name] = value
            continue
        values[name] = value
        quotes[name] = quote
        reasons[name] = reason_of(verdict) if is_mapping(verdict) else ""
    return Read(
        values,
        problems,
        reasoning=parsed.reasoning,
        reasons=reasons,
        quotes=quotes,
        absent=frozenset(name for name in names if verdicts.get(name) is None),
    )


@dataclass(frozen=True, slots=True)
class _SharedParts:
    """The parts of a question that all answers judged by the same criteria share."""

    names: tuple[str, ...]
    schema: Schema
    instructions: str


@lru_cache(maxsize=64)
def _shared_parts(requirements: tuple[Requirement, ...]) -> _SharedParts:
    named = {f"c{n}": each for n, each in enumerate(requirements, start=1)}
    lines = (
        f"- {name} ({'scale 0 to 5' if each.kind == '0-5' else 'met or not'}): {each.ask}"
        for name, each in named.items()
    )
    instructions = read_prompt_file("criteria")[1].replace("{criteria}", "\n".join(lines))
    return _SharedParts(
        tuple(named), _schema(tuple(each.kind for each in requirements)), instructions
    )


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
        part_words = " ".join(words(part))
        if not part_words:
            continue
        start = text.find(f" {part_words} ", place)
        if start < 0:
            return False
        # The next part must follow this one.
        place = start + len(part_words)
    return True


def _verdicts(
    objects: Sequence[Mapping[str, object]], requirements: Sequence[Requirement]
) -> dict[str, object]:
    """For each criterion what the last object that names any of them says; objects of one criterion each count together."""
    keys = _keys(requirements)
    # The last verdict counts: models write drafts first.
    for table in reversed(objects):
        if by_name := _find_named(table, keys):
            return by_name
    bare = [plain for table in objects if _is_result(plain := plain_keys(table))]
    if len(requirements) == 1 and bare:
        return {"c1": bare[-1]}
    by_number: dict[str, object] = {name: item for item in bare if (name := _number_of(item, keys))}
    if by_number:
        return by_number
    # As many verdicts as criteria, without names: their order is the only key.
    if len(bare) == len(requirements):
        return {f"c{n}": item for n, item in enumerate(bare, start=1)}
    return {}


def _keys(requirements: Sequence[Requirement]) -> dict[str, str]:
    """The names of a criterion in a reply: c1, 1, criterion_1, its own name."""
    keys: dict[str, str] = {}
    numbered = list(enumerate(requirements, start=1))
    for n, _ in numbered:
        keys |= dict.fromkeys((f"c{n}", str(n), f"criterion_{n}", f"criterion{n}"), f"c{n}")
    # After all the numbers: a criterion that is named c2 must not take the place of the second one.
    for n, each in numbered:
        for key in (plain_key(each.name), plain_key(each.ask)):
            if key and key not in _TAKEN:
                keys.setdefault(key, f"c{n}")
    return keys


def _find_named(value: object, keys: Mapping[str, str], depth: int = 0) -> dict[str, object]:
    """The object that has criteria as its keys, or the list of verdicts in it."""
    # Verdicts are nested once or twice; deeper objects are a hostile or broken reply.
    if depth > 4:
        return {}
    if is_mapping(value):
        plain = plain_keys(value)
        named = {keys[key]: item for key, item in plain.items() if key in keys}
        if named:
            return named
        return next(
            (inner for item in plain.values() if (inner := _find_named(item, keys, depth + 1))),
            dict[str, object](),
        )
    if is_list(value):
        items = [plain_keys(item) for item in value if is_mapping(item)]
        numbered: dict[str, object] = {
            name: item for item in items if (name := _number_of(item, keys))
        }
        count = len(set(keys.values()))
        if not numbered and len(items) == count and all(map(_is_result, items)):
            return {f"c{n}": item for n, item in enumerate(items, start=1)}
        return numbered or next(
            (inner for item in items if (inner := _find_named(item, keys, depth + 1))),
            dict[str, object](),
        )
    return {}


def _is_result(plain: Mapping[str, object]) -> bool:
    return any(key in plain for key in _RESULT_KEYS)


def _number_of(plain: Mapping[str, object], keys: Mapping[str, str]) -> str | None:
    written = next((plain[key] for key in _NUMBER_KEYS if key in plain), None)
    if written is not None:
        return keys.get(plain_key(str(written)))
    return None


def _value(verdict: object, requirement: Requirement) -> float | str:
    if is_mapping(verdict):
        if requirement.kind == "0-5":
            first = ("score", "points", "value")
        else:
            first = ("met",)
        # The usual key first, as a verdict may have several of them.
        verdict = next((verdict[key] for key in (*first, *_RESULT_KEYS) if key in verdict), None)
    if requirement.kind == "0-5":
        return read_amount(verdict, (0.0, 5.0))
    text = str(verdict).strip().strip(".!*").lower()
    if text in _YES or text in _NO:
        return float(text in _YES)
    return f"{str(verdict)[:40]!r} is neither true nor false"


def _quote(verdict: object) -> str:
    if not is_mapping(verdict):
        return NO_QUOTE
    quoted = next((verdict[key] for key in _QUOTE_KEYS if verdict.get(key)), "")
    if is_list(quoted):
        quoted = " … ".join(str(part) for part in quoted)
    text = str(quoted).strip().strip("\"'“”‘’`").strip()
    return NO_QUOTE if text.lower() in _NONE else text
