"""Another name, code, item or word in place of the expected one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from rapidfuzz.distance import DamerauLevenshtein

from answerkey.language.dates import MONTHS
from answerkey.language.stems import stem
from answerkey.language.words import stem_list, synonyms, word_groups, word_list
from answerkey.metrics.agreement.comparable import Text, Word
from answerkey.metrics.agreement.word_match import NEAR, closest, has_root

_NAMES_READ = 40
_NOT_NAMES = frozenset(stem(word) for word in MONTHS)
_BULLET = re.compile(r"(?m)^\s*(?:[-*•]|\d+[.)])\s+(.+?)\s*$")
_CODE = re.compile(
    r"\bv?\d+(?:\.\d+){2,}\b|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b\w{2,}(?:[._]\w{2,})+\b|\b[A-Za-z]{1,4}-?\d{2,}\w*\b"
)
_VERSION = re.compile(
    r"v?(?!\d{1,2}\.\d{1,2}\.\d{2,4}\b)\d{1,4}(?:\.\d{1,4}){2,}"
)  # no date, and no thousands with dots
_WHO = re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE)
_VOWELS = re.compile(r"[aeiouyh]|(.)(?=\1)")
_ITEM = re.compile(
    r",(?!(?<=\d,)\d{3}(?!\d))\s*(?:and\s+|or\s+|und\s+|et\s+|y\s+)?|\s+(?:and|or|und|et|y)\s+"
)


def names_of(words: Sequence[Word], asked: Text) -> list[str]:
    """The names that are not in the question: words with a capital, not only because they begin a sentence."""
    found: list[str] = []
    for n, word in enumerate(words):
        if not word.capital or word.stem in asked.vocabulary or word.stem[0].isdigit():
            continue
        if n and words[n - 1].stem[0].isdigit():  # the GB of `5 GB`
            continue
        # After an article, which is no word here, a capital is a name's: `The Pro plan`.
        first = (n == 0 or words[n - 1].sentence != word.sentence) and word.before != " "
        follows = n + 1 < len(words) and words[n + 1].capital and words[n + 1].before == " "
        if first and not (follows and words[n + 1].sentence == word.sentence):
            continue
        if word.stem not in stem_list("titles") and word.stem not in _NOT_NAMES:
            found.append(word.stem)
    return found


def _full_names(text: Text) -> list[list[str]]:
    """Runs of two or more words with a capital, without titles: first names with their surname."""
    runs: list[list[str]] = [[]]
    for word in text.words:
        named = word.capital and word.stem not in stem_list("titles") and not word.stem[0].isdigit()
        if not (named and word.before == " "):
            runs.append([])
        if named:
            runs[-1].append(word.stem)
    return [run for run in runs if len(run) >= 2][:_NAMES_READ]


def _one_name(one: str, other: str) -> bool:
    """Two spellings of a name: a typo apart, or with the same consonants, as `Mohammed` and `Muhammad`."""
    bones, others = (_VOWELS.sub("", name) for name in (one, other))
    return DamerauLevenshtein.distance(one, other) <= 1 or (len(bones) > 2 and bones == others)


def other_person(said: Text, wanted: Text, asked: Text) -> bool:
    """The same surname with another first name, or the reverse, and the expected one nowhere in the answer."""

    def differs(one: str, other: str) -> bool:
        if one in other or other in one or other in wanted.vocabulary or one in said.vocabulary:
            return False
        if person:
            return not _one_name(one, other)
        return closest(one, said, wanted)[0] < NEAR

    person = _WHO.search(asked.plain) is not None
    pairs = [(ours, theirs) for ours in _full_names(wanted) for theirs in _full_names(said)]
    return any(
        ours[same] == theirs[same]
        and ours[same] not in asked.vocabulary
        and differs(ours[other], theirs[other])
        for ours, theirs in pairs
        for same, other in ((0, -1), (-1, 0))
    )


def other_code(said: Text, wanted: Text, asked: Text) -> bool:
    """Another file name, address, version or part number in place of the expected one."""
    ours, theirs, known = (
        {
            code.lower().removeprefix("v")
            if _VERSION.fullmatch(code)
            else re.sub(r"\W", "", code).lower()
            for code in _CODE.findall(text.plain)
            if any(ch.isalpha() for ch in code) or _VERSION.fullmatch(code)
        }
        for text in (wanted, said, asked)
    )
    return bool(ours - known and theirs - ours - known) and not ours & theirs - known


def other_of_kind(said: Text, wanted: Text, asked: Text) -> bool:
    """Another word of a list of which only one can be true, and not the expected one."""
    for group in word_groups("exclusive"):
        kind = {stem(word) for word in group.split()} - asked.vocabulary
        sought = kind & wanted.vocabulary
        missing = {
            word
            for word in sought - said.vocabulary
            if said.vocabulary.isdisjoint(synonyms().get(word, ()))
        }
        others = kind & said.vocabulary
        if missing and (others - wanted.vocabulary or (missing == sought and others)):
            return True
    return False


def swapped(said: Text, wanted: Text) -> float:
    """1 for the expected words with one name exchanged, a third for another word, else 0."""
    if abs(len(wanted.tokens) - len(said.tokens)) > 1 or len(wanted.tokens) > 200:
        return 0.0
    codes = SequenceMatcher(None, wanted.tokens, said.tokens, autojunk=False).get_opcodes()
    changes = [code for code in codes if code[0] != "equal"]
    if len(changes) != 1 or changes[0][0] != "replace" or len(wanted.tokens) < 4:
        return 0.0
    _, i1, i2, j1, j2 = changes[0]
    if max(i2 - i1, j2 - j1) > 2 or 2 * (i2 - i1) > len(wanted.tokens):
        return 0.0
    ours = wanted.words[i1:i2]
    theirs = said.words[j1:j2]
    if any(word.stem[0].isdigit() or not word.content for word in (*ours, *theirs)):
        return 0.0
    if any(closest(word.stem, said, wanted)[0] >= NEAR for word in ours):
        return 0.0
    if any(word.capital for word in ours) and any(word.capital for word in theirs):
        return 1.0
    return 1 / 3


def items(text: str) -> list[str]:
    """The items of `X, Y and Z` or of a list in lines, three or more; none for a text without such a list."""
    if len(lines := _BULLET.findall(text)) >= 3 and all(len(line.split()) <= 3 for line in lines):
        return [line.strip(" .!?:;,") for line in lines]
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        parts = [part.strip(" .!?:;") for part in _ITEM.split(sentence)]
        if (
            len(parts) >= 3
            and "," in sentence
            and all(0 < len(part.split()) <= 3 for part in parts[1:])
        ):
            return [" ".join(parts[0].split()[-1:]), *parts[1:]]
    return []


def holds(said: Text, item: str) -> bool:
    """Whether a text has an item: every word of a name, most of the words of anything else."""
    written = re.findall(r"\w+", item)
    stems = [stem(word.lower()) for word in written if word.lower() not in word_list("stop_words")]
    found = [
        token in said.vocabulary
        or closest(token, said, said)[0] >= NEAR
        or has_root(token, said.vocabulary)
        for token in stems
    ]
    named = any(word[0].isupper() for word in written[1:])
    return bool(found) and (all(found) if named else 2 * sum(found) >= len(found))
