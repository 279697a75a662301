"""Which words of the answer match the expected ones, and where: together, early, negated, or next to another name.

Two words match with the same stem, a similar spelling, a short form of a name, or as a country and its people.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from rapidfuzz import fuzz, process

from answerkey.language.figure_match import figures_agree
from answerkey.language.quantities import Figure
from answerkey.language.stems import stem
from answerkey.language.words import stem_list, synonyms, word_groups
from answerkey.metrics.agreement.comparable import Text, Word
from answerkey.metrics.boosted_trees import load_numbers

NEAR = 0.74  # from here on two words count as two spellings of one
SYNONYM = 0.8
_LEAST = 0.75
_NONE = frozenset[str]()
_ROOT = 7  # letters: `archaeology` and `archaeologist` have one root
SURE = 0.85  # needed where the first letters differ, which typos rarely change
_SCALES = frozenset(stem(word) for word in ("thousand", "million", "billion", "trillion"))


def closest(
    token: str, said: Text, wanted: Text, figures: tuple[Figure, ...] = ()
) -> tuple[float, str]:
    """1 and the word for the same stem or figure, part of it for a near spelling, else 0.

    A number is compared with its scale: the 17.7 of `17.7 billion` is not in `17.7 million`.
    """
    if token[0].isdigit() and (own := [figure for figure in figures if figure.written(token)]):
        return float(any(figures_agree(one, other) for one in own for other in said.figures)), token
    if token in said.vocabulary:
        return 1.0, token
    if token in _SCALES and _in_other_scale(said, figures):
        return 1.0, token
    # Figures have no near spelling: 17.7 is not a variant of 17.1.
    if token[0].isdigit():
        return 0.0, ""
    if token in wanted.names:
        names = said.names
    else:
        names = _NONE
    # Words of three letters are one letter away from many others.
    if len(token) >= 4:
        near = _near_spelling(token, said.vocabulary, names)
    else:
        near = (0.0, "")
    if near[0] < NEAR:
        # `min`, because the order of a set differs between processes.
        other = min(synonyms().get(token, _NONE) & said.vocabulary, default="")
    else:
        other = ""
    return (SYNONYM, other) if other else near


def _in_other_scale(said: Text, figures: tuple[Figure, ...]) -> bool:
    """`15,000,000` for `15 million`: the word is missing, but its meaning is there."""
    return any(
        figure.scaled and figures_agree(figure, other)
        for figure in figures
        for other in said.figures
    )


@lru_cache(maxsize=8192)
def _near_spelling(token: str, have: frozenset[str], names: frozenset[str]) -> tuple[float, str]:
    """The word most alike; `names` may also be a short form: `Thad` for `Thaddeus`."""
    kin = _nations().get(token)
    spelled = [
        found[0]
        for found in process.extract(
            token, have, scorer=fuzz.ratio, score_cutoff=100 * _LEAST, limit=None
        )
    ]
    if kin is None:
        candidates = spelled
    else:
        candidates = [*spelled, *(word for word in have if _nations().get(word) == kin)]
    best = max(((_alike(token, other), other) for other in candidates), default=(0.0, ""))
    if best[0] >= _LEAST:
        return best
    short = [
        name
        for name in names
        if len(name) >= 4 and (name.startswith(token) or token.startswith(name))
    ]
    # Just above NEAR: a short form counts, but loses against every similar spelling.
    return (0.76, min(short)) if short else (0.0, "")


def _alike(one: str, other: str) -> float:
    # "Million" and "billion" differ by one letter, and so do account numbers.
    if one in _SCALES or other in _SCALES or _digits(one) != _digits(other):
        return 0.0
    if _nations().get(one, -1) == _nations().get(other, -2):
        return 0.85
    short, long = sorted((one, other), key=len)
    kin = len(short) >= _ROOT and long.startswith(short)
    # Longer endings make another word, except after a long root.
    if len(long) - len(short) <= 2 + kin:
        likeness = fuzz.ratio(one, other) / 100
    else:
        likeness = 0.0
    if one[0] == other[0] or likeness >= SURE:
        return likeness
    return 0.0


def _digits(token: str) -> str:
    """Those of a code or number, in which each counts: `DE893704` is no spelling of `DE893705`."""
    if token.isalpha():
        return ""
    return "".join(filter(str.isdigit, token))


@lru_cache(maxsize=8192)
def has_root(token: str, words: frozenset[str]) -> bool:
    """Whether a word begins as the token does, for most of the shorter one: `nauseous` for `nausea`."""

    def alike(word: str) -> bool:
        shorter = min(len(token), len(word))
        same = max(4, math.ceil(0.8 * shorter))
        return shorter >= 4 and token[:same] == word[:same]

    return not _digits(token) and any(alike(word) for word in words)


@cache
def _nations() -> dict[str, int]:
    return {
        stem(word): n for n, group in enumerate(word_groups("nations")) for word in group.split()
    }


def rareness(token: str) -> float:
    """1 for a word that is rare in answers, less for a common one."""
    return _rarity().get(token, 1.0)


@cache
def _rarity() -> Mapping[str, float]:
    return load_numbers("agreement/agreement").get("rarity", {})


Near = Mapping[str, tuple[float, str]]
_DENIALS = frozenset(
    {"not", "never", "t", "neither", "nor", "than", "instead", "besid", "except", "unlik"}
)
_LAST_SENTENCE = 9.0


def place(said: Text, wanted: Text, new: Sequence[str], near: Near) -> dict[str, float]:
    """`near` has each expected word's similarity and its match in the answer; `new` are those not in the question."""
    sought = {
        match: token for token, (score, match) in near.items() if score >= NEAR and token in new
    }
    places = [(n, sought[word.stem]) for n, word in enumerate(said.words) if word.stem in sought]
    together, chosen = _window(places, {token: near[token][0] for token in new})
    opening = {token for n, token in places if said.words[n].sentence == 0}
    sentence = _LAST_SENTENCE
    if chosen:
        sentence = min(_LAST_SENTENCE, float(said.words[chosen[0]].sentence))
    return {
        "together": together,
        "sentence_found": sentence,
        "first_sentence": len(opening) / len(new) if new else 0.0,
        **_replaced(said.words, chosen, wanted.words, near),
        "denied": float(_denied(said.words, chosen)),
    }


def _window(
    places: Sequence[tuple[int, str]], likeness: Mapping[str, float]
) -> tuple[float, list[int]]:
    """The share of the expected words in the stretch of the answer that has most of them, and their places."""
    reach = 2 * len(likeness) + 1
    best = 0.0
    chosen = list[int]()
    for start, (n, _) in enumerate(places):
        inside = [at for at in places[start : start + 3 * len(likeness)] if at[0] < n + reach]
        total = sum(likeness[token] for token in dict.fromkeys(token for _, token in inside))
        # The margin keeps the first of equal stretches despite rounding.
        if total > best + 1e-9:
            best = total
            chosen = [at for at, _ in inside]
    return (best / len(likeness) if likeness else 0.0), chosen


def _replaced(
    words: Sequence[Word], chosen: Sequence[int], wanted: Sequence[Word], near: Near
) -> dict[str, float]:
    """Is another name, word or number in place of the expected one: `Neil Sedaka` for `Neil Young`, `James V` for `James IV`?

    1 for yes, 0.5 where the one that is missing is a title.
    """
    back = {match: token for token, (score, match) in near.items() if score >= NEAR}
    first = {word.stem: n for n, word in reversed(list(enumerate(wanted)))}
    found = {"replaced_name": 0.0, "replaced_word": 0.0, "replaced_number": 0.0}
    for n in chosen:
        at = first[back[words[n].stem]]
        for step in (-1, 1):
            if not (0 <= n + step < len(words) and 0 <= at + step < len(wanted)):
                continue
            theirs = words[n + step]
            ours = wanted[at + step]
            linked = words[max(n, n + step)].linked_like(wanted[max(at, at + step)])
            if linked and _differs(theirs, ours, near, back):
                if ours.stem in stem_list("titles"):
                    weight = 0.5
                else:
                    weight = 1.0
                kind = _kind(theirs, ours)
                found[kind] = max(found[kind], weight)
    return found


def _kind(theirs: Word, ours: Word) -> str:
    if theirs.stem.isdigit() and ours.stem.isdigit():
        return "replaced_number"
    if theirs.capital and ours.capital:
        return "replaced_name"
    return "replaced_word"


def _differs(theirs: Word, ours: Word, near: Near, back: Mapping[str, str]) -> bool:
    if not (theirs.content and ours.content) or theirs.stem in stem_list("titles"):
        return False
    if theirs.stem in near or theirs.stem in back or near[ours.stem][0] >= NEAR:
        return False
    # A short form replaces nothing: `Thad` for `Thaddeus`.
    return not (ours.stem.startswith(theirs.stem) or theirs.stem.startswith(ours.stem))


def _denied(words: Sequence[Word], chosen: Sequence[int]) -> bool:
    if not chosen:
        return False
    at = chosen[0]
    before = (word for word in words[max(0, at - 4) : at] if word.sentence == words[at].sentence)
    return any(word.stem in _DENIALS for word in before)
