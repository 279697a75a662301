"""Numbers in words as digits: `two and a half hours` is `2.5 hours`, `a fifth of` is `20 % of`, `a dozen` is `12`."""

from __future__ import annotations

import re
from functools import lru_cache

_COUNTS = (
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
)
_TENS = {
    word: 10 * n
    for n, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
SPELLED = {word: float(value) for value, word in enumerate(_COUNTS)} | {
    "thirty": 30.0,
    "forty": 40.0,
    "fifty": 50.0,
}
_ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
ORDER = {word: float(value) for value, word in enumerate(_ORDINALS, start=1)}
COUNTED = {
    word: int(value) for word, value in {**SPELLED, **ORDER}.items()
}  # `second` and `two` are both 2
_PARTS = {"half": 2, "halve": 2, "quarter": 4} | {
    word: int(n) for word, n in ORDER.items() if n > 2
}
_COUNT, _UNDER_TEN = "|".join(_COUNTS), "|".join(_COUNTS[1:10])
_MEASURES = (
    r"(?:hour|year|day|minute|month|week|mile|pound|kilo|teaspoon|tablespoon|tablet|cup)s?"
    r"|(?:kilo)?(?:met(?:er|re)|gram(?:me)?)s?|k[mg]|lit(?:er|re)s?|ton(?:ne)?s?"
)
_FRACTION = re.compile(r"(?:(\d+)\s?)?([½¼¾⅓⅔⅛])")
_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 0.125}
_COMPOUND = re.compile(
    rf"\b({'|'.join(_TENS)})(?:[-\s]({_UNDER_TEN}|{'|'.join(_ORDINALS[:9])}))?\b", re.IGNORECASE
)
_HUNDREDS = re.compile(
    rf"\b(an?|{_UNDER_TEN}|\d) hundred\b(?!\s?(?:thousand|million))(?:(?: and)? (\d{{1,2}}|{_COUNT})\b(?!,))?",
    re.IGNORECASE,
)
_SCALED = re.compile(rf"\b({_COUNT})(?=\s(?:thousand|million|billion|trillion)\b)", re.IGNORECASE)
_AND_A_HALF = re.compile(
    rf"\b(?:an?|one)\s(?P<unit>{_MEASURES}) and a half\b|\b(?P<count>{_COUNT}|\d+) and a (?P<part>half|quarter)\b",
    re.IGNORECASE,
)
_PART = re.compile(
    rf"\b(?P<many>an?|{_UNDER_TEN})[\s-](?P<part>{'|'.join(_PARTS)})s?(?P<of>\s+of\b)?(?P<unit>\s+an?\s+(?:{_MEASURES}))?(?=(?P<after>.?))"
    rf"|\bhalf(?P<half>\s+an?\s+(?=(?:{_MEASURES}|million|billion)\b)|\s+(?=of\b|the\b|its\b|their\b|all\b))",
    re.IGNORECASE,
)
_SINGLE = re.compile(
    rf"\b(than|within|for|after|least|about|over|under|last|lasts|takes?) an? (?=(?:{_MEASURES})\b(?! and\b))",
    re.IGNORECASE,
)
_DOZEN = re.compile(rf"\b(?:(half an?|an?|{_UNDER_TEN})\s)?dozen\b", re.IGNORECASE)
_QUARTER = re.compile(
    r"\b(?:(first|second|third|fourth|[1-4](?:st|nd|rd|th)) quarter\b|Q(?=[1-4]\b))", re.IGNORECASE
)
_POINTS = re.compile(r"(\d[\d.,]*)\s?(?:basis points?|bps)\b", re.IGNORECASE)
_PERCENTAGE_POINTS = re.compile(r"(?<=\d)\s?(?:percentage points?|per cent|pct)\b", re.IGNORECASE)
# From two upwards, in the order of the refusals' languages; read only before a unit: `once` is eleven before `meses` alone.
_ELSEWHERE = {
    word: value
    for counts in (
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn",
        "deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze",
        "dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince",
        "dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze",
        "due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici",
        "twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien",
        "dua tiga empat lima enam tujuh lapan sembilan sepuluh sebelas",
    )
    for value, word in enumerate(counts.split(), start=2)
} | {
    "duas": 2,
    "delapan": 8,
    "zwanzig": 20,
    "vingt": 20,
    "veinte": 20,
    "vinte": 20,
    "venti": 20,
    "twintig": 20,
}
_UNITS_ELSEWHERE = (
    r"jahre?n?|monate?n?|wochen|tage?n?|stunden|minuten|prozent|euro|ans|années|mois|semaines|jours|heures|minutes|euros"
    r"|años|meses|semanas|días|horas|minutos|anos|dias|anni|mesi|settimane|giorni|ore|minuti|jaar|maanden|weken|dagen|uur"
    r"|tahun|bulan|minggu|hari|jam|minit|menit"
)
_COUNT_ELSEWHERE = re.compile(
    rf"\b({'|'.join(_ELSEWHERE)})(?=\s(?:{_UNITS_ELSEWHERE})\b)", re.IGNORECASE
)


def without_fractions(text: str) -> str:
    """`2½` and `2 ½` as `2.5`: no other spelling of them is read."""
    return _FRACTION.sub(lambda m: f"{int(m[1] or 0) + _FRACTIONS[m[2]]:.3g}", text)


@lru_cache(maxsize=4096)
def in_digits(text: str) -> str:
    """Compound numbers, halves, fractions, dozens, quarters and basis points in digits; single words such as `two` stay.

    >>> in_digits("Twenty-seven people waited an hour and a half for a fifth of the price")
    '27 people waited 1.5 hour for 20 % of the price'
    """
    text = _COUNT_ELSEWHERE.sub(lambda m: str(_ELSEWHERE[m[1].lower()]), without_fractions(text))
    text = _COMPOUND.sub(
        lambda m: str(_TENS[m[1].lower()] + (COUNTED[m[2].lower()] if m[2] else 0)), text
    )
    text = _QUARTER.sub(
        lambda m: f"quarter {COUNTED.get(m[1].lower(), m[1][0])}" if m[1] else "quarter ", text
    )
    text = _HUNDREDS.sub(lambda m: str(100 * _count(m[1]) + (_count(m[2]) if m[2] else 0)), text)
    text = _SCALED.sub(lambda m: str(COUNTED[m[1].lower()]), text)
    text = _AND_A_HALF.sub(_with_half, text)
    text = _PART.sub(_share, text)
    text = _SINGLE.sub(lambda m: f"{m[1]} 1 ", text)
    text = _DOZEN.sub(
        lambda m: "6" if (m[1] or "").lower().startswith("half") else str(12 * _count(m[1] or "a")),
        text,
    )
    text = _POINTS.sub(lambda m: f"{float(m[1].rstrip('.,').replace(',', '')) / 100:g} %", text)
    return _PERCENTAGE_POINTS.sub(" %", text)


def _count(word: str) -> int:
    return int(word) if word.isdigit() else COUNTED.get(word.lower(), 1)


def _with_half(found: re.Match[str]) -> str:
    if found["unit"]:
        return f"1.5 {found['unit']}"
    return f"{_count(found['count']) + (0.5 if found['part'].lower() == 'half' else 0.25):g}"


def _share(found: re.Match[str]) -> str:
    """`a quarter of an hour` is `0.25 hour`, `two thirds` `66.7 %`; `a third person` and `one second` are no shares."""
    if found["half"]:
        return "0.5 " if found["half"].strip() else "50 % "
    many, part = _count(found["many"]), _PARTS[found["part"].lower()]
    plural = found[0].lower().rstrip().endswith(("s", "s of"))
    alone = found["after"] in tuple(".,;!?") or not found["after"]  # `about a third.`
    if many >= part or not (found["of"] or (plural and many > 1) or part == 2 or alone):
        return found[0]
    if found["unit"]:
        return f"{many / part:g} {found['unit'].split()[-1]}"
    return f"{100 * many / part:.3g} %{found['of'] or ''}"
