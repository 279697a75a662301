"""The words that BM25 counts: folded, without stop words in questions, stemmed by language."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import cast

from answerkey.errors import SettingsError, did_you_mean
from answerkey.text import bigrams, fold, words

AUTO = "auto"
NONE = "none"
_FOLDER = Path(__file__).parent
# These scripts are cut into pairs of characters, which have nothing to stem.
_CUT_INTO_PAIRS = frozenset({"zh", "ja", "th", "ko", "lo", "km", "my"})
_LEAST_WORDS = 100  # a language is not named by less text than this
_LEAST_LEAD = 0.1  # share of stop words by which the first language must lead the second
_SAMPLED_TEXTS = 400
_SAMPLED_CHARACTERS = 2000
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_ARABIC = re.compile("[\u0620-\u06ff]")
_ARABIC_VOWELS = "".join(map(chr, range(0x64B, 0x660)))
_ARABIC_STROKE = "\u0640\u0670"  # it only widens a word
# The forms of alef, yeh, heh and kaf count as one letter each; vowel marks are dropped.
_ARABIC_LETTERS = str.maketrans("آأإٱىیةک", "اااايي" + "هك", _ARABIC_STROKE + _ARABIC_VOWELS)
_ARTICLE = re.compile("^(?:[وفبك]?ال|لل)(?=...)")
# Chandrabindu is written as anusvara; nukta and joiners are dropped.
_INDIC_MARKS = str.maketrans("\u0901", "\u0902", "\u093c\u200c\u200d")


def search_words(text: str, language: str = "") -> list[str]:
    """The words of a document, stemmed where a language is given.

    Scripts without spaces and Korean give pairs of characters; Arabic words lose vowel marks and
    the article.

    >>> search_words("Die Häuser von 東京都", "de")
    ['die', 'haus', 'von', '東京', '京都']
    """
    stem = load_stemmer(language)
    return [form for word in words(text) for form in _forms(word, stem)]


def question_words(text: str, language: str = "") -> list[str]:
    """The words of a question without stop words, or all of them where it has no other.

    Pairs of hiragana are mostly grammar and count as stop words too.
    """
    ignored = stop_words(language)
    stem = load_stemmer(language)
    every_word = words(text)
    content = [word for word in every_word if word not in ignored and not _HIRAGANA.fullmatch(word)]
    return [form for word in content or every_word for form in _forms(word, stem)]


def detect_language(texts: Sequence[str]) -> str:
    """The ISO code of the language whose stop words the texts use.

    It is "" where there is little text, where no list fits, and where two languages are close.
    """
    sample = texts[:: len(texts) // _SAMPLED_TEXTS + 1]
    counts = Counter(word for text in sample for word in words(text[:_SAMPLED_CHARACTERS]))
    used = {
        code: sum(counts[word] for word in stop_words)
        for code, stop_words in _stop_lists().items()
        if code != "any"
    }
    best, second = sorted(used, key=lambda code: -used[code])[:2]
    is_clear = used[best] - used[second] >= _LEAST_LEAD * counts.total()
    if is_clear and counts.total() >= _LEAST_WORDS:
        return best
    return ""


@lru_cache(maxsize=8)
def load_stemmer(language: str) -> Callable[[str], str]:
    """The stemmer of an ISO code or an English name; an error lists the languages there are."""
    if not language or language in _CUT_INTO_PAIRS:
        return str
    stemmers = _stemmers()
    name = stemmers.get(language.lower(), language.lower())
    if name not in stemmers.values():
        codes = sorted({*stemmers, *_CUT_INTO_PAIRS})
        hint = did_you_mean(language, {*codes, *stemmers.values()})
        hint = hint or f"; there are {', '.join(codes)}"
        raise SettingsError(f'[retrieval] language = "{language}": no stemmer for it{hint}')
    import snowballstemmer

    return cast("Callable[[str], str]", snowballstemmer.stemmer(name).stemWord)


@lru_cache(maxsize=8)
def stop_words(language: str) -> frozenset[str]:
    """The stop words of an ISO code or an English name, with those of every language."""
    lists = _stop_lists()
    codes = {name: code for code, name in _stemmers().items()}
    code = codes.get(language.lower(), language.lower())
    return lists["any"] | lists.get(code, frozenset())


@cache
def _stop_lists() -> dict[str, frozenset[str]]:
    lists: dict[str, str] = _read_toml("stop_words.toml")
    return {code: frozenset(fold(text).split()) for code, text in lists.items()}


@cache
def _stemmers() -> dict[str, str]:
    return _read_toml("stemmers.toml")


def _read_toml(name: str) -> dict[str, str]:
    return tomllib.loads((_FOLDER / name).read_text(encoding="utf-8"))


# A corpus repeats most of its words, and the stemmer is written in Python.
@lru_cache(maxsize=200_000)
def _forms(word: str, stem: Callable[[str], str]) -> tuple[str, ...]:
    # The rules below are about other scripts.
    if word.isascii():
        return (stem(word),)
    # Korean words end in particles: pairs of characters match the noun inside.
    if _HANGUL.search(word):
        return tuple(pair for _, pair in bigrams(word))
    word = word.translate(_INDIC_MARKS)
    if _ARABIC.search(word):
        word = _ARTICLE.sub("", word.translate(_ARABIC_LETTERS))
    # Nothing is left of a word that was all marks.
    if not word:
        return ()
    return (stem(word),)
