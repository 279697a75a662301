"""Statements made from templates: small premises in which one fact can be told from another only by reading closely.

A premise has one to three facts, often of the same form about other things; the statement repeats one of them in other
words (supported), or with another value, the other polarity or two names exchanged (contradicted), or states something
that the premise is silent on (neutral). Real data has few such pairs, and a small model learns the comparison slowly.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.train_entailment.changes import another_number, numbers

SMALL = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
UNITS = (
    ("minutes", "hours", "days", "weeks", "months", "years"), (" grams", " kilograms"), (" metres", " km"),
    ("million", "billion"), ("$", "€", "£"), (" am", " pm"),
)  # fmt: skip
JOINTS = (". ", ". ", ". ", "; ", ", while ", ", whereas ", ", and ", ", but ")
_SLOT = re.compile(r"\{(\w)\}")


@dataclass(frozen=True)
class Template:
    kind: str
    slots: tuple[tuple[str, str], ...]  # letter, type
    says: tuple[str, ...]
    denies: tuple[str, ...]


@dataclass(frozen=True)
class Fact:
    """A template with its values; a value is the ways to write it."""

    template: Template
    values: dict[str, tuple[str, ...]]
    positive: bool = True

    def written(self, rng: random.Random) -> str:
        forms = self.template.says if self.positive else self.template.denies
        text = _SLOT.sub(lambda match: rng.choice(self.values[match[1]]), rng.choice(forms))
        return text[0].upper() + text[1:]


@cache
def templates() -> tuple[Template, ...]:
    found: list[Template] = []
    for line in _lines("templates.txt"):
        says, _, denies = line.partition("||")
        kind, slots, *forms = (part.strip() for part in says.split("|"))
        typed = tuple((slot[0], slot[2:]) for slot in slots.split())
        found.append(
            Template(
                kind, typed, tuple(forms), tuple(form.strip() for form in denies.split("|") if form)
            )
        )
    return tuple(found)


@cache
def slot_values() -> dict[str, tuple[str, ...]]:
    values: dict[str, tuple[str, ...]] = {}
    for line in _lines("slots.txt"):
        name, given = (part.strip() for part in line.split("|"))
        values[name] = tuple(
            part.strip() for part in (given.split(";") if ";" in given else given.split())
        )
    return values


def _lines(name: str) -> list[str]:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def pair(rng: random.Random) -> tuple[str, str, str]:
    """(premise, statement, label)."""
    template = rng.choice(templates())
    fact = _fact(template, rng)
    others = [_distractor(fact, rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 2)))]
    label = rng.choices(("entail", "contradict", "neutral"), (5, 5, 1.5))[0]
    stated, told = fact, [fact, *others]
    if label == "contradict":
        stated = _wrong(fact, others, rng)
        label = "not_entail" if template.kind == "open" else label
    elif label == "neutral":
        stated, told = (
            fact,
            [other for other in others if other.template is not template]
            or [_unrelated(fact, rng)],
        )
    rng.shuffle(told)
    return _joined([each.written(rng) for each in told], rng), stated.written(rng) + ".", label


def _fact(template: Template, rng: random.Random, taken: Sequence[str] = ()) -> Fact:
    values: dict[str, tuple[str, ...]] = {}
    for letter, kind in template.slots:
        known = [*taken, *(value[0] for value in values.values())]
        values[letter] = _value(kind, rng, known)
    return Fact(template, values, positive=not template.denies or rng.random() < 0.5)


def _distractor(fact: Fact, rng: random.Random) -> Fact:
    """A fact of the same form about something else, or another fact about the same thing, or any."""
    taken = [value[0] for value in fact.values.values()]
    letter, kind = fact.template.slots[0]
    chance = rng.random()
    if chance < 0.6 and fact.template.kind != "swap":
        return _fact(fact.template, rng, taken)
    alike = [
        other for other in templates() if other is not fact.template and other.slots[0][1] == kind
    ]
    if chance < 0.9 and alike:
        other = _fact(rng.choice(alike), rng, taken)
        return Fact(
            other.template,
            {**other.values, other.template.slots[0][0]: fact.values[letter]},
            other.positive,
        )
    return _unrelated(fact, rng)


def _unrelated(fact: Fact, rng: random.Random) -> Fact:
    other = rng.choice([each for each in templates() if each is not fact.template])
    return _fact(other, rng, [value[0] for value in fact.values.values()])


def _wrong(fact: Fact, others: Sequence[Fact], rng: random.Random) -> Fact:
    """The fact with its polarity turned, its two names exchanged, or another value: that of another fact where possible."""
    slots = fact.template.slots
    if fact.template.kind == "flip":
        return Fact(fact.template, fact.values, not fact.positive)
    if fact.template.kind == "swap":
        (one, _), (other, _) = slots
        return Fact(fact.template, {one: fact.values[other], other: fact.values[one]})
    letter, kind = slots[-1]
    nearby = [
        other.values[name]
        for other in others
        for name, own in other.template.slots
        if own == kind and other.values[name] not in fact.values.values()
    ]
    chance = rng.random()
    close = _close_by(fact.values[letter][0], rng) if chance < 0.4 else None
    new = close or (
        rng.choice(nearby) if nearby and chance < 0.8 else _value(kind, rng, fact.values[letter])
    )
    return Fact(fact.template, {**fact.values, letter: new})


def _close_by(text: str, rng: random.Random) -> tuple[str, ...] | None:
    """Nearly the same figure: another number with the same unit, or another unit."""
    units = next((group for group in UNITS if any(unit in text for unit in group)), ())
    own = max((unit for unit in units if unit in text), key=len, default="")
    if own and rng.random() < 0.4:
        return (text.replace(own, rng.choice([unit for unit in units if unit != own])),)
    found = numbers(text)
    return (
        (text.replace(found[0], another_number(found[0], rng)),)
        if found and found[0][0].isdigit()
        else None
    )


def _joined(parts: list[str], rng: random.Random) -> str:
    text = parts[0]
    for part in parts[1:]:
        joint = rng.choice(JOINTS)
        keeps = joint == ". " or part.split()[0] in _capitals()
        text += joint + (part if keeps else part[0].lower() + part[1:])
    return text + "."


@cache
def _capitals() -> frozenset[str]:
    """Words that stay capitalised inside a sentence."""
    values = slot_values()
    names = [
        *values["first"],
        *values["place"],
        *values["org"],
        *values["medicine"],
        *values["weekday"],
        *values["month"],
    ]
    return frozenset(
        word
        for name in [*names, "United", "Rovers", "Athletic", "City"]
        for word in (name.split()[0], name + "'s")
    )


def _value(kind: str, rng: random.Random, taken: Sequence[str]) -> tuple[str, ...]:
    """A new value that differs from those taken; its first way of writing identifies it."""
    known = {text.split()[0] if kind == "person" else text for text in taken}
    while True:
        made = _MAKERS[kind](rng) if kind in _MAKERS else (rng.choice(slot_values()[kind]),)
        if not known & (set(made[0].split()) if kind == "person" else set(made)):
            return made


def _person(rng: random.Random) -> tuple[str, ...]:
    first, last = rng.choice(slot_values()["first"]), rng.choice(slot_values()["last"])
    return (first,) if rng.random() < 0.25 else (f"{first} {last}",)


def _number(value: int) -> tuple[str, ...]:
    plain = f"{value:,}"
    return (plain, SMALL[value - 2]) if 2 <= value <= 12 else (plain,)


def _count(rng: random.Random) -> tuple[str, ...]:
    return _number(
        rng.choice(
            (
                rng.randint(2, 12),
                rng.randint(13, 99),
                rng.randint(100, 999),
                10 * rng.randint(100, 999),
            )
        )
    )


def _with_unit(value: int, unit: str) -> tuple[str, ...]:
    return tuple(f"{number} {unit if value == 1 else unit + 's'}" for number in _number(value))


def _duration(rng: random.Random) -> tuple[str, ...]:
    unit, most = rng.choice(
        (("minute", 90), ("hour", 48), ("day", 60), ("week", 12), ("month", 24), ("year", 10))
    )
    value = rng.randint(2, most)
    same = _with_unit(value, unit)
    smaller = {
        "hour": ("minute", 60),
        "week": ("day", 7),
        "year": ("month", 12),
        "day": ("hour", 24),
    }
    if unit in smaller and value <= 4:
        name, factor = smaller[unit]
        same += (f"{value * factor} {name}s",)
    return same


def _length(rng: random.Random) -> tuple[str, ...]:
    if rng.random() < 0.3:
        value = rng.randint(1, 40)
        return (f"{value} km", *_with_unit(value, "kilometre"), f"{value * 1000:,} metres")
    value = rng.randint(3, 900)
    return (f"{value} metres", f"{value} m")


def _weight(rng: random.Random) -> tuple[str, ...]:
    value = rng.randint(2, 950)
    return rng.choice(((f"{value} grams", f"{value} g"), (f"{value} kilograms", f"{value} kg")))


def _money(rng: random.Random) -> tuple[str, ...]:
    value = rng.choice((rng.randint(2, 99), rng.randint(100, 999)))
    sign, word = rng.choice((("$", "dollars"), ("€", "euros"), ("£", "pounds")))
    if rng.random() < 0.3:
        scale, letter = rng.choice((("million", "m"), ("billion", "bn")))
        return (f"{sign}{value} {scale}", f"{value} {scale} {word}", f"{sign}{value}{letter}")
    return (f"{sign}{value}", f"{value} {word}")


def _percent(rng: random.Random) -> tuple[str, ...]:
    value = rng.choice((f"{rng.randint(2, 95)}", f"{rng.randint(1, 60)}.{rng.randint(1, 9)}"))
    return (f"{value}%", f"{value} percent", f"{value} per cent")


def _date(rng: random.Random) -> tuple[str, ...]:
    day, month, year = (
        rng.randint(1, 28),
        rng.choice(slot_values()["month"]),
        rng.randint(1990, 2026),
    )
    return rng.choice(
        ((f"{day} {month}", f"{month} {day}"), (f"{day} {month} {year}", f"{month} {day}, {year}"))
    )


def _time(rng: random.Random) -> tuple[str, ...]:
    hour, half = rng.randint(6, 22), rng.random() < 0.3
    later = f"{hour % 12 or 12}{':30' if half else ''} {'am' if hour < 12 else 'pm'}"
    return (f"{hour}:{'30' if half else '00'}", later)


def _temperature(rng: random.Random) -> tuple[str, ...]:
    value = rng.randint(2, 240)
    return (f"{value} °C", f"{value} degrees")


_MAKERS = {
    "person": _person, "count": _count, "duration": _duration, "length": _length, "weight": _weight, "money": _money,
    "percent": _percent, "date": _date, "time": _time, "temperature": _temperature,
    "year": lambda rng: (str(rng.randint(1850, 2025)),),
    "platform": lambda rng: (str(rng.randint(1, 14)),),
    "storage": lambda rng: (f"{rng.choice((5, 10, 20, 50, 100, 200, 500))} GB",),
    "dose": lambda rng: (f"{rng.choice((5, 10, 20, 25, 40, 50, 80, 100, 200, 400))} mg",),
}  # fmt: skip
