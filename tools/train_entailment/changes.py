"""Hard negatives: a supported pair with one fact changed.

The change is made in the hypothesis, or in the premise where both have the word: then the hypothesis stays a sentence
that a person wrote, and the model can't tell a made pair by its sound.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from tools.train_entailment.windows import sentences

CONTRADICT, NOT_ENTAIL = "contradict", "not_entail"
_NUMBER = re.compile(
    r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w])|(?<![\w.,])\d+(?:\.\d+)?(?!\w)"
)
_SPELLED = (
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "twelve",
    "twenty",
    "thirty",
    "fifty",
)
_SPELLED_NUMBER = re.compile(rf"\b(?:{'|'.join(_SPELLED)})\b", re.IGNORECASE)
_NAME = re.compile(r"\b[A-Z][\w’'-]+(?:\s+(?:of\s+(?:the\s+)?)?[A-Z][\w’'-]+)*")
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|has been|have been|will|would|can|could|should|must|does|did|do)\b(?!\s+(?:not|n't|never))"
)
_NEGATED = re.compile(
    r"\b(is|are|was|were|will|would|can|could|should|must|do|does|did|has|have|had)(?:\s+not|n['’]t)\b|"
    r"\b(can)not\b"
)
_CAPITALISED = (
    "The A An It In On At He She They We I This That These Those There His Her Its Their Our My As For From By But "
    "And Or If When While After Before During Since Although Some Many Most All No Not One Two Both Each Other "
    "According However What Who Where Which How Yes Mr Mrs Ms Dr You Your"
)
_NOT_NAMES = frozenset(_CAPITALISED.split())

Change = Callable[[str, random.Random], tuple[str, str] | None]


@cache
def antonyms() -> dict[str, list[str]]:
    """Each word with its opposites, from antonyms.txt beside this file."""
    found: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "antonyms.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            one, other = line.split()
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    return found


def another_number(text: str, rng: random.Random) -> str:
    """A different number of the same form: 1,200 stays with a comma, a year stays a year."""
    plain = text.replace(",", "")
    if "." in plain:
        places = len(plain.split(".")[1])
        value = float(plain)
        new = value
        while f"{new:.{places}f}" == plain:
            new = max(
                0.0,
                value * rng.choice((0.5, 0.7, 0.9, 1.1, 1.3, 2.0)) + rng.choice((0, 0.1, 0.3, 1)),
            )
        return f"{new:,.{places}f}" if "," in text else f"{new:.{places}f}"
    value = new = int(plain)
    while new == value or new < 0:
        if len(plain) == 4 and 1000 < value < 2100:
            new = value + rng.choice(
                (-30, -12, -10, -7, -4, -3, -2, -1, 1, 2, 3, 4, 5, 8, 10, 14, 20)
            )
        elif value < 20:
            new = value + rng.choice((-5, -3, -2, -1, 1, 2, 3, 4, 6))
        else:
            new = round(
                value * rng.choice((0.1, 0.5, 0.8, 0.9, 1.1, 1.2, 1.5, 2, 10))
            ) + rng.choice((0, 0, 1, 3))
    return f"{new:,}" if "," in text else str(new)


def numbers(text: str) -> list[str]:
    return _NUMBER.findall(text) + _SPELLED_NUMBER.findall(text)


def names(text: str) -> list[str]:
    """Capitalised spans; the first word of a sentence counts only as part of a longer one."""
    found = []
    for match in _NAME.finditer(text):
        span = match.group()
        first, _, rest = span.partition(" ")
        if first in _NOT_NAMES:
            span = rest
        starts = match.start() == 0 or text[: match.start()].rstrip().endswith((".", "!", "?"))
        if span and span not in _NOT_NAMES and not (starts and " " not in span and first == span):
            found.append(span)
    return found


def _replace(text: str, old: str, new: str, once: bool = True) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text, count=1 if once else 0)


def _other_number(old: str, rng: random.Random) -> str:
    if old[0].isdigit():
        return another_number(old, rng)
    return rng.choice([word for word in _SPELLED if word != old.lower()])


def change_number(text: str, rng: random.Random) -> tuple[str, str] | None:
    found = numbers(text)
    if not found:
        return None
    old = rng.choice(found)
    return _replace(text, old, _other_number(old, rng)), CONTRADICT


def change_negation(text: str, rng: random.Random) -> tuple[str, str] | None:
    """Take a "not" away where there is one, else put one in."""
    negated = _NEGATED.search(text)
    if negated:
        verb = negated.group(1) or negated.group(2)
        return text[: negated.start()] + verb + text[negated.end() :], CONTRADICT
    verb_at = _AUXILIARY.search(text)
    if not verb_at or verb_at.start() == 0:
        return None
    word = rng.choice(("not", "not", "never")) if verb_at.group().split()[-1] != "been" else "not"
    first, _, rest = verb_at.group().partition(" ")
    changed = f"{first} {word}" + (f" {rest}" if rest else "")
    return text[: verb_at.start()] + changed + text[verb_at.end() :], CONTRADICT


def change_antonym(text: str, rng: random.Random) -> tuple[str, str] | None:
    found = [word for word in re.findall(r"\w+", text) if word in antonyms()]
    if not found:
        return None
    old = rng.choice(found)
    return _replace(text, old, rng.choice(antonyms()[old])), CONTRADICT


def change_name(
    text: str, rng: random.Random, premise: str, elsewhere: Sequence[str]
) -> tuple[str, str] | None:
    """A name of the text replaced by another of the premise, or else by one from elsewhere."""
    found = names(text)
    if not found:
        return None
    old = rng.choice(found)

    def differs(new: str) -> bool:
        return new not in text and not set(new.split()) & set(old.split())

    near = [new for new in names(premise) if differs(new)]
    far = [new for new in elsewhere if differs(new) and len(new.split()) == len(old.split())]
    choices = near if near and (not far or rng.random() < 0.6) else far
    return (_replace(text, old, rng.choice(choices)), NOT_ENTAIL) if choices else None


def swap_names(text: str, rng: random.Random) -> tuple[str, str] | None:
    """Two names of the text change places."""
    found = list(dict.fromkeys(names(text)))
    pairs = [(a, b) for a in found for b in found if a < b and a not in b and b not in a]
    if not pairs:
        return None
    one, other = rng.choice(pairs)
    swapped = re.sub(
        rf"(?<!\w)(?:{re.escape(one)}|{re.escape(other)})(?!\w)",
        lambda match: other if match.group() == one else one,
        text,
    )
    return swapped, NOT_ENTAIL


def changed_premise(premise: str, hypothesis: str, rng: random.Random) -> tuple[str, str] | None:
    """Change a number that both texts have, everywhere in the premise."""
    shared = sorted(set(numbers(hypothesis)) & set(numbers(premise)))
    if not shared:
        return None
    old = rng.choice(shared)
    return _replace(premise, old, _other_number(old, rng), once=False), CONTRADICT


def hard_negative(
    premise: str, hypothesis: str, rng: random.Random, elsewhere: Sequence[str] = ()
) -> tuple[str, str, str] | None:
    """(premise, hypothesis, label) with one fact changed, or None where nothing can be changed."""
    if rng.random() < 0.3:
        made = changed_premise(premise, hypothesis, rng)
        if made:
            return made[0], hypothesis, made[1]
    tries: list[Callable[[], tuple[str, str] | None]] = [
        lambda: change_number(hypothesis, rng),
        lambda: change_name(hypothesis, rng, premise, elsewhere),
        lambda: change_antonym(hypothesis, rng),
        lambda: change_negation(hypothesis, rng),
        lambda: swap_names(hypothesis, rng),
    ]
    weights = [4, 4, 3, 1.5, 2]
    while tries:
        at = rng.choices(range(len(tries)), weights)[0]
        made = tries.pop(at)()
        weights.pop(at)
        if made and made[0] != hypothesis:
            return premise, made[0], made[1]
    return None


def copied(premise: str, rng: random.Random) -> str | None:
    """A sentence of the premise, as a hypothesis that it supports word by word."""
    fitting = [part for part in sentences(premise) if 6 <= len(part.split()) <= 40]
    return rng.choice(fitting) if fitting else None
