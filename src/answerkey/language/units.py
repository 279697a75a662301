"""Units of measurement and currencies: `units.toml`, compiled."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import cast

from answerkey.language.words import word_list

CENTS = "cents"
NUMBERED = "number of a "  # dimension of the 12 in "page 12"


@dataclass(frozen=True, slots=True)
class Unit:
    """`size` and `offset` take a value into the base unit of the dimension."""

    dimension: str = ""
    size: float = 1.0
    offset: float = 0.0

    @property
    def is_money(self) -> bool:
        return self.dimension.startswith("currency") or self.dimension == CENTS


NO_UNIT = Unit()


@dataclass(frozen=True, slots=True)
class _Tables:
    """The expression and the unit of each group name, and the currency signs before a number."""

    names: dict[str, str]
    units: dict[str, Unit]
    currency: re.Pattern[str]


@cache
def _tables() -> _Tables:
    text = (files("answerkey.language") / "units.toml").read_text(encoding="utf-8")
    dimensions: dict[str, dict[str, float | list[float]]] = tomllib.loads(text)
    currencies = cast("dict[str, str]", dimensions.pop("currency"))
    names: dict[str, str] = {}
    units: dict[str, Unit] = {}
    for dimension, table in dimensions.items():
        for expression, size in table.items():
            group = f"u{len(names)}"
            names[group] = expression
            # Temperatures have a scale and an offset.
            units[group] = Unit(dimension, *(size if isinstance(size, list) else [size]))
    for code, expression in currencies.items():
        names[code] = expression
        units[code] = Unit(f"currency {code}")
    signs = "|".join(rf"(?P<{code}>{expression})" for code, expression in currencies.items())
    return _Tables(names, units, re.compile(rf"[-−\s]*(?:{signs})", re.IGNORECASE))


def currency_of(written: str) -> Unit | None:
    """The currency that a text begins with: `RM 5`, `CHF`."""
    match = _tables().currency.match(written)
    if not match or not match.lastgroup:
        return None
    return Unit(f"currency {match.lastgroup}")


def unit_after(text: str, end: int) -> tuple[Unit, int]:
    """The unit that follows, perhaps after a blank or a hyphen, and where it ends."""
    first = text[end : end + 1]
    if first.isspace() or first == "-":
        first = text[end + 1 : end + 2]
    match = _units_beginning_with(first.casefold()[:1]).match(text, end)
    if not match:
        return NO_UNIT, end
    return _tables().units[match.lastgroup or ""], match.end()


@lru_cache(maxsize=256)
def _units_beginning_with(first: str) -> re.Pattern[str]:
    """The units that can begin with this character: a tenth of the time of trying all of them."""
    fitting = [
        rf"(?P<{group}>{expression})"
        for group, expression in _tables().names.items()
        # An expression that begins with a group, a class or an escape may begin with anything.
        if not _first_characters(expression).isdisjoint((first, *"([\\"))
    ]
    # "5 m/s" is no length, and "5 min" is no "5 m".
    return re.compile(rf"[\s-]?(?:{'|'.join(fitting)})(?![\w/])", re.IGNORECASE)


def _first_characters(expression: str) -> set[str]:
    """The characters that its alternatives begin with; a group or a class can be any."""
    return {first.casefold()[:1] for first in re.findall(r"(?:^|\|)(.)", expression)}


@cache
def numbered() -> re.Pattern[str]:
    """A noun before its number: `page 12`."""
    return re.compile(rf"\b({'|'.join(sorted(word_list('numbered')))}) $", re.IGNORECASE)
