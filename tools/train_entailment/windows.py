"""Sentences, words and the parts of a long premise that a hypothesis is about."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence

_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9])|\s*\n\s*")
_WORD = re.compile(r"[a-z]+|\d+(?:[.,]\d+)*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|No|Prof|Gen|Inc|U\.S|e\.g|i\.e)|\b[A-Z])\.$"
)
_FUNCTION_WORDS = (
    "a an and are as at be been but by did do does for from had has have he her him his i if in into is it its "
    "not of on or she so that the their them then there they this to was we were what when where which who will "
    "with would you your"
)
_COMMON = frozenset(_FUNCTION_WORDS.split())


def sentences(text: str) -> list[str]:
    """The sentences of an English text; a title or an initial doesn't end one."""
    parts: list[str] = []
    for part in _END.split(text):
        part = part.strip()
        if not part:
            continue
        if parts and _ABBREVIATION.search(parts[-1]):
            parts[-1] += " " + part
        else:
            parts.append(part)
    return parts


def content_words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if word not in _COMMON}


def rarity(texts: Iterable[str]) -> dict[str, float]:
    """The inverse document frequency of each word."""
    counts, total = Counter[str](), 0
    for text in texts:
        counts.update(content_words(text))
        total += 1
    return {word: math.log(1 + total / count) for word, count in counts.items()}


def overlap(premise: str, hypothesis: str, idf: dict[str, float] | None = None) -> float:
    """The share of the hypothesis's words, weighted by rarity, that the premise has."""
    wanted = content_words(hypothesis)
    if not wanted:
        return 1.0
    weight = {word: (idf or {}).get(word, 1.0) for word in wanted}
    return sum(weight[word] for word in wanted & content_words(premise)) / sum(weight.values())


def best_windows(parts: Sequence[str], hypothesis: str, size: int = 3, count: int = 3) -> list[int]:
    """Where the windows of `size` sentences with the most of the hypothesis start, best first."""
    idf = rarity(parts)
    starts = range(max(1, len(parts) - size + 1))
    scores = {
        start: overlap(" ".join(parts[start : start + size]), hypothesis, idf) for start in starts
    }
    return sorted(starts, key=lambda start: (-scores[start], start))[:count]


def fit(premise: str, hypothesis: str, words: int) -> str:
    """The premise cut to about that many words: the windows nearest the hypothesis, in their order."""
    room = max(24, words - len(hypothesis.split()))
    if len(premise.split()) <= room:
        return premise
    parts = sentences(premise)
    chosen: set[int] = set()
    for start in best_windows(parts, hypothesis, count=len(parts)):
        extra = set(range(start, min(start + 3, len(parts)))) - chosen
        if sum(len(parts[place].split()) for place in chosen | extra) > room:
            extra = {start} - chosen
        if sum(len(parts[place].split()) for place in chosen | extra) > room:
            break
        chosen |= extra
    return (
        " ".join(parts[place] for place in sorted(chosen))
        if chosen
        else " ".join(premise.split()[:room])
    )


def padded(premise: str, others: Sequence[str], words: int, rng: random.Random) -> str:
    """The premise with sentences of unrelated passages before it, after it or both, up to that many words."""
    room = words - len(premise.split())
    before: list[str] = []
    after: list[str] = []
    for other in others:
        part = sentences(other)[:3]
        size = sum(len(sentence.split()) for sentence in part)
        if not part or size > room:
            continue
        room -= size
        (before if rng.random() < 0.5 else after).extend(part)
    return " ".join([*before, premise, *after])
