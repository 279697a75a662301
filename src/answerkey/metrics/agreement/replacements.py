"""Names, and another name or word in place of the expected one."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from answerkey.language.dates import MONTHS
from answerkey.language.stems import stem
from answerkey.language.words import stem_list
from answerkey.metrics.agreement.comparable import Text, Word
from answerkey.metrics.agreement.word_match import NEAR, closest

_NOT_NAMES = frozenset(stem(word) for word in MONTHS)


def names_of(words: Sequence[Word], asked: Text) -> list[str]:
    """The names that are not in the question: words with a capital, not only because they begin a sentence."""
    names: list[str] = []
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
            names.append(word.stem)
    return names


def name_exchange(said: Text, wanted: Text) -> float:
    """1 for the expected words with one name exchanged, a third for another word, else 0."""
    # The matcher is quadratic, and texts of different length are no exchange of one name.
    if abs(len(wanted.tokens) - len(said.tokens)) > 1 or len(wanted.tokens) > 200:
        return 0.0
    codes = SequenceMatcher(None, wanted.tokens, said.tokens, autojunk=False).get_opcodes()
    changes = [code for code in codes if code[0] != "equal"]
    # In fewer words than four, one exchanged word is another answer rather than a variant.
    if len(changes) != 1 or changes[0][0] != "replace" or len(wanted.tokens) < 4:
        return 0.0
    _, i1, i2, j1, j2 = changes[0]
    if max(i2 - i1, j2 - j1) > 2 or 2 * (i2 - i1) > len(wanted.tokens):
        return 0.0
    ours = wanted.words[i1:i2]
    theirs = said.words[j1:j2]
    if any(word.stem[0].isdigit() or not word.content for word in (*ours, *theirs)):
        return 0.0
    # A synonym or another spelling is no exchange.
    if any(closest(word.stem, said, wanted)[0] >= NEAR for word in ours):
        return 0.0
    if any(word.capital for word in ours) and any(word.capital for word in theirs):
        return 1.0
    return 1 / 3
