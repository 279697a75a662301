"""Where the expected words stand in an answer: together or scattered, early or late, denied, or beside another name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerkey.metrics.agreement.comparable import Text, Word
from answerkey.metrics.agreement.word_match import NEAR
from answerkey.metrics.sentences import stem_list

Near = Mapping[str, tuple[float, str]]
_DENIALS = frozenset({"not", "never", "t", "neither", "nor", "than", "instead", "besid", "except", "unlik"})
_LAST_SENTENCE = 9.0


def place(said: Text, wanted: Text, new: Sequence[str], near: Near) -> dict[str, float]:
    """`near` gives each expected word's likeness and its match in the answer; `new` are those not in the question."""
    sought = {match: token for token, (score, match) in near.items() if score >= NEAR and token in new}
    places = [(n, sought[word.stem]) for n, word in enumerate(said.words) if word.stem in sought]
    together, chosen = _window(places, {token: near[token][0] for token in new})
    opening = {token for n, token in places if said.words[n].sentence == 0}
    return {
        "together": together,
        "sentence_found": float(min(_LAST_SENTENCE, said.words[chosen[0]].sentence))
        if chosen
        else _LAST_SENTENCE,
        "first_sentence": len(opening) / len(new) if new else 0.0,
        **_replaced(said.words, chosen, wanted.words, near),
        "denied": float(_denied(said.words, chosen)),
    }


def _window(places: Sequence[tuple[int, str]], likeness: Mapping[str, float]) -> tuple[float, list[int]]:
    """The share of the expected words in the stretch that has most of them, and where they are."""
    reach = 2 * len(likeness) + 1
    best, chosen = 0.0, list[int]()
    for start, (n, _) in enumerate(places):
        inside = [at for at in places[start : start + 3 * len(likeness)] if at[0] < n + reach]
        total = sum(likeness[token] for token in dict.fromkeys(token for _, token in inside))
        if total > best + 1e-9:
            best, chosen = total, [at for at, _ in inside]
    return (best / len(likeness) if likeness else 0.0), chosen


def _replaced(
    words: Sequence[Word], chosen: Sequence[int], wanted: Sequence[Word], near: Near
) -> dict[str, float]:
    """Is another name, word or number where the expected one should be: `Neil Sedaka` for `Neil Young`, `James V` for `James IV`?

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
            theirs, ours = words[n + step], wanted[at + step]
            linked = words[max(n, n + step)].linked_like(wanted[max(at, at + step)])
            if linked and _differs(theirs, ours, near, back):
                weight = 0.5 if ours.stem in stem_list("titles") else 1.0
                kind = _kind(theirs, ours)
                found[kind] = max(found[kind], weight)
    return found


def _kind(theirs: Word, ours: Word) -> str:
    if theirs.stem.isdigit() and ours.stem.isdigit():
        return "replaced_number"
    return "replaced_name" if theirs.capital else "replaced_word"


def _differs(theirs: Word, ours: Word, near: Near, back: Mapping[str, str]) -> bool:
    if not (theirs.content and ours.content) or theirs.stem in stem_list("titles"):
        return False
    if theirs.stem in near or theirs.stem in back or near[ours.stem][0] >= NEAR:
        return False
    return not (ours.stem.startswith(theirs.stem) or theirs.stem.startswith(ours.stem))


def _denied(words: Sequence[Word], chosen: Sequence[int]) -> bool:
    if not chosen:
        return False
    at = chosen[0]
    before = (word for word in words[max(0, at - 4) : at] if word.sentence == words[at].sentence)
    return any(word.stem in _DENIALS for word in before)
