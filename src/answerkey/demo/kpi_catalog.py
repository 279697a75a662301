"""The catalogue of a KPI bot (TOML), and the reader that finds the figure a question asks for."""

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
_GROUP_WORDS = re.compile(r"\b(?:which|by|each|per|what)\b")
# Similarity in percent from which a word is a misspelling of another: one wrong letter in five.
_NEAR = 80.0


def sql_name(value: str) -> str:
    """A check: the name of a table or column."""
    if not _NAME.fullmatch(value):
        raise ValueError("the name of a table or column: letters, digits and _")
    return value


def sql_names(values: tuple[str, ...]) -> tuple[str, ...]:
    """A check: the names of columns."""
    return tuple(map(sql_name, values))


def lower_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """A check that every list passes: its words in lower case."""
    return tuple(word.lower() for word in words)


class Kpi(Table, frozen=True):
    """[[kpi]]: one figure. `measure` is SQL over the table or view `from`, which has a column `month`."""

    name: Annotated[str, about("Its name."), one_line]
    title: Annotated[str, about("What reports call it."), one_line]
    route: Annotated[str, about("The route of questions about it."), one_line]
    measure: Annotated[str, about("The SQL of the figure.", min_length=1)]
    words: Annotated[
        tuple[str, ...], about("The words that people ask with.", min_length=1), lower_words
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
        return sum(_has_phrase(text, phrase) for phrase in self.words.get(group, ()))


def read_catalog(path: Path) -> Catalog:
    """The catalogue, or an error that names the file, the KPI and the field."""
    try:
        table = parse_toml(path.read_text(encoding="utf-8"), path.name)
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path.name}: not valid TOML: {error}") from None
    kpis = tuple(
        read_table(Kpi, entry, f"{path.name}, [[kpi]] {entry.get('name', number)}")
        for number, entry in enumerate(table.get("kpi", []), 1)
    )
    if not kpis:
        raise SettingsError(
            f"{path.name}: no [[kpi]]; each needs name, title, route, from, measure and words"
        )
    words = dict(table.get("words", {}))
    months = tuple(tuple(names) for names in words.pop("months", []))
    if months and len(months) != 12:
        raise SettingsError(f"{path.name}: [words] months has {len(months)} entries, expected 12")
    views = table.get("views", {})
    for name in views:
        if not _NAME.fullmatch(name):
            raise SettingsError(
                f'{path.name}: "{name}" is no name of a view; use letters, digits and _'
            )
    return Catalog(
        kpis=kpis,
        views=views,
        words={group: lower_words(listed) for group, listed in words.items()},
        months=months,
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
        if self.spelling:
            text = self._correct_spelling(text)
        scores = {kpi.name: self._score(kpi, text) for kpi in self.catalog.kpis}
        # Of several with the same score, `max` takes the first in the catalogue.
        best = max(self.catalog.kpis, key=lambda kpi: scores[kpi.name])
        best_score = scores[best.name]
        documents_score = 1.5 * self.catalog.count("documents", text)
        if best_score > documents_score and best_score >= 1:
            return self._request_figure(best, text, _confidence(best_score, documents_score))
        if documents_score == 0 and self.catalog.count("unclear", text):
            return Request(best.route, 0.3, text, unclear=True)
        return Request(self.documents_route, _confidence(documents_score, best_score), text)

    def _request_figure(self, kpi: Kpi, text: str, confidence: float) -> Request:
        filters = self._filters(kpi, text)
        asks_for_lowest = self.catalog.count("lowest", text) > 0
        asks_for_highest = self.catalog.count("highest", text) > 0
        asks_by_group = _GROUP_WORDS.search(text) is not None
        groups = [name for name, values in filters.items() if len(values) > 1]
        if asks_for_lowest or asks_for_highest or asks_by_group:
            groups += [
                name
                for name in kpi.dimensions
                if name not in filters and self.catalog.count(name, text)
            ]
        return Request(
            route=kpi.route,
            confidence=confidence,
            text=text,
            kpi=kpi,
            filters=filters,
            group=groups[0] if groups else None,
            lowest=asks_for_lowest,
        )

    def _score(self, kpi: Kpi, text: str) -> float:
        """A point for each word of the KPI, a half for each member named; one text counts once."""
        members = [value for values in self._filters(kpi, text).values() for value in values]
        rest = text
        for member in members:
            # A member such as "Sales" must not count as a word of the KPI as well.
            rest = re.sub(rf"\b{re.escape(member.lower())}\b", " ", rest)
        hits = _keep_longest([word for word in kpi.words if _has_phrase(rest, word)])
        if not hits:
            return 0.0
        # Longer words say more: "tenure of staff" is about tenure.
        points = sum(1 + 0.1 * word.count(" ") + 0.01 * len(word) for word in hits)
        return points + 0.5 * len(members)

    def _filters(self, kpi: Kpi, text: str) -> dict[str, tuple[str, ...]]:
        """The members that the text names, by dimension."""
        filters: dict[str, tuple[str, ...]] = {}
        for dimension, values in self.members[kpi.name].items():
            named = _keep_longest([value for value in values if _has_phrase(text, value.lower())])
            if named:
                filters[dimension] = tuple(named)
        return filters

    def _correct_spelling(self, text: str) -> str:
        """Words that are nearly one of the vocabulary become it; short words are left alone."""
        vocabulary = self._vocabulary()
        corrected: list[str] = []
        for word in text.split():
            if len(word) >= 4 and word not in vocabulary:
                match = process.extractOne(word, vocabulary, scorer=fuzz.ratio, score_cutoff=_NEAR)
                word = match[0] if match else word
            corrected.append(word)
        return " ".join(corrected)

    def _vocabulary(self) -> list[str]:
        """Every word of the catalogue and of the members, sorted."""
        phrases: list[str] = [word for kpi in self.catalog.kpis for word in kpi.words]
        for group in (*self.catalog.words.values(), *self.catalog.months):
            phrases += group
        for dimensions in self.members.values():
            for values in dimensions.values():
                phrases += values
        # Sorted, so that equally similar words are always corrected in the same way.
        return sorted({word for phrase in phrases for word in words(phrase)})


def _keep_longest(phrases: list[str]) -> list[str]:
    """Drop what is part of a longer one: "units sold" is one hit, and not "units" as well."""
    return [
        phrase
        for phrase in phrases
        if not any(phrase != other and phrase.lower() in other.lower() for other in phrases)
    ]


def _has_phrase(text: str, phrase: str) -> bool:
    return re.search(rf"\b{re.escape(phrase)}\b", text) is not None


def _confidence(winner: float, other: float) -> float:
    """From 0.5 (no evidence) to 1 (only one route has words in the question)."""
    if other:
        return round((winner + 1) / (winner + other + 2), 2)
    return round((winner + 1) / (winner + 1.5), 2)
