"""Words, sentences, numbers and citation marks: the one place that defines them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

MARKS = (
    "\u0300-\u036f\u064b-\u065f\u0670\u0900-\u0dff\u200c\u200d"  # written over or after a letter
)
# Thai, Lao, Tibetan, Burmese, Khmer, Japanese, Chinese
UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(
    rf"[\w{MARKS}{UNSPACED}]+"
)  # vowel signs of unspaced scripts are no letters to \w
_UNSPACED = re.compile(rf"[{UNSPACED}]+")
_TYPOGRAPHIC = str.maketrans("‘’‚‛′“”„‟″«»‹›‐‑‒–—―−", "'''''" + '"' * 7 + "''" + "-" * 7)
_SENTENCE_END = re.compile(r"[.!?]+")
_NUMBER = re.compile(
    r"(?=[rmueg$€£¥₹\d.\-−])"  # what a number can begin with: only for speed
    r"(?P<sign>(?<![\w.,])[-−])?"  # close to what follows: with a blank between it is a bullet or a dash
    r"(?:(?<![^\W\d_])(?P<currency>rm|myr|usd|eur|gbp|us\$|[$€£¥₹])\s?(?P<sign2>[-−])?|(?<![\w.,]))"
    r"(?!(?<=\d:)00\b)"  # the minutes of 9:00
    r"(?P<digits>\.\d+|\d+(?:[.,'\u00a0\u202f]\d+)*)"
    r"(?:\s?(?P<unit>%|percent\b|thousand\b|million\b|billion\b|trillion\b)|(?P<scale>[bt]n\b|[kmb]\b)|(?-i:\s(?P<apart>[bt]n|[KMB])\b))?",
    re.IGNORECASE,
)
_MARKS_LISTED = r"\d{1,4}(?:\s*[,;–-]\s*\^?(?:doc\s?)?\d{1,4})*"
# [1], [1, 2], [1-3], [^1], 【1】, 【1†source】, [doc1], [Doc 1]
CITATION = re.compile(
    rf"[\[【]\s?\^?(?:(?:doc(?:ument)?|source|passage|ref)s?\.?\s?#?)?({_MARKS_LISTED})\^?(?:†[^\]】]*)?\s?[\]】]",
    re.IGNORECASE,
)
_AT_SENTENCE_END = re.compile(
    r"(?<=[\w%)\"'.!?])\s?\((\d{1,2}(?:\s*[,;–-]\s*\d{1,2})*)\)(?=\s*(?:[.!?]|$|\n))|(?<=[.!?])\s\((\d{1,2})\)(?=\s)"
)
# Controls, direction overrides, invisible marks and half surrogate pairs. Joiners stay: some scripts need them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
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
_FORMULA_SIGNS = tuple("=+-@＝＋－＠")


def format_count(number: int, noun: str, plural: str = "") -> str:
    """`1 case`, `2 cases`; `plural` is for nouns that need more than an s."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def unify_characters(text: str) -> str:
    """One spelling of the same characters (NFKC), with straight quotes and plain hyphens: `“ｎ° 5”` is `"n° 5"`."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.translate(_TYPOGRAPHIC))


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """The text as it is compared: `unify_characters` and without case. `fold("Straße")` is `strasse`."""
    return unify_characters(text).casefold()


def normalise(text: str) -> str:
    """Folded, trimmed, white space collapsed."""
    return " ".join(fold(text).split())


@lru_cache(maxsize=4096)
def space_words(text: str) -> str:
    """The folded text with a space between words also where the script has none, by pairs of characters."""
    folded = fold(text)
    if folded.isascii():
        return folded
    return _UNSPACED.sub(lambda run: f" {' '.join(pair for _, pair in bigrams(run[0]))} ", folded)


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """Folded runs of letters, digits and underscores, in order; scripts without spaces as pairs of characters.

    >>> words("Rise of 5%: 東京都")
    ('rise', 'of', '5', '東京', '京都')
    """
    return tuple(_WORD.findall(space_words(text)))


def bigrams(run: str) -> list[tuple[int, str]]:
    """Every two neighbouring characters with their place: `[(0, "東京"), (1, "京都")]`."""
    return [(n, run[n : n + 2]) for n in range(max(1, len(run) - 1))]


def split_at_stops(text: str) -> list[str]:
    """Split at `.`, `!` and `?`, the plain rule of `answer_hallucination`; parts without a word are dropped."""
    return [part.strip() for part in _SENTENCE_END.split(text) if _WORD.search(part)]


def citations(text: str) -> list[int]:
    """The numbers in citation marks, in order: `[2]`, `[1, 3]`, `[1-3]` (every number of a range), `[^1]`, `【1】`, `[doc1]`,
    `[Doc 1]`; and `(1)` at the end of a sentence where there is no other mark.

    >>> citations("It is so [1, 3]. And so [Doc 2].")
    [1, 3, 2]
    """
    marks: list[str] = CITATION.findall(text)
    if not marks and "(" in text:
        marks = [match[1] or match[2] for match in _AT_SENTENCE_END.finditer(text)]
    found: list[int] = []
    for mark in marks:
        for part in re.split(r"\s*[,;]\s*", mark):
            ends = [int(end) for end in re.findall(r"\d+", part)]
            # Of a range of thousands only the ends: it must not become a list of thousands.
            found += (
                (ends[0], ends[-1]) if ends[-1] - ends[0] > 100 else range(ends[0], ends[-1] + 1)
            )
    return found


def bracket_citations(text: str) -> str:
    """The text with `(1)` at the end of sentences written as `[1]`, where it has no other citation mark."""
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
    """The text made inert for a terminal or a page: what could steer or deceive the reader becomes `�`.

    One character for one, so that positions in the text stay right.

    >>> printable("a\\x1b[2Jb")
    'a�[2Jb'
    """
    return text if text.isascii() and text.isprintable() else _INVISIBLE.sub("�", text)


def spreadsheet_text(text: str) -> str:
    """Text that a spreadsheet would run as a formula, with a quote in front; full-width signs count as signs.

    >>> spreadsheet_text("=cmd()")
    "'=cmd()"
    >>> spreadsheet_text("")
    ''
    """
    is_formula = text.lstrip().startswith(_FORMULA_SIGNS) or text.startswith(("\t", "\r", "\n"))
    return f"'{text}" if is_formula else text


def short_label(text: str, longest: int = 60) -> str:
    """The beginning of a text on one line, made inert: for an axis, a heading or a table cell."""
    plain = printable(" ".join(text[: longest * 4].split()))
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"


def duration(seconds: float) -> str:
    """Rounded for people: `0.4 ms`, `52 ms`, `4.2 s`, `3 min`, `1.5 h`."""
    if seconds < 0.1:
        return f"{seconds * 1000:.1g} ms" if seconds < 0.001 else f"{seconds * 1000:.0f} ms"
    if seconds < 90:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@dataclass(frozen=True, slots=True)
class Number:
    """A number as a person wrote it: `RM 1.2M` is 1,200,000 in currency; `12%` is 12 in percent. `end` is its place."""

    value: float
    text: str
    percent: bool = False
    currency: bool = False
    end: int = 0


@lru_cache(maxsize=4096)
def numbers(text: str, decimal: str = ".") -> tuple[Number, ...]:
    """Every number in the text that a float can hold. `decimal` is the locale's mark, and decides `1.234` and `1,234`."""
    found: list[Number] = []
    for match in _NUMBER.finditer(text):
        sign, currency, sign_after, digits, unit, scale, apart = match.groups()
        value = _digits(digits, decimal)
        unit = (unit or scale or apart or "").lower()
        if value is None or not math.isfinite(value := value * _SCALES.get(unit, 1.0)):
            continue
        value = -value if sign or sign_after else value
        found.append(
            Number(value, match[0].strip(), unit in {"%", "percent"}, bool(currency), match.end())
        )
    return tuple(found)


def _digits(written: str, decimal: str) -> float | None:
    """The value of digits with separators; None for what is no number, such as a version `1.2.3`."""
    if written.isdecimal():
        return float(written)
    plain = _IN_DIGITS.sub("", written)
    marks = [ch for ch in plain if ch in ".,"]
    if not marks or plain.startswith("."):
        return float(plain)
    if len(set(marks)) == 2:  # both marks: the last one is the decimal mark
        last = marks[-1]
        other = "," if last == "." else "."
        return (
            float(plain.replace(other, "").replace(last, ".")) if marks.count(last) == 1 else None
        )
    mark, groups = marks[0], plain.split(marks[0])
    in_threes = (
        all(len(group) == 3 for group in groups[1:])
        and 1 <= len(groups[0]) <= 3
        and groups[0] != "0"
    )
    if len(marks) > 1:
        indian = mark == "," and len(groups[-1]) == 3 and all(len(g) == 2 for g in groups[1:-1])
        return float("".join(groups)) if in_threes or indian else None
    if in_threes and mark != decimal:
        return float("".join(groups))
    return float(".".join(groups))
