"""Sentences taken apart: content words, numbers, names and negations, each with its place.

Works on any script: words are runs of letters with their marks; Chinese, Japanese and Thai are cut
into pairs of characters. Stop words and stems are English only; `language_of` says whether they
are meaningful.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache

from answerkey.language.numbers import SPELLED
from answerkey.language.stems import stem
from answerkey.language.words import word_list
from answerkey.text import MARKS, UNSPACED, bigrams, numbers

Span = tuple[int, int]

_TOKEN = re.compile(rf"[{UNSPACED}]+|\d+(?:[.,]\d+)*|(?:[^\W\d_{UNSPACED}]|[{MARKS}])+|\d+")
_UNSPACED_RUN = re.compile(rf"[{UNSPACED}]")
# Each branch begins with the same set of characters and looks back at it: five times as fast as
# an alternative of three expressions.
_BREAK = re.compile(
    r"[.!?。！？।\n](?:(?<=[.!?])[.!?]*[\"'”’)\]]*(?=\s|$)"
    r"|(?<=[。！？।])[。！？।]*[”’」』）]*|(?<=\n)\n*)"
)
_LIST_NUMBER = re.compile(
    r"(?:^|\s)[A-Z]\.$|(?:^|[.!?:;]\s)\s*(?:\d{1,2}|[a-z]|[ivx]{1,4})\.$", re.MULTILINE
)
_LONGEST_HEAD = 12  # characters before a full stop that can make it part of an abbreviation


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence of a text, taken apart. `stems`, `content`, `named` and `spans` are parallel."""

    start: int
    end: int
    stems: tuple[str, ...]
    content: tuple[bool, ...]
    spans: tuple[Span, ...]
    named: tuple[bool, ...]
    numbers: tuple[float, ...]
    negations: int

    def content_stems(self) -> list[str]:
        return [stem for stem, counts in zip(self.stems, self.content, strict=True) if counts]


def sentence_spans(text: str, longest: int = 400) -> list[Span]:
    """Start and end of each sentence, trimmed. Lines end a sentence; `1.`, `Dr.` and `J.` do not.

    A stretch longer than `longest` characters with no end mark is cut at a space.
    """
    spans: list[Span] = []
    start = 0
    for mark in _BREAK.finditer(text):
        # "?!" always ends a sentence; only a bare stop may belong to an abbreviation.
        if mark[0] == "." and _is_inner_stop(text, start, mark.end()):
            continue
        spans += _trimmed_span(text, start, mark.end())
        start = mark.end()
    spans += _trimmed_span(text, start, len(text))
    return [part for span in spans for part in _cut_span(text, span, longest)]


def _is_inner_stop(text: str, start: int, end: int) -> bool:
    """Whether a full stop belongs to a list number, an initial or an abbreviation."""
    head = text[max(start, end - _LONGEST_HEAD) : end]
    return bool(_LIST_NUMBER.search(head) or _abbreviation().search(head))


@cache
def _abbreviation() -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in sorted(word_list("abbreviations")))
    return re.compile(rf"(?:^|[\s(\"“])(?:{names})\.$", re.IGNORECASE)


def _trimmed_span(text: str, start: int, end: int) -> list[Span]:
    """The span without blanks at its ends; none for a text without letters and digits."""
    part = text[start:end]
    if not any(ch.isalnum() for ch in part):
        return []
    left = len(part) - len(part.lstrip())
    return [(start + left, start + len(part.rstrip()))]


def _cut_span(text: str, span: Span, longest: int) -> list[Span]:
    start, end = span
    parts: list[Span] = []
    while end - start > longest:
        # From the middle on, so that a cut leaves no tiny part.
        space = text.rfind(" ", start + longest // 2, start + longest)
        if space > 0:
            parts.append((start, space))
            start = space + 1
        else:
            parts.append((start, start + longest))
            start += longest
    return [*parts, (start, end)]


@lru_cache(maxsize=1024)
def pieces(text: str) -> tuple[Piece, ...]:
    """The sentences of the text, each taken apart."""
    return tuple(_take_apart(text, start, end) for start, end in sentence_spans(text))


@dataclass(slots=True)
class _Tokens:
    """The tokens of one sentence, collected in parallel lists."""

    stems: list[str] = field(default_factory=list[str])
    content: list[bool] = field(default_factory=list[bool])
    spans: list[Span] = field(default_factory=list[Span])
    named: list[bool] = field(default_factory=list[bool])
    values: list[float] = field(default_factory=list[float])
    negations: int = 0

    def add_unspaced(self, run: str, start: int) -> None:
        """Add the pairs of characters of a script without spaces."""
        for at, pair in bigrams(run):
            self._add(pair, True, False, (start + at, start + at + len(pair)))

    def add_word(self, text: str, span: Span) -> None:
        """Add a word or a number."""
        written = text[slice(*span)]
        word = written.lower()
        self.negations += _is_negation(word, text, span[0])
        if word in SPELLED:
            self.values.append(SPELLED[word])
        # A capital after the first word makes a name.
        is_content = word not in word_list("stop_words") and _is_telling(word)
        # A capital at the beginning says nothing: every sentence has one.
        is_name = written[0].isupper() and bool(self.stems) and is_content
        self._add(stem(word), is_content, is_name, span)

    def _add(self, token: str, is_content: bool, is_name: bool, span: Span) -> None:
        self.stems.append(token)
        self.content.append(is_content)
        self.named.append(is_name)
        self.spans.append(span)


def _is_negation(word: str, text: str, start: int) -> bool:
    """Whether a word negates; of "don't" the token "t" does."""
    if word in word_list("negations"):
        return True
    # The tokeniser cuts "don't" at its apostrophe.
    return word == "t" and text[start - 1 : start] in {"'", "’"}


def _is_telling(word: str) -> bool:
    """Single Latin letters say nothing, but digits and letters of other scripts do."""
    return len(word) > 1 or not word.isascii() or word.isdigit()


def _take_apart(text: str, start: int, end: int) -> Piece:
    tokens = _Tokens(values=[number.value for number in numbers(text[start:end])])
    for token in _TOKEN.finditer(text, start, end):
        if _UNSPACED_RUN.match(token[0]):
            tokens.add_unspaced(token[0], token.start())
        else:
            tokens.add_word(text, token.span())
    return Piece(
        start,
        end,
        tuple(tokens.stems),
        tuple(tokens.content),
        tuple(tokens.spans),
        tuple(tokens.named),
        tuple(tokens.values),
        tokens.negations,
    )


def content_stems(text: str) -> set[str]:
    """The stems of the content words of a text."""
    return set(_content_stems(text))


def _content_stems(text: str) -> Iterator[str]:
    for piece in pieces(text):
        yield from piece.content_stems()


def language_of(text: str) -> str:
    """`english`, `other` (Latin letters, function words of another language), or a script's name.

    `unclear` for a text with too few function words: a name, a table, a short answer.
    """
    letters = [ch for ch in text if ch.isalpha()]
    # Beyond the extended Latin letters.
    foreign = [ch for ch in letters if ch > "\u024f"]
    if len(foreign) > 0.5 * len(letters):
        return unicodedata.name(foreign[0], "OTHER").split(" ")[0].lower()
    tokens = [token[0].lower() for token in _TOKEN.finditer(text)]
    english = sum(token in word_list("function_words") for token in tokens)
    other = sum(token in word_list("other_function_words") for token in tokens)
    # A single foreign word, such as "de" in a name, does not decide.
    if other > max(1, english):
        return "other"
    if english and english >= other:
        return "english"
    return "unclear"
