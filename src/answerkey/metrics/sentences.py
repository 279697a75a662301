"""Sentences taken apart: content words, numbers, names and negations, each with its place.

Works on any script: words are runs of letters with their marks; Chinese, Japanese and Thai are cut into pairs of
characters. Stop words and stems are English only; `language` says which features are meaningful.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from answerkey.metrics.number_words import SPELLED
from answerkey.text import MARKS, UNSPACED, bigrams, numbers

_TOKEN = re.compile(rf"[{UNSPACED}]+|\d+(?:[.,]\d+)*|(?:[^\W\d_{UNSPACED}]|[{MARKS}])+|\d+")
_UNSPACED_RUN = re.compile(rf"[{UNSPACED}]")
# Each begins with one set of characters, and looks back at it: so the others are skipped five times as fast.
_BREAK = re.compile(
    r"[.!?。！？।\n](?:(?<=[.!?])[.!?]*[\"'”’)\]]*(?=\s|$)|(?<=[。！？।])[。！？।]*[”’」』）]*|(?<=\n)\n*)"
)
_LIST_NUMBER = re.compile(
    r"(?:^|\s)[A-Z]\.$|(?:^|[.!?:;]\s)\s*(?:\d{1,2}|[a-z]|[ivx]{1,4})\.$", re.MULTILINE
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|e\.g|i\.e|approx|no|inc|ltd|co|corp|fig|gen|sen|rep|gov|lt|col"
    r"|z\.b|bzw|ca|nr|sra|dra|jan|feb|apr|jun|jul|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)


@cache
def _lists() -> dict[str, Any]:
    return tomllib.loads(
        (files("answerkey.metrics") / "words" / "english.toml").read_text(encoding="utf-8")
    )


@cache
def word_list(name: str) -> frozenset[str]:
    """A list of English words, as they are written."""
    return frozenset(_lists()[name].split())


@cache
def stem_list(name: str) -> frozenset[str]:
    return frozenset(stem(word) for word in word_list(name))


@cache
def word_groups(name: str) -> tuple[str, ...]:
    """A list of groups of English words, each group as one string."""
    return tuple(_lists()[name])


@cache
def phrases() -> dict[str, str]:
    """Regular expressions for what one word says, by that word."""
    return dict(_lists()["phrases"])


@cache
def synonyms() -> dict[str, frozenset[str]]:
    """For each stem those of the words that may stand for it."""
    found: dict[str, frozenset[str]] = {}
    for group in word_groups("synonyms"):
        stems = frozenset(stem(word) for word in group.split())
        for word in stems:
            found[word] = found.get(word, frozenset()) | stems - {word}
    return found


@cache
def bounds() -> tuple[tuple[str, str], tuple[str, str]]:
    """Regular expressions for what stands before and after a figure that is the most, and one that is the least."""
    found: dict[str, list[str]] = _lists()["bounds"]
    (most, most_after), (least, least_after) = found["most"], found["least"]
    return (most, most_after), (least, least_after)


@cache
def poles() -> dict[str, tuple[tuple[int, int], ...]]:
    """For each stem the axes that it is on, and the side: (n, 1) or (n, -1). Relations have negative numbers."""
    found: dict[str, tuple[tuple[int, int], ...]] = {}
    lists = [(n, pair) for n, pair in enumerate(_lists()["poles"], start=1)]
    lists += [(-n, pair) for n, pair in enumerate(_lists()["relations"], start=1)]
    for axis, pair in lists:
        for side, words in zip((1, -1), pair.split(" | "), strict=True):
            for word in sorted({stem(word) for word in words.split()}):
                found[word] = (*found.get(word, ()), (axis, side))
    return found


@cache
def opposites() -> dict[str, frozenset[str]]:
    """For each stem the stems on the other side of one of its axes."""
    sides: dict[tuple[int, int], set[str]] = {}
    for word, places in poles().items():
        for place in places:
            sides.setdefault(place, set()).add(word)
    return {
        word: frozenset(other for axis, side in places for other in sides[axis, -side]) - {word}
        for word, places in poles().items()
    }


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence of a text, taken apart. `stems`, `content`, `named` and `spans` are parallel."""

    start: int
    end: int
    stems: tuple[str, ...]
    content: tuple[bool, ...]
    spans: tuple[tuple[int, int], ...]
    named: tuple[bool, ...]
    numbers: tuple[float, ...]
    negations: int

    def content_stems(self) -> list[str]:
        return [stem for stem, counts in zip(self.stems, self.content, strict=True) if counts]


def sentence_spans(text: str, longest: int = 400) -> list[tuple[int, int]]:
    """Start and end of each sentence, trimmed. Lines end a sentence; `1.`, `Dr.` and initials do not.

    A stretch longer than `longest` characters with no end mark is cut at a space.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for found in _BREAK.finditer(text):
        head = text[max(start, found.end() - 12) : found.end()]
        if found[0] == "." and (_LIST_NUMBER.search(head) or _ABBREVIATION.search(head)):
            continue
        _keep(text, start, found.end(), spans)
        start = found.end()
    _keep(text, start, len(text), spans)
    return [part for span in spans for part in _cut(text, span, longest)]


def _keep(text: str, start: int, end: int, spans: list[tuple[int, int]]) -> None:
    part = text[start:end]
    if any(ch.isalnum() for ch in part):
        left = len(part) - len(part.lstrip())
        spans.append((start + left, start + len(part.rstrip())))


def _cut(text: str, span: tuple[int, int], longest: int) -> list[tuple[int, int]]:
    start, end = span
    parts: list[tuple[int, int]] = []
    while end - start > longest:
        space = text.rfind(" ", start + longest // 2, start + longest)
        cut = space if space > 0 else start + longest
        parts.append((start, cut))
        start = cut + (space > 0)
    return [*parts, (start, end)]


@lru_cache(maxsize=1024)
def pieces(text: str) -> tuple[Piece, ...]:
    """The sentences of the text, each taken apart."""
    return tuple(_piece(text, start, end) for start, end in sentence_spans(text))


def _piece(text: str, start: int, end: int) -> Piece:
    stems: list[str] = []
    content: list[bool] = []
    spans: list[tuple[int, int]] = []
    named: list[bool] = []
    values = [number.value for number in numbers(text[start:end])]
    negations = 0
    for found in _TOKEN.finditer(text, start, end):
        if _UNSPACED_RUN.match(found[0]):
            for at, pair in bigrams(found[0]):
                stems.append(pair)
                content.append(True)
                named.append(False)
                spans.append((found.start() + at, found.start() + at + len(pair)))
            continue
        word = found[0].lower()
        negations += word in word_list("negations") or (
            word == "t" and text[found.start() - 1 : found.start()] in {"'", "’"}
        )
        if word in SPELLED:
            values.append(SPELLED[word])
        stems.append(stem(word))
        content.append(
            word not in word_list("stop_words")
            and (len(word) > 1 or not word.isascii() or word.isdigit())
        )
        named.append(found[0][0].isupper() and bool(stems[1:]) and content[-1])
        spans.append(found.span())
    return Piece(
        start,
        end,
        tuple(stems),
        tuple(content),
        tuple(spans),
        tuple(named),
        tuple(values),
        negations,
    )


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """A light English stem without accents: plural and verb endings are removed."""
    if not word.isascii():
        bare = "".join(
            ch for ch in unicodedata.normalize("NFKD", word) if not "\u0300" <= ch <= "\u036f"
        )
        if not bare or not bare.isascii():
            return bare or word
        word = bare
    if word[:1].isdigit():
        plain = word.replace(",", "").rstrip(".")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    if len(word) < 4:
        return word
    if len(word) > 7 and word.endswith("ness") and word not in _NO_STATE:
        word = word[:-4]
    for ending, put in () if word.endswith(("ss", "us", "is")) else _ENDINGS:
        if word.endswith(ending) and _VOWEL.search(word, 0, len(word) - len(ending)):
            word = word[: len(word) - len(ending)] + put
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "eiy" else word


_NO_STATE = frozenset({"business", "agribusiness"})
_VOWEL = re.compile(r"[aeiouy].")
_ENDINGS = (
    ("ations", "at"),
    ("ation", "at"),
    ("ions", ""),
    ("ion", ""),
    ("ingly", ""),
    ("edly", ""),
    ("ies", "y"),
    ("ied", "y"),
    ("sses", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("zes", "z"),
    ("ing", ""),
    ("ed", ""),
    ("ly", ""),
    ("s", ""),
)


def language(text: str) -> str:
    """`english`, `other` (Latin letters, but function words of another language), or the name of another script.

    `unclear` for a text with too few function words: a name, a table, a short answer.
    """
    letters = [ch for ch in text if ch.isalpha()]
    foreign = [ch for ch in letters if ch > "\u024f"]
    if len(foreign) > 0.5 * len(letters):
        return unicodedata.name(foreign[0], "OTHER").split(" ")[0].lower()
    tokens = [found[0].lower() for found in _TOKEN.finditer(text)]
    ours = sum(token in word_list("function_words") for token in tokens)
    theirs = sum(token in word_list("other_function_words") for token in tokens)
    if theirs > max(1, ours):
        return "other"
    return "english" if ours and ours >= theirs else "unclear"
