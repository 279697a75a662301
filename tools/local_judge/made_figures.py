"""Questions about companies' figures with right and wrong answers, made from patterns: the labelled sets hardly ask for any.

They teach what counts there: the same figure in another writing is right whatever stands around it; another figure,
another scale, the other direction or a refusal is wrong, however alike the words are.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

_COMPANIES = (
    "Acme",
    "Northwind",
    "Globex",
    "Initech",
    "Umbrella Foods",
    "Stark Industries",
    "Wayne Holdings",
    "Tyrell",
)
_MONEY = (
    "capital expenditure",
    "net income",
    "free cash flow",
    "revenue",
    "operating income",
    "total inventory",
    "goodwill",
)
_SHARES = (
    "gross margin",
    "effective tax rate",
    "operating margin",
    "dividend payout",
    "revenue growth",
    "return on assets",
)
_RATIOS = ("quick ratio", "inventory turnover", "fixed asset turnover", "days payable outstanding", "interest coverage")
_REFUSALS = (
    "I'm sorry, but the context does not include the {name} of {company} for FY{year}.",
    "To calculate the {name} of {company} we would need additional information, such as its statements for FY{year}.",
    "The {name} cannot be determined from the excerpt, which covers FY{before} only.",
)
_ANSWERS = (
    "The FY{year} {name} of {company} was {figure}.",
    "{figure}",
    "{company} reported {name} of {figure} for FY{year}, compared with {other} in FY{before}.",
    "According to the statements, {one} was ${x:,.0f} million and {two} was ${y:,.0f} million in FY{year}.\n\n"
    "So the {name} of {company} comes to {figure}.",
    "To find the {name}, take the figures of FY{year}: ${x:,.0f} million and ${y:,.0f} million, against ${z:,.0f} million in "
    "FY{before}. The result is {figure}, which is not unusual in its sector.",
)


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    expected: str
    answer: str
    label: int


def made_figures(count: int, rng: random.Random) -> Iterator[Asked]:
    for _ in range(count):
        kind = rng.choice(("money", "share", "ratio"))
        name = rng.choice({"money": _MONEY, "share": _SHARES, "ratio": _RATIOS}[kind])
        value = {"money": rng.uniform(20, 60_000), "share": rng.uniform(0.5, 75), "ratio": rng.uniform(0.1, 99)}[kind]
        year = rng.randint(2012, 2023)
        words = {"name": name, "company": rng.choice(_COMPANIES), "year": year, "before": year - 1}
        unit = " in USD millions" if kind == "money" and rng.random() < 0.6 else ""
        question = f"What is the FY{year} {name} of {words['company']}{unit}?"
        if rng.random() < 0.3:
            yield from _changes(question, kind, value, words, rng)
            continue
        expected = _expected(kind, value, bool(unit), rng)
        for label in (1, 1, 0, 0):
            given = value if label else _other(value, rng)
            yield Asked(question, expected, _answer(kind, given, words, rng), label)
        yield Asked(question, expected, rng.choice(_REFUSALS).format(**words), 0)
        if kind == "money":
            yield Asked(
                question, f"${value:,.0f} million", f"It was ${value:,.0f} {rng.choice(['billion', 'thousand'])}.", 0
            )


def _other(value: float, rng: random.Random) -> float:
    return value * rng.choice((0.1, 0.4, 0.7, 0.85, 0.93, 1.08, 1.2, 1.5, 3.0, 10.0))


def _expected(kind: str, value: float, unit: bool, rng: random.Random) -> str:
    if kind == "money":
        return rng.choice(
            (f"${value:.2f}", f"${value:,.0f}") if unit else (f"${value:,.0f} million", f"${value / 1000:.2f} billion")
        )
    return f"{value:.1f}%" if kind == "share" else f"{value:.2f}"


def _written(kind: str, value: float, rng: random.Random) -> str:
    if kind == "money":
        ways = [f"${value:,.0f} million", f"${value:,.1f} million", f"USD {value:,.0f} million"]
        return rng.choice([*ways, f"${value / 1000:,.2f} billion"] if value > 1000 else ways)
    if kind == "share":
        return rng.choice((f"{value:.1f}%", f"{value:.2f}%", f"{value:.1f} percent", f"about {value:.1f}%"))
    return rng.choice(
        (f"{value:.2f}", f"approximately {value:.2f}", f"{value:.3f}, or {value:.2f}", f"{value:.2f} times")
    )


def _answer(kind: str, value: float, words: dict[str, str | int], rng: random.Random) -> str:
    x, y, z = (rng.uniform(100, 90_000) for _ in range(3))
    one, two = rng.sample(("cost of sales", "current liabilities", "total assets", "net sales", "depreciation"), 2)
    other = _written(kind, value * rng.uniform(0.6, 1.6), rng)
    pattern = rng.choice(_ANSWERS)
    return pattern.format(**words, figure=_written(kind, value, rng), other=other, x=x, y=y, z=z, one=one, two=two)


def _changes(
    question: str, kind: str, value: float, words: dict[str, str | int], rng: random.Random
) -> Iterator[Asked]:
    """Sentences with a direction and two figures; expected with a reason, answered with other words."""
    up = rng.random() < 0.5
    old, new = sorted((value, value * rng.uniform(1.05, 2)), reverse=not up)
    before, after = _written(kind, old, rng), _written(kind, new, rng)
    verb, said, against = ("improved", "rose", "fell") if up else ("declined", "fell", "rose")
    expected = (
        f"The {words['name']} has {verb} from {before} to {after} between FY{words['before']} and FY{words['year']}."
    )
    company, name = words["company"], words["name"]
    reason = rng.choice(
        ("mainly because of higher selling prices", "driven by its consumer segment", "as costs did not move")
    )
    yield Asked(
        question,
        expected,
        f"{company}'s {name} {said}, {reason}: it was {after} in FY{words['year']} and {before} before.",
        1,
    )
    yield Asked(question, expected, f"It {verb}, from {before} to {after}.", 1)
    yield Asked(question, expected, f"{company}'s {name} {against} from {after} to {before}, {reason}.", 0)
    wrong = _written(kind, _other(new, rng), rng), _written(kind, _other(old, rng), rng)
    yield Asked(
        question,
        expected,
        f"{company}'s {name} {rng.choice((said, against))} to {wrong[0]} from {wrong[1]}, {reason}.",
        0,
    )
    yield Asked(question, expected, rng.choice(_REFUSALS).format(**words), 0)
