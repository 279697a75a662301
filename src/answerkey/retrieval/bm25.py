"""BM25: every score of every word is computed once (bm25s); a search is one sparse product for all questions."""

from __future__ import annotations

import io
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from answerkey.cache import digest, kept_file
from answerkey.config.retrieval_tables import Bm25Formula
from answerkey.errors import SettingsError, did_you_mean
from answerkey.retrieval.fuse import Floats, Ints, Top, merge_blocks, select_top
from answerkey.text import bigrams, fold, words

_NUMBERS_AT_ONCE = 8_000_000
_STEMMERS = {
    "ar": "arabic",
    "hy": "armenian",
    "eu": "basque",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "nl": "dutch",
    "en": "english",
    "eo": "esperanto",
    "et": "estonian",
    "fi": "finnish",
    "fr": "french",
    "de": "german",
    "el": "greek",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "ga": "irish",
    "it": "italian",
    "lt": "lithuanian",
    "ms": "indonesian",
    "ne": "nepali",
    "no": "norwegian",
    "fa": "persian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "es": "spanish",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
_BY_PAIRS = frozenset(
    {"zh", "ja", "th", "ko", "lo", "km", "my"}
)  # pairs of characters, nothing to stem
_STOP_WORDS = Path(__file__).with_name("stop_words.toml")
AUTO, NONE = "auto", "none"
_LEAST_WORDS, _LEAST_LEAD = (
    100,
    0.1,
)  # to name a language: words of text, its share of stop words above the next one's
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_ARABIC = re.compile("[\u0620-\u06ff]")
# Vowel marks and the stroke that only widens a word; the forms of alef, yeh, heh and kaf as one letter each.
_ARABIC_LETTERS = str.maketrans(
    "آأإٱىیةک", "اااايي" + "هك", "\u0640\u0670" + "".join(map(chr, range(0x64B, 0x660)))
)
_ARTICLE = re.compile("^(?:[وفبك]?ال|لل)(?=...)")
_INDIC_MARKS = str.maketrans(
    "\u0901", "\u0902", "\u093c\u200c\u200d"
)  # chandrabindu as anusvara; no nukta, no joiners


@dataclass(frozen=True, slots=True)
class Formula:
    """`lucene` has the IDF ln(1 + (N - df + 0.5) / (df + 0.5)); `robertson` is 0 for words in more than half of the
    chunks. `language` chooses a Snowball stemmer, "" none."""

    variant: Bm25Formula = "lucene"
    k1: float = 1.5
    b: float = 0.75
    language: str = ""


@dataclass(frozen=True, slots=True)
class Bm25:
    """The word with number n has the `weights` from `starts[n]` to `starts[n + 1]`, in the chunks at the same `places`."""

    vocabulary: dict[str, int]
    weights: Floats
    places: Ints
    starts: Ints
    chunks: int
    language: str = ""

    def search(self, questions: Sequence[str], pool: int) -> Top:
        """The best chunks of each question, by the weights of its words, as often as they occur in it; 0 is no hit."""
        step = max(1, _NUMBERS_AT_ONCE // max(self.chunks, 1))
        parts: list[Top] = []
        for first in range(0, len(questions), step):
            asked = questions[first : first + step]
            scores = np.zeros((len(asked), self.chunks))
            for row, question in zip(scores, asked, strict=True):
                for word, count in Counter(question_words(question, self.language)).items():
                    if (number := self.vocabulary.get(word)) is not None:
                        start, end = self.starts[number], self.starts[number + 1]
                        row[self.places[start:end]] += count * self.weights[start:end]
            scores[scores <= 0.0] = -np.inf
            parts.append(select_top(scores, pool))
        return merge_blocks(parts, pool)


def search_words(text: str, language: str = "") -> list[str]:
    """What BM25 counts: folded words, pairs of characters in scripts without spaces and in Korean, Arabic words without
    vowel marks and article; stemmed where a language is given.

    >>> search_words("Die Häuser von 東京都", "de")
    ['die', 'haus', 'von', '東京', '京都']
    """
    stem = _stemmer(language)
    return [form for word in words(text) for form in _forms(word, stem)]


def question_words(text: str, language: str = "") -> list[str]:
    """The words to search for: those of the question without stop words, or all of them where it has no other. Pairs of
    hiragana, which are mostly grammar, count as stop words too."""
    stop, stem = stop_words(language), _stemmer(language)
    found = [word for word in words(text) if word not in stop and not _HIRAGANA.fullmatch(word)]
    return [form for word in found or words(text) for form in _forms(word, stem)]


def detect_language(texts: Sequence[str]) -> str:
    """The ISO code of the language whose stop words the texts use; "" where there is little text, where it has few words of
    any list, and where two languages are close."""
    found = Counter(word for text in texts[:: len(texts) // 400 + 1] for word in words(text[:2000]))
    used = {
        code: sum(found[word] for word in listed)
        for code, listed in _stop_lists().items()
        if code != "any"
    }
    best, second = sorted(used, key=lambda code: -used[code])[:2]
    clear = used[best] - used[second] >= _LEAST_LEAD * found.total()
    return best if clear and found.total() >= _LEAST_WORDS else ""


@lru_cache(maxsize=8)
def stop_words(language: str) -> frozenset[str]:
    """Folded words of a language that carry no subject; for an unknown language the general ones."""
    lists = _stop_lists()
    code = next(
        (code for code, name in _STEMMERS.items() if name == language.lower()), language.lower()
    )
    return lists["any"] | lists.get(code, frozenset())


@cache
def _stop_lists() -> dict[str, frozenset[str]]:
    lists: dict[str, str] = tomllib.loads(_STOP_WORDS.read_text(encoding="utf-8"))
    return {code: frozenset(fold(text).split()) for code, text in lists.items()}


@lru_cache(maxsize=200_000)
def _forms(word: str, stem: Callable[[str], str]) -> tuple[str, ...]:
    if word.isascii():
        return (stem(word),)
    if _HANGUL.search(word):
        return tuple(pair for _, pair in bigrams(word))
    word = word.translate(_INDIC_MARKS)
    if _ARABIC.search(word):
        word = _ARTICLE.sub("", word.translate(_ARABIC_LETTERS))
    return (stem(word),) if word else ()


@lru_cache(maxsize=8)
def _stemmer(language: str) -> Callable[[str], str]:
    """The stemmer of an ISO code or an English name; an error that names what there is for any other."""
    if not language or language in _BY_PAIRS:
        return str
    name = _STEMMERS.get(language.lower(), language.lower())
    if name not in _STEMMERS.values():
        known = {*_STEMMERS, *_STEMMERS.values(), *_BY_PAIRS}
        hint = (
            did_you_mean(language, known)
            or f"; there are {', '.join(sorted({*_STEMMERS, *_BY_PAIRS}))}"
        )
        raise SettingsError(f'[retrieval] language = "{language}": no stemmer for it{hint}')
    import snowballstemmer

    return cast("Callable[[str], str]", snowballstemmer.stemmer(name).stemWord)


def build_bm25(texts: Sequence[str], formula: Formula) -> Bm25:
    """The index of the texts, from the cache where the same texts and formula were seen before."""
    _stemmer(formula.language)  # an unknown language is an error before any work
    key = digest("bm25-3", formula.variant, formula.k1, formula.b, formula.language, texts)

    def make() -> bytes:
        arrays, vocabulary = _weigh(
            [search_words(text, formula.language) for text in texts], formula
        )
        buffer = io.BytesIO()
        np.savez(buffer, words=np.frombuffer(json.dumps(vocabulary).encode(), np.uint8), **arrays)
        return buffer.getvalue()

    with np.load(io.BytesIO(kept_file("bm25", key, make)), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in ("data", "indices", "indptr")}
        vocabulary: list[str] = json.loads(stored["words"].tobytes())
    numbers = {word: number for number, word in enumerate(vocabulary)}
    return Bm25(
        numbers, arrays["data"], arrays["indices"], arrays["indptr"], len(texts), formula.language
    )


def _weigh(tokens: list[list[str]], formula: Formula) -> tuple[dict[str, Any], list[str]]:
    """The weights as a compressed table, one row per word; an empty corpus has a single empty row."""
    import bm25s

    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in text] for text in tokens]
    if not vocabulary:
        return {
            "data": np.empty(0),
            "indices": np.empty(0, np.int64),
            "indptr": np.zeros(2, np.int64),
        }, []
    model = bm25s.BM25(k1=formula.k1, b=formula.b, method=formula.variant, dtype="float64")
    model.index((ids, dict(vocabulary)), create_empty_token=False, show_progress=False)
    return {name: np.asarray(model.scores[name]) for name in ("data", "indices", "indptr")}, list(
        vocabulary
    )
