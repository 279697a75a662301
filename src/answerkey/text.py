"""Words, sentences, numbers and citation marks: the one place that defines them."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

# Signs that are written over or after a letter.
MARKS = "\u0300-\u036f\u064b-\u065f\u0670\u0900-\u0dff\u200c\u200d"
# Scripts without spaces: Thai, Lao, Tibetan, Burmese, Khmer, Japanese, Chinese.
UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# The vowel signs of unspaced scripts are no letters to \w.
_WORD = re.compile(rf"[\w{MARKS}{UNSPACED}]+")
_UNSPACED = re.compile(rf"[{UNSPACED}]+")
_TYPOGRAPHIC = str.maketrans("‘’‚‛′“”„‟″«»‹›‐‑‒–—―−", "'''''" + '"' * 7 + "''" + "-" * 7)
_SENTENCE_END = re.compile(r"[.!?]+")
_NUMBER = re.compile(
    r"(?=[rmueg$€£¥₹\d.\-−])"  # what a number can begin with: only for speed
    # The sign stands close to the number: with a blank between it is a bullet or a dash.
    r"(?P<sign>(?<![\w.,])[-−])?"
    r"(?:(?<![^\W\d_])(?P<currency>rm|myr|usd|eur|gbp|us\$|[$€£¥₹])\s?(?P<sign2>[-−])?"
    r"|(?<![\w.,]))"
    r"(?!(?<=\d:)00\b)"  # the minutes of 9:00
    r"(?P<digits>\.\d+|\d+(?:[.,'\u00a0\u202f]\d+)*)"
    r"(?:\s?(?P<unit>%|percent\b|thousand\b|million\b|billion\b|trillion\b)"
    r"|(?P<scale>[bt]n\b|[kmb]\b)|(?-i:\s(?P<apart>[bt]n|[KMB])\b))?",
    re.IGNORECASE,
)
_MARKS_LISTED = r"\d{1,4}(?:\s*[,;–-]\s*\^?(?:doc\s?)?\d{1,4})*"
# [1], [1, 2], [1-3], [^1], 【1】, 【1†source】, [doc1], [Doc 1]
CITATION = re.compile(
    rf"[\[【]\s?\^?(?:(?:doc(?:ument)?|source|passage|ref)s?\.?\s?#?)?({_MARKS_LISTED})"
    r"\^?(?:†[^\]】]*)?\s?[\]】]",
    re.IGNORECASE,
)
_AT_SENTENCE_END = re.compile(
    r"(?<=[\w%)\"'.!?])\s?\((\d{1,2}(?:\s*[,;–-]\s*\d{1,2})*)\)(?=\s*(?:[.!?]|$|\n))"
    r"|(?<=[.!?])\s\((\d{1,2})\)(?=\s)"
)
# Controls, direction overrides, invisible marks and half surrogate pairs. Joiners stay: some
# scripts need them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
_LIGHT_PUNCTUATION = " \t.,;:!?¡¿…\"'`´“”‘’«»()[]{}*_-–—。，？！（）"
_IN_DIGITS = re.compile(r"['\u00a0\u202f]")
_SCALES = {
    "k": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "million": 1e6,
    "b": 1e9,
    "bn": 1e9,
    "billion": 1e9,
    "tn": 1e12,
    "trillion": 1e12,
}
# Of a longer range only the ends are read: `[1-9999]` must not become a list of thousands.
_LONGEST_CITATION_RANGE = 100
_FORMULA_SIGNS = tuple("=+-@＝＋－＠")


def format_count(number: int, noun: str, plural: str = "") -> str:
    """`1 case`, `2 cases`; `plural` is for nouns that need more than an s."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {plural or noun + 's'}"


def unify_characters(text: str) -> str:
    """One spelling of the same characters (NFKC), with straight quotes and plain hyphens.

    >>> unify_characters("“ｎ° 5”")
    '"n° 5"'
    """
    # Most texts are ASCII, and normalising takes far longer than this look.
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.translate(_TYPOGRAPHIC))


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """The text as it is compared, with unified characters and without case.

    >>> fold("Straße")
    'strasse'
    """
    return unify_characters(text).casefold()


def normalise(text: str) -> str:
    """Folded, trimmed, white space collapsed."""
    return " ".join(fold(text).split())


@lru_cache(maxsize=4096)
def space_words(text: str) -> str:
    """The folded text with spaces also in scripts that have none, between pairs of characters."""
    folded = fold(text)
    if folded.isascii():
        return folded
    return _UNSPACED.sub(lambda run: f" {' '.join(pair for _, pair in bigrams(run[0]))} ", folded)


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """Folded runs of letters, digits and underscores, in order.

    Scripts without spaces are cut into pairs of characters.

    >>> words("Rise of 5%: 東京都")
    ('rise', 'of', '5', '東京', '京都')
    """
    return tuple(_WORD.findall(space_words(text)))


def faq_tokens(text: str) -> frozenset[str]:
    """The set of lower-cased words without punctuation at their ends: `PSoC?` is `psoc`.

    >>> sorted(faq_tokens("Wi-Fi, for 3.5 days!"))
    ['3.5', 'days', 'for', 'wi-fi']
    """
    stripped = (word.strip(_LIGHT_PUNCTUATION) for word in text.lower().split())
    return frozenset(word for word in stripped if word)


def bigrams(run: str) -> list[tuple[int, str]]:
    """Every two neighbouring characters with their place: `[(0, "東京"), (1, "京都")]`."""
    # A run of one character is a token as well.
    return [(n, run[n : n + 2]) for n in range(max(1, len(run) - 1))]


def split_at_stops(text: str) -> list[str]:
    """Split at `.`, `!` and `?`, as `answer_hallucination` does; drop parts without a word."""
    return [part.strip() for part in _SENTENCE_END.split(text) if _WORD.search(part)]


def citations(text: str) -> list[int]:
    """The numbers in citation marks, in order.

    Marks are `[2]`, `[1, 3]`, `[1-3]` (every number of a range), `[^1]`, `【1】`, `[doc1]`,
    `[Doc 1]`; and `(1)` at the end of a sentence where there is no other mark.

    >>> citations("It is so [1, 3]. And so [Doc 2].")
    [1, 3, 2]
    """
    marks: list[str] = CITATION.findall(text)
    # "(1)" also numbers lists, so it is a mark only where no other mark is used.
    if not marks and "(" in text:
        marks = [match[1] or match[2] for match in _AT_SENTENCE_END.finditer(text)]
    numbers_cited: list[int] = []
    for mark in marks:
        for part in re.split(r"\s*[,;]\s*", mark):
            ends = [int(end) for end in re.findall(r"\d+", part)]
            numbers_cited += _citation_range(ends[0], ends[-1])
    return numbers_cited


def _citation_range(first: int, last: int) -> Iterable[int]:
    if last - first > _LONGEST_CITATION_RANGE:
        return (first, last)
    # A range the wrong way round, "[3-1]", is empty and names nothing.
    return range(first, last + 1)


def bracket_citations(text: str) -> str:
    """Write `(1)` at the end of sentences as `[1]`, in a text that has no other citation mark."""
    if "(" not in text or CITATION.search(text):
        return text
    return _AT_SENTENCE_END.sub(lambda match: f" [{match[1] or match[2]}]", text)


def has_any(text: str, needles: Iterable[str]) -> bool:
    """Whether some needle occurs anywhere in the folded text."""
    folded = fold(text)
    return any(fold(needle) in folded for needle in needles)


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def printable(text: str) -> str:
    """The text made inert for a terminal or a page: invisible and steering characters become `�`.

    One character for one, so that positions in the text stay right.

    >>> printable("a\\x1b[2Jb")
    'a�[2Jb'
    """
    if text.isascii() and text.isprintable():
        return text
    return _INVISIBLE.sub("�", text)


def printable_json(text: str) -> str:
    """JSON text made inert for a terminal: invisible and steering characters are written as `\\u…`.

    A program reads the same value.

    >>> printable_json('"a\u202eb"')
    '"a\\\\u202eb"'
    """
    # DEL is the one control character that JSON may write as it is.
    text = text.replace("\x7f", "\\u007f")
    if text.isascii():
        return text
    return _INVISIBLE.sub(lambda match: json.dumps(match[0])[1:-1], text)


def spreadsheet_text(text: str) -> str:
    """Put a quote in front of text that a spreadsheet would run as a formula.

    >>> spreadsheet_text("=cmd()")
    "'=cmd()"
    >>> spreadsheet_text("")
    ''
    """
    # Spreadsheets also take full-width signs, and skip blanks before a sign.
    if text.lstrip().startswith(_FORMULA_SIGNS) or text.startswith(("\t", "\r", "\n")):
        return f"'{text}"
    return text


def short_label(text: str, longest: int = 60) -> str:
    """The beginning of a text on one line, made inert: for an axis, a heading or a table cell."""
    # The cut comes first: collapsing blanks of a whole document takes time.
    label = printable(" ".join(text[: longest * 4].split()))
    if len(label) <= longest:
        return label
    return f"{label[: longest - 1]}…"


def duration(seconds: float) -> str:
    """Rounded for people: `0.4 ms`, `52 ms`, `4.2 s`, `3 min`, `1.5 h`."""
    if seconds < 0.001:
        return f"{seconds * 1000:.1g} ms"
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@dataclass(frozen=True, slots=True)
class Number:
    """A number as a person wrote it: `RM 1.2M` is 1,200,000 in currency; `12%` is 12 in percent.

    `end` is the place in the text where it ends.
    """

    value: float
    text: str
    percent: bool = False
    currency: bool = False
    end: int = 0


@lru_cache(maxsize=4096)
def numbers(text: str, decimal: str = ".") -> tuple[Number, ...]:
    """Every number in the text that a float can hold.

    `decimal` is the locale's mark, and decides `1.234` and `1,234`.
    """
    parsed: list[Number] = []
    for match in _NUMBER.finditer(text):
        value = _parse_digits(match["digits"], decimal)
        unit = (match["unit"] or match["scale"] or match["apart"] or "").lower()
        if value is None:
            continue
        value *= _SCALES.get(unit, 1.0)
        # Hundreds of digits overflow, and JSON has no infinity.
        if not math.isfinite(value):
            continue
        if match["sign"] or match["sign2"]:
            value = -value
        is_percent = unit in {"%", "percent"}
        has_currency = bool(match["currency"])
        parsed.append(Number(value, match[0].strip(), is_percent, has_currency, match.end()))
    return tuple(parsed)


def _parse_digits(written: str, decimal: str) -> float | None:
    """The value of digits with separators; None for a version such as `1.2.3`."""
    if written.isdecimal():
        return float(written)
    digits = _IN_DIGITS.sub("", written)
    marks = [char for char in digits if char in ".,"]
    if not marks or digits.startswith("."):
        return float(digits)
    if len(set(marks)) == 2:
        return _parse_with_both_marks(digits, marks)
    groups = digits.split(marks[0])
    is_in_threes = _is_in_threes(groups)
    # Several marks of one kind can only group thousands.
    if len(marks) > 1:
        if is_in_threes or (marks[0] == "," and _is_indian(groups)):
            return float("".join(groups))
        return None
    # "1,234" is 1234 where the point is the decimal mark, and 1.234 where the comma is.
    if is_in_threes and marks[0] != decimal:
        return float("".join(groups))
    return float(".".join(groups))


def _parse_with_both_marks(digits: str, marks: list[str]) -> float | None:
    """`1.234,5` and `1,234.5`: the last mark is the decimal mark, and stands there once."""
    last = marks[-1]
    if marks.count(last) > 1:
        return None
    other = "," if last == "." else "."
    return float(digits.replace(other, "").replace(last, "."))


def _is_in_threes(groups: list[str]) -> bool:
    first, *rest = groups
    return 1 <= len(first) <= 3 and first != "0" and all(len(group) == 3 for group in rest)


def _is_indian(groups: list[str]) -> bool:
    """`12,34,567`: pairs, and three digits at the end."""
    return len(groups[-1]) == 3 and all(len(group) == 2 for group in groups[1:-1])


_EXCERPT = 240  # characters in a list


def excerpt(text: str) -> str:
    """The beginning of a text, on one line."""
    return " ".join(text[: _EXCERPT * 2].split())[:_EXCERPT]
