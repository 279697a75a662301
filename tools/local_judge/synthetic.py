"""Pairs of a sentence and its evidence; and such pairs made from passages alone, to train on before the labelled ones."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tools.local_judge.data import Row, edit

from answerkey.metrics.grounding.sentence_features import rarity
from answerkey.metrics.grounding.word_support import PassageIndex
from answerkey.metrics.sentences import pieces, word_list

SENTENCES_SHOWN = 3
UNITS = (
    ("mg", "kg"), ("percent", "points"), ("hours", "days"), ("days", "weeks"), ("weeks", "months"), ("months", "years"),
    ("minutes", "hours"), ("million", "billion"), ("thousand", "million"), ("feet", "miles"), ("meters", "kilometers"),
    ("inches", "feet"), ("daily", "weekly"), ("January", "June"), ("March", "October"), ("July", "December"), ("km", "cm"),
)  # fmt: skip
CONNECTIVE = re.compile(r"^(?:However|Moreover|Furthermore|In addition|Thus|Therefore|Here|Finally|Then), ?")


@dataclass(frozen=True, slots=True)
class Pair:
    """`label` 1 is unsupported; `changed` is the part of the claim that an edit has put in, where that is known."""

    claim: str
    evidence: str
    label: int
    changed: tuple[int, int] | None = None


@lru_cache(maxsize=512)
def index_of(contexts: tuple[str, ...]) -> PassageIndex:
    return PassageIndex.of(contexts)


def evidence(claim: str, index: PassageIndex, without: int = -1) -> str:
    """Up to three passage sentences that together have most of the claim's telling words, the best first."""
    left = {stem for piece in pieces(claim) for stem in piece.content_stems()}
    chosen: list[int] = []
    while len(chosen) < SENTENCES_SHOWN:
        gain: dict[int, float] = {}
        for stem in sorted(left):
            for at in index.words.get(stem, ()):
                if at not in chosen and at != without:
                    gain[at] = gain.get(at, 0.0) + rarity().get(stem, 1.0)
        if not gain:
            break
        chosen.append(max(gain, key=lambda at: (gain[at], -at)))
        left -= set(index.sentences[chosen[-1]].stems)
    return " ".join(index.text_at(at) for at in chosen or range(min(2, len(index.sentences))))


def synthetic_pairs(passages: Sequence[str], count: int, seed: int) -> list[Pair]:
    """In turn a supported sentence, the same with one fact changed, and now and then one of another place or passage."""
    rng = random.Random(seed)
    known = {word for text in passages for word in re.findall(r"[a-z]+", text.lower())}
    found: list[Pair] = []
    other = ""
    while len(found) < count:
        text = rng.choice(passages)
        index = index_of((text,))
        usable = [n for n, piece in enumerate(index.sentences) if 6 <= len(piece.stems) <= 45]
        if len(index.sentences) < 3 or not usable:
            continue
        at = rng.choice(usable)
        claim = _shortened(index.text_at(at), rng)
        found.append(Pair(claim, evidence(claim, index), 0, (0, 0)))
        changed = _changed(claim, text, known, rng)
        if changed:
            found.append(Pair(changed, evidence(changed, index), 1, difference(claim, changed)))
        if other and rng.random() < 0.2:
            found.append(Pair(other, evidence(other, index), 1))
        elif rng.random() < 0.2:
            found.append(Pair(claim, evidence(claim, index, without=at), 1))
        other = claim
    return found[:count]


def _shortened(text: str, rng: random.Random) -> str:
    """What still follows from the sentence: less of it, so that a supported claim is not always a copy."""
    text = CONNECTIVE.sub("", text)
    if rng.random() < 0.5:
        text = re.sub(r" ?\([^()]*\)", "", text)
    clauses = text.split(", ")
    if len(clauses) > 1 and rng.random() < 0.4 and len(clauses[0].split()) > 5:
        text = clauses[0] + "."
    if rng.random() < 0.3:
        text = re.sub(r" (?:also|then|very|clearly|recently|generally|[a-z]{4,}ly)\b", "", text, count=1)
    return text[:1].upper() + text[1:]


def _changed(claim: str, text: str, known: set[str], rng: random.Random) -> str | None:
    row = Row("", "", "", (text,), claim, 0)
    ways: list[Callable[[], str | None]] = [lambda: _unit(claim, rng), lambda: _exchanged(claim, rng)]
    ways += [lambda: (edited := edit(row, rng)) and edited.answer] * 4
    changed = rng.choice(ways)()
    # An edit that puts in no word of English (a stem, say) would be told by that alone.
    if not changed or changed == claim or set(re.findall(r"[a-z]+", changed.lower())) - known:
        return None
    return changed


def _unit(claim: str, rng: random.Random) -> str | None:
    both = [*UNITS, *((new, old) for old, new in UNITS)]
    fit = [pair for pair in both if re.search(rf"\b{pair[0]}\b", claim)]
    if not fit:
        return None
    old, new = rng.choice(fit)
    return re.sub(rf"\b{old}\b", new, claim, count=1)


def _exchanged(claim: str, rng: random.Random) -> str | None:
    """Two telling words of the sentence change places."""
    stop = word_list("stop_words")
    words = [found for found in re.finditer(r"[A-Za-z]{4,}", claim) if found[0].lower() not in stop]
    if len(words) < 4:
        return None
    one, two = sorted(rng.sample(words, 2), key=lambda found: found.start())
    return claim[: one.start()] + two[0] + claim[one.end() : two.start()] + one[0] + claim[two.end() :]


def difference(before: str, after: str) -> tuple[int, int]:
    """The part of `after` between what both begin with and what both end with."""
    least = min(len(before), len(after))
    start = next((n for n in range(least) if before[n] != after[n]), least)
    end = next((n for n in range(least - start) if before[-1 - n] != after[-1 - n]), least - start)
    return start, max(start + 1, len(after) - end)
