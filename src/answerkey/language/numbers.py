"""Numbers in words as digits.

`two and a half hours` is `2.5 hours`, `a fifth of` is `20 % of`, `a dozen` is `12`. The words are in
`words/*.toml`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from answerkey.language.words import LANGUAGES, compile_pattern, read_words

_TABLE = read_words("en")["numbers"]
_COUNTS = _TABLE["counts"].split()
_TENS = {word: 10 * number for number, word in enumerate(_TABLE["tens"].split(), start=2)}
_ORDINALS = _TABLE["ordinals"].split()

# Single words that count as figures. Above fifty, people write digits, or compounds (`in_digits`).
SPELLED = {word: float(value) for value, word in enumerate(_COUNTS)} | {
    word: float(value) for word, value in _TENS.items() if value <= 50
}
ORDER = {word: float(value) for value, word in enumerate(_ORDINALS, start=1)}
COUNTED = {word: int(value) for word, value in (SPELLED | ORDER).items()}  # `second` is 2
_PARTS: dict[str, int] = _TABLE["half_parts"] | {
    word: int(value) for word, value in ORDER.items() if value > 2
}


def _read_foreign_counts() -> dict[str, int]:
    counts: dict[str, int] = {}
    for language in LANGUAGES[1:]:
        table = read_words(language).get("numbers", {})
        counts |= {word: value for value, word in enumerate(table.get("counts", "").split(), 2)}
        counts |= table.get("more", {})
    return counts


def _read_foreign_units() -> str:
    tables = [read_words(language).get("numbers", {}) for language in LANGUAGES[1:]]
    return "|".join(table["units"] for table in tables if table)


_FOREIGN_COUNTS = _read_foreign_counts()
_FOREIGN_COUNT = re.compile(
    rf"\b({'|'.join(_FOREIGN_COUNTS)})(?=\s(?:{_read_foreign_units()})\b)", re.IGNORECASE
)

_COUNT = "|".join(_COUNTS)
_UNDER_TEN = "|".join(_COUNTS[1:10])
_FRACTION = re.compile(r"(?:(\d+)\s?)?([½¼¾⅓⅔⅛])")
_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 0.125}
_WORDS = {
    "count": _COUNT,
    "under_ten": _UNDER_TEN,
    "tens": "|".join(_TENS),
    "units": "|".join([_UNDER_TEN, *_ORDINALS[:9]]),
    "parts": "|".join(_PARTS),
}


def _compile(name: str) -> re.Pattern[str]:
    return compile_pattern("numbers", name, **_WORDS)


_COMPOUND = _compile("compound")
_HUNDREDS = _compile("hundreds")
_SCALED = _compile("scaled")
_AND_A_HALF = _compile("and_a_half")
_PART = _compile("part")
_CALENDAR_QUARTER = _compile("calendar_quarter")
_SINGLE = _compile("single")
_DOZEN = _compile("dozen")
_QUARTER = _compile("quarter")
_BASIS_POINTS = _compile("basis_points")
_PERCENTAGE_POINTS = _compile("percentage_points")


def without_fractions(text: str) -> str:
    """`2½` and `2 ½` as `2.5`."""
    # Three digits: ⅓ has no end in decimals.
    return _FRACTION.sub(lambda m: f"{int(m[1] or 0) + _FRACTIONS[m[2]]:.3g}", text)


@lru_cache(maxsize=4096)
def in_digits(text: str) -> str:
    """Compound numbers, halves, fractions, dozens, quarters and basis points in digits.

    Single words such as `two` stay.

    >>> in_digits("Twenty-seven people waited an hour and a half for a fifth of the price")
    '27 people waited 1.5 hour for 20 % of the price'
    """
    text = without_fractions(text)
    text = _FOREIGN_COUNT.sub(lambda m: str(_FOREIGN_COUNTS[m[1].lower()]), text)
    # The order matters: `twenty-seven hundred` needs its compound first, and shares come after
    # the quarters of a year, which are no shares.
    text = _COMPOUND.sub(lambda m: str(_TENS[m[1].lower()] + _count(m[2])), text)
    text = _QUARTER.sub(_replace_quarter, text)
    text = _HUNDREDS.sub(lambda m: str(100 * _count(m[1]) + _count(m[2])), text)
    text = _SCALED.sub(lambda m: str(COUNTED[m[1].lower()]), text)
    text = _AND_A_HALF.sub(_replace_and_a_half, text)
    text = _PART.sub(_replace_share, text)
    text = _SINGLE.sub(lambda m: f"{m[1]} 1 ", text)
    text = _DOZEN.sub(_replace_dozen, text)
    text = _BASIS_POINTS.sub(_replace_basis_points, text)
    return _PERCENTAGE_POINTS.sub(" %", text)


def _count(word: str | None) -> int:
    """The value of a count; `a` is 1, and nothing is 0."""
    if not word:
        return 0
    # Digits and words mix: "2 hundred".
    if word.isdigit():
        return int(word)
    return COUNTED.get(word.lower(), 1)


def _replace_quarter(match: re.Match[str]) -> str:
    """`quarter 2` for `second quarter`, `2nd quarter` and `Q2`."""
    if not match[1]:
        return "quarter "
    return f"quarter {COUNTED.get(match[1].lower(), match[1][0])}"


def _replace_and_a_half(match: re.Match[str]) -> str:
    if match["unit"]:
        return f"1.5 {match['unit']}"
    if match["part"].lower() == "half":
        part = 0.5
    else:
        part = 0.25
    return f"{_count(match['count']) + part:g}"


def _replace_share(match: re.Match[str]) -> str:
    """`a quarter of an hour` is `0.25 hour`, `two thirds` is `66.7 %`.

    `a third person`, `one second` and `the end of a quarter` are no shares.
    """
    if match["half"]:
        return "0.5 " if match["half"].strip() else "50 % "
    many = _count(match["many"])
    part = _PARTS[match["part"].lower()]
    # A share is less than the whole.
    if many >= part or not _is_share(match, many, part):
        return match[0]
    if match["unit"]:
        return f"{many / part:g} {match['unit'].split()[-1]}"
    return f"{100 * many / part:.3g} %{match['of'] or ''}"


def _is_share(match: re.Match[str], many: int, part: int) -> bool:
    if match["of"] or part == 2:
        return True
    is_plural = match[0].lower().rstrip().endswith(("s", "s of"))
    if is_plural and many > 1:
        return True
    is_alone = not match["after"] or match["after"] in ".,;!?"  # `about a third.`
    is_calendar = part == 4 and _CALENDAR_QUARTER.search(match.string, 0, match.start())
    return is_alone and not is_calendar


def _replace_dozen(match: re.Match[str]) -> str:
    many = (match[1] or "a").lower()
    if many.startswith("half"):
        return "6"
    return str(12 * _count(many))


def _replace_basis_points(match: re.Match[str]) -> str:
    return f"{float(match[1].rstrip('.,').replace(',', '')) / 100:g} %"
