"""Reads a judge's reply: numbers on their scales, or the reason why there are none.

The last verdict of a reply counts: a candidate's answer may hold a fake one, and a judge may repeat it. A
reasoning block, and any repeat of the fenced candidate text, is no part of the reply. A reason that contradicts its
score, or repeats the prompt, is flagged.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from answerkey.coerce.values import is_list, is_mapping
from answerkey.llm.chat import Reply
from answerkey.llm.loose_json import PlacedObject, find_objects
from answerkey.text import normalise, words

Scale = tuple[float, float]
NO_VERDICT = "no verdict in the reply"

_THINK = re.compile(r"<(think|thinking|reasoning|thought)>", re.IGNORECASE)
_THINK_END = re.compile(r"</(?:think|thinking|reasoning|thought)>", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(?:i(?:'|’)?m sorry|i apologi[sz]e|i can(?:no|'|’)?t\b|i(?: a|'|’)m (?:un|not )able|as an ai|i (?:must|have to) decline"
    r"|i won(?:'|’)?t)",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"(?P<top>[-−+]?\d+(?:[.,]\d+)?)\s*(?:(?P<percent>%)|(?:/|out\s+of)\s*(?P<bottom>\d+(?:[.,]\d+)?))?"
)
CONTRADICTS = "the reason contradicts the score"
REPEATS = "the reason repeats the prompt"
# Shares of the scale below and above which praise or blame contradicts the score.
_LOW = 0.2
_HIGH = 0.8
_NEGATION = r"(?:\bno\b|\bnot\b|\bnever\b|\bnothing\b|\bnone\b|\bwithout\b|n't\b|\bneither\b|\bnor\b|\bhardly\b)"
_PRAISE = re.compile(
    r"\b(?:(?:fully|entirely|completely|perfectly|factually|all|is|are) (?:correct|right|accurate|supported|met)"
    r"|(?:fully|completely|directly|perfectly) answers|perfect|flawless|excellent|matches the expected)\b"
)
_BLAME = re.compile(
    r"\b(?:(?:is|are|completely|entirely|factually|plainly) (?:wrong|incorrect|false|unsupported|off topic|irrelevant)"
    r"|contradicts|(?:fails|failed) to|does not (?:answer|address|meet|match)|doesn't (?:answer|address|meet|match)"
    r"|not (?:met|supported|correct|answered)|made up|hallucinat\w+)\b"
)
_EMPTY_REASON = re.compile(
    r"[\W_]*(?:reason(?:ing)?|string|your reason(?:ing)? here|short reason|text|n/?a|none)?[\W_]*"
)
_BLANKS_AND_QUOTES = re.compile(r"[\s'\"`´‘’‚‛“”„‟«»\\]+")
_SHORTEST_COPY = 8  # words in a row; shorter reasons share words with any instructions by chance
_REASONS = (
    "reason",
    "reasoning",
    "explanation",
    "rationale",
    "justification",
    "comment",
    "feedback",
)


@dataclass(frozen=True, slots=True)
class Read:
    """The content of a reply: a value or a problem for each criterion, the reason, and the reasoning.

    `reasons` and `quotes` are those of single criteria, where the reply gives them; `absent` are the criteria that the
    reply does not name; `probabilities` are those of "yes" for questions of yes or no.
    """

    values: Mapping[str, float]
    problems: Mapping[str, str]
    reason: str = ""
    reasoning: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    quotes: Mapping[str, str] = field(default_factory=dict[str, str])
    absent: frozenset[str] = frozenset()
    probabilities: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """The objects of a reply that are not repeats of the candidate's text; `problem` says why none can be used."""

    objects: tuple[Mapping[str, object], ...]
    text: str
    reasoning: str
    problem: str = ""


def parse_reply(reply: Reply, marker: str, candidate: str, names: str) -> ParsedReply:
    """Every object of a reply in order.

    `names` is a pattern of the keys that a verdict has: a reply that is cut inside such an object can't be used.
    """
    thought, text = split_reasoning(_without_fenced(_unwrap_string(reply.text), marker))
    reasoning = "\n".join(part for part in (reply.reasoning, thought) if part)
    if reply.refusal:
        return ParsedReply((), text, reasoning, f"the judge refused: {reply.refusal[:200]}")
    objects, cut = find_objects(text)
    own = [item for item in objects if not _is_copied(text, item, candidate)]
    is_cut_in_verdict = cut is not None and bool(re.search(names, text[cut:]))
    problem = ""
    if is_cut_in_verdict or not own:
        problem = _describe_unusable(reply, text, is_cut_in_verdict=is_cut_in_verdict)
    if reply.truncated and (problem or text[own[-1].end :].strip(" \n\t`]")):
        problem = "the reply was cut off at the token limit: raise max_tokens"
    values = () if problem else tuple(item.value for item in own)
    return ParsedReply(values, text, reasoning, problem)


def _describe_unusable(reply: Reply, text: str, *, is_cut_in_verdict: bool) -> str:
    """Why a reply without a complete verdict has none; `text` is the reply without its reasoning."""
    if not text.strip():
        if reply.text.strip():
            return "the reply ended inside its reasoning"
        return "the reply is empty"
    if is_cut_in_verdict:
        return "the reply is cut off inside its verdict"
    if _REFUSAL.search(text[:500]):
        return "the judge refused"
    return NO_VERDICT


def plain_keys(table: Mapping[str, object]) -> dict[str, object]:
    """The object with its keys as `plain_key` writes them."""
    return {_plain_key(str(key)[:300]): value for key, value in table.items()}


def reason_of(plain: Mapping[str, object]) -> str:
    """The reason given in an object with plain keys, under any of its usual names."""
    return next((str(plain[key]).strip() for key in _REASONS if plain.get(key)), "")


def read_verdict(
    reply: Reply, scales: Mapping[str, Scale], marker: str = "", candidate: str = ""
) -> Read:
    """Every criterion of `scales`, read from the last object of the reply that holds any of them.

    `marker` is what fenced the candidate's text in the prompt; an object that stands in `candidate` too,
    whatever its blanks and quotes, is a repeat of it, unless it is the whole reply.
    """
    names = tuple(scales)
    parsed = parse_reply(reply, marker, candidate, "|".join(rf"\b{name}\b" for name in names))
    picks = [pick for item in parsed.objects if (pick := _pick(item, names))]
    fields = picks[-1] if picks else {}
    problem = parsed.problem or f'no "{names[0]}" in the reply'
    if parsed.problem == NO_VERDICT and len(names) == 1 and (bare := _bare(parsed.text)):
        fields = {names[0]: bare}
    if not fields:
        return Read({}, dict.fromkeys(scales, problem), reasoning=parsed.reasoning)
    values: dict[str, float] = {}
    problems: dict[str, str] = {}
    for name, scale in scales.items():
        if name in fields:
            value = read_amount(fields[name], scale)
        else:
            value = f'no "{name}" in the reply'
        if isinstance(value, str):
            problems[name] = value
        else:
            values[name] = value
    return Read(values, problems, _reason(fields), parsed.reasoning)


def split_reasoning(text: str) -> tuple[str, str]:
    """The reasoning block at the head of a reply, and the rest. One that never ends takes all of it."""
    body = text.lstrip()
    # Some servers drop the opening tag, which their template has put into the prompt.
    opened = _THINK.match(body)
    if opened is None and body.startswith(("{", "```", "[")):
        return "", text
    closed = _THINK_END.search(body)
    if closed:
        return body[opened.end() if opened else 0 : closed.start()].strip(), body[closed.end() :]
    if opened:
        return (body[opened.end() :].strip(), "")
    return ("", text)


def _unwrap_string(text: str) -> str:
    """A reply that is itself a JSON string is the text in it."""
    if text.startswith('"{') and text.rstrip().endswith('}"'):
        with suppress(ValueError):
            return str(json.loads(text, strict=False))
    return text


def _without_fenced(text: str, marker: str) -> str:
    """The reply without what it repeats of the parts that the marker sets off."""
    if not marker or marker not in text:
        return text
    return re.sub(rf"{marker} (?!END).*?(?={marker})", "", text, flags=re.DOTALL)


def _is_copied(text: str, item: PlacedObject, candidate: str) -> bool:
    """Whether an object stands in the candidate's text too, whatever its blanks and quotes."""
    if len(text.strip()) <= item.end - item.start:
        return False  # the object is the whole reply
    return _condense(text[item.start : item.end]) in _condense(candidate)


@lru_cache(maxsize=8)  # the candidate is looked at once per object of a reply
def _condense(text: str) -> str:
    """The text without blanks, quotes and case, which a judge changes when it repeats an object."""
    return _BLANKS_AND_QUOTES.sub("", text).casefold()


def _pick(value: object, names: Sequence[str], depth: int = 0) -> dict[str, object] | None:
    """The object that holds a criterion: this one, or the one nested in it; None when two nested ones differ."""
    if is_mapping(value):
        plain = plain_keys(value)
        if any(name in plain for name in names):
            return plain
        inner = list(value.values())
    else:
        inner = list(value) if is_list(value) else []
    if depth >= 4:
        return None
    picks = [pick for item in inner if (pick := _pick(item, names, depth + 1))]
    # Two verdicts that differ: neither is taken, and the judge is asked again.
    if not picks or any(pick != picks[0] for pick in picks):
        return None
    if is_mapping(value):
        outer = plain_keys(value)
    else:
        outer = {}
    return {key: outer[key] for key in _REASONS if key in outer} | picks[0]


def plain_key(key: str) -> str:
    """`Rubric.Citation Quality` and `citation-quality` are `citation_quality`; a rating is a score."""
    return _plain_key(key[:300])


@lru_cache(maxsize=1024)
def _plain_key(key: str) -> str:
    plain = re.sub(r"[\W_]+", "_", key.strip().lower().removeprefix("rubric.")).strip("_")
    return {"rating": "score", "citations": "citation_quality", "citation": "citation_quality"}.get(
        plain, plain
    )


def _bare(text: str) -> str:
    """A reply that is only a number."""
    inner = text.strip(" \n\t*`\"'.")
    return inner if _AMOUNT.fullmatch(inner) else ""


def read_amount(value: object, scale: Scale) -> float | str:
    """A number on the scale, or what is wrong with it. Shares (`4/5`, `80%`) are shares of the scale's top."""
    if is_mapping(value):
        scores = [value[key] for key in value if plain_key(str(key)) in _SCORE_KEYS]
        if len(scores) == 1:
            return read_amount(scores[0], scale)
        return "no score in the object given for it"
    if is_list(value):
        if len(value) == 1:
            return read_amount(value[0], scale)
        return f"a list of {len(value)} where one number is due"
    if value is None:
        return "null where a number is due"
    if isinstance(value, bool):
        return f"{str(value).lower()} where a number is due"
    if isinstance(value, str):
        amount = _from_text(value, scale)
        if isinstance(amount, str):
            return amount
        return _check_amount(amount, scale)
    if isinstance(value, (int, float)):
        return _check_amount(value, scale)
    return f"{type(value).__name__} where a number is due"


_SCORE_KEYS = frozenset({"score", "value", "points"})


def _check_amount(amount: float, scale: Scale) -> float | str:
    low, high = scale
    # An int may be too large for a float, so only floats are tested for NaN and infinity.
    if not isinstance(amount, int) and not math.isfinite(amount):
        return f"{amount} is not a number on the scale {low:g} to {high:g}"
    if not low <= amount <= high:
        return f"{str(amount)[:20]} is outside the scale {low:g} to {high:g}"
    return float(amount)


def _from_text(written: str, scale: Scale) -> float | str:
    amounts = list(_AMOUNT.finditer(written))
    if len(amounts) != 1 or len(written) > 200:
        return f"{written[:40]!r} is not one number"
    match = amounts[0]
    top = float(match["top"].replace(",", ".").replace("−", "-"))
    if match["percent"]:
        return top / 100 * scale[1]
    if match["bottom"]:
        bottom = float(match["bottom"].replace(",", "."))
        if bottom <= 0 or top > bottom:
            return f"{written[:40]!r} is not a share"
        if bottom == scale[1]:
            return top
        return top / bottom * scale[1]
    return top


def _reason(fields: Mapping[str, object]) -> str:
    """The reason for the whole, or the reasons for each criterion."""
    whole = reason_of(fields)
    each = (
        f"{name}: {_reason(part)}"
        for name, part in fields.items()
        if is_mapping(part) and _reason(part)
    )
    return whole or "; ".join(each)


def flags_of(reason: str, share: float, instructions: str = "") -> list[str]:
    """Problems of a reason; `share` is the score as a share of its scale.

    >>> flags_of("The answer contradicts the passages.", 1.0)
    ['the reason contradicts the score']
    """
    flags: list[str] = []
    text = normalise(reason)
    if share <= _LOW and _says(_PRAISE, text) and not _says(_BLAME, text):
        flags.append(CONTRADICTS)
    if share >= _HIGH and _says(_BLAME, text) and not _says(_PRAISE, text):
        flags.append(CONTRADICTS)
    if reason.strip() and _repeats(text, instructions):
        flags.append(REPEATS)
    return flags


def _says(pattern: re.Pattern[str], text: str) -> bool:
    """Whether it is stated without a negation shortly before it, or a restriction (`but`, `only`) anywhere."""
    for match in pattern.finditer(text):
        before = text[max(0, match.start() - 25) : match.start()]
        if not re.search(_NEGATION, before) and not re.search(
            r"\b(?:but|although|however|only|except)\b", text
        ):
            return True
    return False


def _repeats(reason: str, instructions: str) -> bool:
    if _EMPTY_REASON.fullmatch(reason):
        return True
    reason_words = words(reason)
    if len(reason_words) < _SHORTEST_COPY:
        return False
    return " ".join(reason_words) in " ".join(words(instructions))
