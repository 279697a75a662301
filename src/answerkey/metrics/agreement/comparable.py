"""A text prepared for comparison: its words in one spelling, its figures, dates, names, negations and refusal."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from answerkey.language.dates import Date, dates
from answerkey.language.numbers import COUNTED, in_digits, without_fractions
from answerkey.language.quantities import Figure, figures, unit_asked
from answerkey.language.sentences import Piece, pieces
from answerkey.language.words import word_list

END_READ = 8_000  # characters
FIGURES_READ = 200
ARTICLES = frozenset({"a", "an", "the", "of", "s"})
_SHORT = {
    "st": "saint",
    "mt": "mount",
    "ft": "fort",
    "dr": "doctor",
    "vs": "versus",
    "jr": "junior",
    "sr": "senior",
}
# Text from PDF pages loses spaces: "byMissi", "Hale1", "2019the".
_GLUED = re.compile(r"(?<=[a-zß-ÿ])(?=[A-Z][a-z])|(?<=[^\W\d_]{3})(?=\d)|(?<=\d{4})(?=[a-z]{2})")
# A footnote number glued to a year: "in 19741." is 1974 and note 1.
_GLUED_NOTE = re.compile(r"\b((?:1[5-9]|20)\d\d)(\d{1,3})(?=[\s.,;]|$)(?![.,]\d)")
_BELOW_ZERO = re.compile(r"([$€£])\s?\(([\d.,]+)\)")  # as accountants write it
# Thousands are often set apart by a no-break space, which would cut the number in two.
_IN_NUMBER = re.compile(r"(?<=\d)[\u00a0\u202f](?=\d{3}(?!\d))")
_EMPHASIS = re.compile(r"\*\*|__")  # of Markdown
_BLANKS = re.compile(r"[ \t]{2,}")
_SPLIT_DECIMAL = re.compile(r"(?<=\d)\. (?=\d)")
_DOTTED = re.compile(r"\b[A-Z]\.(?:\s{0,2}[A-Z]\.)+")
_INITIALS = re.compile(
    r"""(?:(?<=[a-z]\ )|(?<=[a-z]\.\ )|^)(?:[A-Z]\.\s{0,2})+(?=[A-Z][a-z])
    (?!(?:A|After|An|And|As|At|But|For|He|Her|His|However|If|In|It|Its|On|She|Since|That|The|Then|There|These|They|This|To|We|When
    |While|With|You)\b)""",
    re.VERBOSE,
)  # of a person's name: not those that end a sentence
_USA = re.compile(r"\b(?:[Uu]nited [Ss]tates(?: of [Aa]merica)?|US|U\. ?S\.(?: ?A\.)?)(?![\w$])")
_UK = re.compile(r"\b[Uu]nited [Kk]ingdom\b|\b[Gg]reat [Bb]ritain\b")
_ROMAN = re.compile(r"(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})$")
_SQUASHED = re.compile(r"[\W_]+")
_REFUSAL = re.compile(
    r"""\b(?:i(?:'m|\ am)\ (?:sorry|unable|not\ (?:sure|able))|sorry,|as\ an\ ai|unable\ to
    |(?:cannot|can't|can\ not|could\ not|couldn't)\ (?:be\ )?
     (?:answer|determin|provid|find|calculat|confirm|assess|access|give)\w*
    |(?:do|does|did)(?:\ not|n't)\ (?:(?:specifically|explicitly|directly|actually)\ )?
     (?:have\ (?:access|information|data|any|details|specific|the|enough\ (?:information|data|context))
      |know|provide|include|contain|mention|specify|disclose|give|state|offer|appear)
    |(?:is|are|was|were)(?:\ not|n't)\ (?:(?:specifically|explicitly|directly|enough|sufficient)\ )?
     (?:provided|given|available|included|mentioned|specified|disclosed|clear|known|possible|enough|stated|information)
    |no\ (?:information|answer|data|mention)|not\ enough\ (?:information|context)|insufficient\ (?:information|data|context)
    |unknown|unclear|without\ (?:more|additional|further|specific)\ (?:information|data|context|details)
    |would\ (?:need|require)\ (?:more|additional|access|the|to)|we\ (?:would\ )?need\ (?:more|additional))""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Word:
    """One word that is not an article. `before` is the text between it and the previous word."""

    stem: str
    content: bool
    capital: bool
    sentence: int
    before: str
    negates: bool = False

    def linked_like(self, other: Word) -> bool:
        """Whether both are linked to their previous word in the same way: by a space or hyphen, or by a comma."""
        return self.before in {" ", "-", "–"} or (self.before == other.before == ", ")


@dataclass(frozen=True)
class Text:
    """A text prepared for comparison. `tokens` are stems without articles; `content` has no function words."""

    words: tuple[Word, ...]
    tokens: tuple[str, ...]
    content: tuple[str, ...]
    vocabulary: frozenset[str]
    joined: str
    squashed: str
    figures: tuple[Figure, ...]
    dates: tuple[Date, ...]
    names: frozenset[str]
    capitals: frozenset[str]
    declines: bool
    negations: int
    unit: float
    plain: str


@lru_cache(maxsize=1024)
def read(text: str) -> Text:
    """The text prepared for comparison; of a very long one only the beginning and the end, to bound the time."""
    if len(text) > 2 * END_READ:
        text = f"{text[:END_READ]}\n{text[-END_READ:]}"
    plain = plainly(text)
    taken = pieces(plain)
    words = tuple(
        word for number, piece in enumerate(taken) for word in _words(piece, plain, number)
    )
    stems = tuple(word.stem for word in words)
    content = tuple(word.stem for word in words if word.content)
    return Text(
        words=words,
        tokens=stems,
        # A text of function words only still needs words to compare.
        content=content or stems,
        vocabulary=frozenset(stems),
        joined=" " + " ".join(stems) + " ",
        squashed=_SQUASHED.sub("", remove_accents(plain.lower())),
        figures=figures(plain)[:FIGURES_READ],
        dates=dates(plain),
        names=frozenset(word.stem for word in words if word.capital),
        capitals=frozenset(re.findall(r"\b[A-Z]{2,6}\b", plain)),
        declines=bool(_REFUSAL.search(plain)),
        negations=sum(piece.negations for piece in taken),
        unit=unit_asked(plain),
        plain=plain,
    )


def plainly(text: str) -> str:
    """One spelling of spaces, widths, initials and the commonest country names; spaces lost on a page are restored.

    `byMissi Hale1` is `by Missi Hale 1`, `in 19741.` is `in 1974 1.`, `12. 9` is `12.9`, `J. K.` is `JK`, `twenty-seven` is `27`.
    """
    # Before NFKC: it turns ½ into "1⁄2", and the no-break space in a number into a plain one.
    text = without_fractions(_EMPHASIS.sub("", _IN_NUMBER.sub("", text)))
    plain = _BLANKS.sub(" ", unicodedata.normalize("NFKC", text))
    plain = _USA.sub("USA", _BELOW_ZERO.sub(r"-\1\2", plain))
    plain = _GLUED.sub(" ", _GLUED_NOTE.sub(r"\1 \2", _SPLIT_DECIMAL.sub(".", plain)))
    plain = in_digits(_INITIALS.sub("", plain))
    # Initials of a person went above, so that dotted letters left over here are abbreviations.
    plain = _DOTTED.sub(lambda found: re.sub(r"[.\s]", "", found[0]), plain)
    return _UK.sub("UK", plain)


def remove_accents(text: str) -> str:
    if text.isascii():
        return text
    return "".join(
        ch for ch in unicodedata.normalize("NFKD", text) if not unicodedata.combining(ch)
    )


def _words(piece: Piece, text: str, sentence: int) -> list[Word]:
    words: list[Word] = []
    end = -1
    last = ""
    for stem_, content, (start, stop) in zip(piece.stems, piece.content, piece.spans, strict=True):
        written = text[start:stop]
        # The "th" of "5th" is no word: "5 May" and "5th May" must have the same words.
        ending = start == end and last[-1:].isdigit() and stem_ in {"st", "nd", "rd", "th"}
        between = text[end:start] if end >= 0 else "."
        end = stop
        last = written
        letter = _is_letter(written, between, text[stop : stop + 2])
        if (stem_ in ARTICLES and not letter) or ending:
            continue
        # Single letters are stop words elsewhere, but the C of "vitamin C" is what was asked.
        content = content or letter
        capital = written[0].isupper() and content
        numeral = _numeral(written, bool(words) and words[-1].capital)
        token = numeral or _SHORT.get(stem_, stem_)
        negates = written.lower() in word_list("negators") or (
            written in "tT" and between[-1:] in {"'", "’"}
        )
        words.append(Word(token, content or bool(numeral), capital, sentence, between, negates))
    return words


def _is_letter(written: str, before: str, after: str) -> bool:
    """The A of `Plan A` and the C of `vitamin C is`; not the article, an initial, or the pronoun I."""
    alone = len(written) == 1 and written.isupper() and written.isascii() and written != "I"
    return (
        alone
        and before in {" ", "-", '"', ' "'}
        and not (after[:1] == "." and after[1:])
        and not after[1:].isupper()
    )


def _numeral(written: str, after_name: bool) -> str:
    """`two`, `second`, `II` and the V of `Henry V` as digits; empty for anything else."""
    counted = COUNTED.get(written.lower())
    if counted is not None:
        return str(counted)
    # A single letter is a numeral only after a name, as in Henry V.
    if (len(written) > 1 or after_name) and _ROMAN.match(written):
        values = {"I": 1, "V": 5, "X": 10}
        total = 0
        for here, following in zip(written, written[1:] + " ", strict=True):
            total += -values[here] if values.get(following, 0) > values[here] else values[here]
        return str(total)
    return ""
