"""What a sentence says, in pieces that can be checked: content words, numbers, names, negations, each with its place.

Works on any script: words are runs of letters with their marks; Chinese, Japanese and Thai, which are
written without spaces, are cut into pairs of characters. Stop words and stems are English only; `Piece.language`
says which features mean something.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from answerkey.text import numbers

MARKS = "\u0300-\u036f\u0900-\u0dff\u200c\u200d"
UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{UNSPACED}]+|\d+(?:[.,]\d+)*|(?:[^\W\d_{UNSPACED}]|[{MARKS}])+|\d+")
_UNSPACED_RUN = re.compile(rf"[{UNSPACED}]")
_BREAK = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s|$)|[。！？।]+[”’」』）]*|\n+")
_LIST_NUMBER = re.compile(r"(?:^|\s)(?:\d{1,2}|[A-Za-z]|[ivx]{1,4})\.$")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|e\.g|i\.e|approx|no|inc|ltd|co|corp|fig|gen|sen|rep|gov|lt|col"
    r"|z\.b|bzw|ca|nr|sra|dra)\.$",
    re.IGNORECASE,
)

STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "and",
        "or",
        "but",
        "if",
        "then",
        "than",
        "so",
        "as",
        "of",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "on",
        "onto",
        "to",
        "with",
        "without",
        "within",
        "about",
        "above",
        "below",
        "over",
        "under",
        "between",
        "among",
        "through",
        "during",
        "before",
        "after",
        "up",
        "down",
        "out",
        "off",
        "again",
        "further",
        "once",
        "here",
        "there",
        "when",
        "where",
        "why",
        "how",
        "what",
        "which",
        "who",
        "whom",
        "whose",
        "this",
        "that",
        "these",
        "those",
        "it",
        "its",
        "itself",
        "he",
        "him",
        "his",
        "himself",
        "she",
        "her",
        "hers",
        "herself",
        "they",
        "them",
        "their",
        "theirs",
        "themselves",
        "we",
        "us",
        "our",
        "ours",
        "ourselves",
        "you",
        "your",
        "yours",
        "yourself",
        "i",
        "me",
        "my",
        "mine",
        "myself",
        "is",
        "am",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "do",
        "does",
        "did",
        "doing",
        "done",
        "have",
        "has",
        "had",
        "having",
        "can",
        "could",
        "may",
        "might",
        "must",
        "shall",
        "should",
        "will",
        "would",
        "not",
        "no",
        "nor",
        "only",
        "own",
        "same",
        "too",
        "very",
        "just",
        "also",
        "such",
        "both",
        "each",
        "few",
        "more",
        "most",
        "other",
        "some",
        "any",
        "all",
        "because",
        "until",
        "while",
        "s",
        "t",
        "d",
        "ll",
        "m",
        "re",
        "ve",
        "don",
        "doesn",
        "didn",
        "isn",
        "aren",
        "wasn",
        "weren",
        "won",
        "wouldn",
        "couldn",
        "shouldn",
        "hasn",
        "haven",
        "hadn",
        "however",
        "therefore",
        "thus",
        "hence",
        "etc",
    ]
)
NEGATIONS = frozenset(
    [
        "not",
        "no",
        "never",
        "none",
        "neither",
        "nor",
        "without",
        "cannot",
        "cant",
        "isnt",
        "arent",
        "wasnt",
        "werent",
        "dont",
        "doesnt",
        "didnt",
        "wont",
        "wouldnt",
        "couldnt",
        "shouldnt",
        "hasnt",
        "havent",
        "hadnt",
        "n't",
        "nobody",
        "nothing",
        "nowhere",
        "hardly",
        "unable",
    ]
)
_FUNCTION_WORDS = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "and",
        "to",
        "in",
        "is",
        "are",
        "was",
        "for",
        "with",
        "that",
        "this",
        "it",
        "on",
        "as",
        "be",
        "by",
        "or",
        "from",
        "at",
        "not",
        "you",
    ]
)
_SPELLED = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
} | {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
}


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence of a text, taken apart. `stems` and `content` run in step with `spans`."""

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


@lru_cache(maxsize=20_000)
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
            for at, pair in _pairs(found[0]):
                stems.append(pair)
                content.append(True)
                named.append(False)
                spans.append((found.start() + at, found.start() + at + len(pair)))
            continue
        word = found[0].lower()
        negations += word in NEGATIONS or (
            word == "t" and text[found.start() - 1 : found.start()] in {"'", "’"}
        )
        if word in _SPELLED:
            values.append(float(_SPELLED[word]))
        stems.append(stem(word))
        content.append(word not in STOP_WORDS and (len(word) > 1 or not word.isascii() or word.isdigit()))
        named.append(found[0][0].isupper() and bool(stems[1:]) and content[-1])
        spans.append(found.span())
    return Piece(
        start, end, tuple(stems), tuple(content), tuple(spans), tuple(named), tuple(values), negations
    )


def _pairs(run: str) -> list[tuple[int, str]]:
    return [(n, run[n : n + 2]) for n in range(max(1, len(run) - 1))]


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """A light English stem, without accents: plurals and verb endings go, nothing clever."""
    if not word.isascii():
        bare = "".join(ch for ch in unicodedata.normalize("NFKD", word) if not "\u0300" <= ch <= "\u036f")
        if not bare.isascii():
            return bare
        word = bare
    if word[0].isdigit():
        return word.replace(",", "").rstrip(".")
    if len(word) < 4:
        return word
    for ending, put in () if word.endswith(("ss", "us", "is")) else _ENDINGS:
        if word.endswith(ending) and _VOWEL.search(word, 0, len(word) - len(ending)):
            word = word[: len(word) - len(ending)] + put
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "eiy" else word


_VOWEL = re.compile(r"[aeiouy].")
_ENDINGS = (
    ("ations", "at"), ("ation", "at"), ("ions", ""), ("ion", ""), ("ingly", ""), ("edly", ""), ("ies", "y"), ("ied", "y"), ("sses", "ss"),
    ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("zes", "z"), ("ing", ""), ("ed", ""), ("ly", ""), ("s", ""),
)  # fmt: skip


def is_english(text: str) -> bool:
    """Whether stop words and stems mean something here: enough English function words among Latin letters."""
    tokens = [found[0].lower() for found in _TOKEN.finditer(text)]
    if not tokens:
        return True
    latin = sum(token.isascii() for token in tokens) / len(tokens)
    marks = sum(token in _FUNCTION_WORDS for token in tokens)
    return latin > 0.8 and (marks >= 0.08 * len(tokens) or len(tokens) < 12)
