"""What a question asks for: which figure, for whom, for when; and which route it goes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rapidfuzz import fuzz, process

from answerkey.demo.kpi_catalog import Catalog, Kpi
from answerkey.text import words

_NEAR = 80.0  # similarity in percent from which a word is a misspelling of another


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
        best = max(self.catalog.kpis, key=lambda kpi: scores[kpi.name])  # of equals the first in the catalogue
        documents = 1.5 * _count(text, self.catalog.words.get("documents", ()))
        top = scores[best.name]
        if top > documents and top >= 1:
            return self._request(best, text, _confidence(top, documents))
        if documents == 0 and self._says("unclear", text):
            return Request(best.route, 0.3, text, unclear=True)
        return Request(self.documents_route, _confidence(documents, top), text)

    def _request(self, kpi: Kpi, text: str, confidence: float) -> Request:
        filters = self._filters(kpi, text)
        lowest = self._says("lowest", text)
        ranks = lowest or self._says("highest", text) or re.search(r"\b(?:which|by|each|per|what)\b", text)
        asked = [dim for dim in kpi.dimensions if dim not in filters and self._says(dim, text)] if ranks else []
        several = [dim for dim, values in filters.items() if len(values) > 1]
        group = next(iter(several + asked), None)
        return Request(kpi.route, confidence, text, kpi, filters, group, lowest)

    def _says(self, group: str, text: str) -> bool:
        return _count(text, self.catalog.words.get(group, ())) > 0

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
        found = {name: _longest([v for v in values if _has(text, v.lower())]) for name, values in dimensions}
        return {name: tuple(values) for name, values in found.items() if values}

    def _spelled(self, text: str) -> str:
        """Words that are nearly one of ours become it; short words and known ones are left alone."""
        known = self._vocabulary()
        return " ".join(word if len(word) < 4 or word in known else _nearest(word, known) for word in text.split())

    def _vocabulary(self) -> frozenset[str]:
        texts: list[str] = [word for kpi in self.catalog.kpis for word in kpi.words]
        texts += [word for group in self.catalog.words.values() for word in group]
        texts += [name for names in self.catalog.months for name in names]
        texts += [value for dims in self.members.values() for values in dims.values() for value in values]
        return frozenset(word for text in texts for word in words(text))


def _nearest(word: str, known: Iterable[str]) -> str:
    found = process.extractOne(word, sorted(known), scorer=fuzz.ratio, score_cutoff=_NEAR)
    return found[0] if found else word


def _longest(phrases: list[str]) -> list[str]:
    """Without those that are part of a longer one: "units sold" is one hit, and not "units" as well."""
    return [one for one in phrases if not any(one != other and one.lower() in other.lower() for other in phrases)]


def _has(text: str, phrase: str) -> bool:
    return re.search(rf"\b{re.escape(phrase)}\b", text) is not None


def _count(text: str, phrases: Iterable[str]) -> int:
    return sum(_has(text, phrase) for phrase in phrases)


def _confidence(winner: float, other: float) -> float:
    """From 0.5 (nothing to go by) to 1 (only one route has words in the question)."""
    return round((winner + 1) / (winner + other + 2) if other else (winner + 1) / (winner + 1.5), 2)
