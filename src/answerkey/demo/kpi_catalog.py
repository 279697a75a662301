"""What a KPI bot can compute, from a TOML file, and what a question asks for: which figure, for whom, on which route."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec
from rapidfuzz import fuzz, process

from answerkey.coerce.decode import parse_toml
from answerkey.config.declare import Table, about, one_line, read_table
from answerkey.errors import SettingsError
from answerkey.text import words

_NAME = re.compile(r"[A-Za-z_]\w*")
_NEAR = 80.0  # similarity in percent from which a word is a misspelling of another


def sql_name(value: str) -> str:
    """A check: the name of a table or column."""
    if not _NAME.fullmatch(value):
        raise ValueError("the name of a table or column: letters, digits and _")
    return value


def sql_names(values: tuple[str, ...]) -> tuple[str, ...]:
    """A check: the names of columns."""
    return tuple(map(sql_name, values))


def lowered(words: tuple[str, ...]) -> tuple[str, ...]:
    """A check that every list passes: its words in lower case."""
    return tuple(word.lower() for word in words)


class Kpi(Table, frozen=True):
    """[[kpi]]: one figure. `measure` is SQL over the table or view `from`, which has a column `month`."""

    name: Annotated[str, about("Its name."), one_line]
    title: Annotated[str, about("What reports call it."), one_line]
    route: Annotated[str, about("The route of questions about it."), one_line]
    measure: Annotated[str, about("The SQL of the figure.", min_length=1)]
    words: Annotated[
        tuple[str, ...], about("The words that people ask with.", min_length=1), lowered
    ]
    source: Annotated[str, about("The table or view."), sql_name] = msgspec.field(name="from")
    unit: Annotated[str, about("Its unit.")] = ""
    dimensions: Annotated[
        tuple[str, ...], about("The columns that a question may filter by."), sql_names
    ] = ()
    adds_up: Annotated[bool, about("Whether the figures of parts add up to that of the whole.")] = (
        True
    )
    lower_is_better: Annotated[bool, about("Whether a low figure is good.")] = False


@dataclass(frozen=True, slots=True)
class Catalog:
    kpis: tuple[Kpi, ...]
    views: Mapping[str, str] = field(default_factory=dict[str, str])
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    months: tuple[tuple[str, ...], ...] = ()

    def count(self, group: str, text: str) -> int:
        """How many of the words of a group, such as "lowest", the text has."""
        return sum(_has(text, phrase) for phrase in self.words.get(group, ()))


def read_catalog(path: Path) -> Catalog:
    """The catalogue, or an error that names the file, the KPI and the field."""
    try:
        given = parse_toml(path.read_text(encoding="utf-8"), path.name)
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path.name}: not valid TOML: {error}") from None
    entries = enumerate(given.get("kpi", []), 1)
    kpis = tuple(
        read_table(Kpi, each, f"{path.name}, [[kpi]] {each.get('name', n)}") for n, each in entries
    )
    if not kpis:
        raise SettingsError(
            f"{path.name}: no [[kpi]]; each needs name, title, route, from, measure and words"
        )
    words = dict(given.get("words", {}))
    months = tuple(tuple(names) for names in words.pop("months", []))
    if months and len(months) != 12:
        raise SettingsError(f"{path.name}: [words] months has {len(months)} entries, expected 12")
    for name in given.get("views", {}):
        if not _NAME.fullmatch(name):
            raise SettingsError(
                f'{path.name}: "{name}" is no name of a view; use letters, digits and _'
            )
    return Catalog(
        kpis, given.get("views", {}), {key: lowered(value) for key, value in words.items()}, months
    )


@dataclass(frozen=True, slots=True)
class Request:
    """`group` is the dimension to rank: that of "which state", or of several members that are named."""

    route: str
    confidence: float
    text: str
    kpi: Kpi | None = None
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    group: str | None = None
    lowest: bool = False
    unclear: bool = False


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads questions with the words of the catalogue and the members found in the tables."""

    catalog: Catalog
    members: Mapping[str, Mapping[str, tuple[str, ...]]]  # kpi name -> dimension -> values
    documents_route: str = "rag_docs"
    spelling: bool = True

    def read(self, question: str) -> Request:
        text = " ".join(words(question))
        text = self._spelled(text) if self.spelling else text
        scores = {kpi.name: self._score(kpi, text) for kpi in self.catalog.kpis}
        best = max(
            self.catalog.kpis, key=lambda kpi: scores[kpi.name]
        )  # of equals the first in the catalogue
        documents = 1.5 * self.catalog.count("documents", text)
        top = scores[best.name]
        if top > documents and top >= 1:
            return self._request(best, text, _confidence(top, documents))
        if documents == 0 and self.catalog.count("unclear", text):
            return Request(best.route, 0.3, text, unclear=True)
        return Request(self.documents_route, _confidence(documents, top), text)

    def _request(self, kpi: Kpi, text: str, confidence: float) -> Request:
        filters = self._filters(kpi, text)
        count, lowest = self.catalog.count, self.catalog.count("lowest", text) > 0
        ranks = (
            lowest or count("highest", text) or re.search(r"\b(?:which|by|each|per|what)\b", text)
        )
        asked = (
            [dim for dim in kpi.dimensions if dim not in filters and count(dim, text)]
            if ranks
            else []
        )
        several = [dim for dim, values in filters.items() if len(values) > 1]
        group = next(iter(several + asked), None)
        return Request(kpi.route, confidence, text, kpi, filters, group, lowest)

    def _score(self, kpi: Kpi, text: str) -> float:
        """A point for each word of the KPI, a half for each member named; one text counts once."""
        named = [value for values in self._filters(kpi, text).values() for value in values]
        rest = text
        for member in named:
            rest = re.sub(rf"\b{re.escape(member.lower())}\b", " ", rest)
        hits = _longest([word for word in kpi.words if _has(rest, word)])
        # Longer words say more: "tenure of staff" is about tenure.
        points = sum(1 + 0.1 * word.count(" ") + 0.01 * len(word) for word in hits)
        return points + 0.5 * len(named) if hits else 0.0

    def _filters(self, kpi: Kpi, text: str) -> dict[str, tuple[str, ...]]:
        """The members that the text names, by dimension."""
        dimensions = self.members[kpi.name].items()
        found = {
            name: _longest([v for v in values if _has(text, v.lower())])
            for name, values in dimensions
        }
        return {name: tuple(values) for name, values in found.items() if values}

    def _spelled(self, text: str) -> str:
        """Words that are nearly one of ours become it; short words and known ones are left alone."""
        texts: list[str] = [word for kpi in self.catalog.kpis for word in kpi.words]
        texts += [word for group in self.catalog.words.values() for word in group]
        texts += [name for names in self.catalog.months for name in names]
        texts += [
            value for dims in self.members.values() for values in dims.values() for value in values
        ]
        known = sorted({word for text in texts for word in words(text)})
        spelled = text.split()
        for n, word in enumerate(spelled):
            if len(word) >= 4 and word not in known:
                found = process.extractOne(word, known, scorer=fuzz.ratio, score_cutoff=_NEAR)
                spelled[n] = found[0] if found else word
        return " ".join(spelled)


def _longest(phrases: list[str]) -> list[str]:
    """Without those that are part of a longer one: "units sold" is one hit, and not "units" as well."""
    return [
        one
        for one in phrases
        if not any(one != other and one.lower() in other.lower() for other in phrases)
    ]


def _has(text: str, phrase: str) -> bool:
    return re.search(rf"\b{re.escape(phrase)}\b", text) is not None


def _confidence(winner: float, other: float) -> float:
    """From 0.5 (no evidence) to 1 (only one route has words in the question)."""
    return round((winner + 1) / (winner + other + 2) if other else (winner + 1) / (winner + 1.5), 2)
