"""Which cases of a run to show, and in what order: read from the address, so that a view can be sent to somebody."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from answerkey.calibrate.labels import read_run_labels
from answerkey.errors import InputError
from answerkey.runs.case_list import (
    FACETS,
    CaseFilter,
    count_values,
    list_and_count,
    list_positions,
    metric_names,
)
from answerkey.runs.run_reader import RunReader
from answerkey.runs.store import open_reader
from answerkey.text import printable

PAGE = 100
_MOST_VALUES = 200  # of a column, to choose from
Facets = dict[str, list[tuple[str, int]]]  # of a column its values, with their number of cases
LABELS = ("right", "wrong", "labelled", "unlabelled")


@dataclass(frozen=True, slots=True)
class CaseQuery:
    """Empty text means no condition. `under` keeps the cases whose `metric` is under that value."""

    q: str = ""
    status: str = ""
    route: str = ""
    type: str = ""
    reason: str = ""
    label: str = ""
    metric: str = ""
    under: str = ""
    sort: str = "worst"
    down: str = ""
    page: int = 1

    def address(self, **changes: Any) -> str:
        """The query as part of an address, with some fields changed; defaults are left out."""
        new = replace(self, **changes)
        plain = CaseQuery()
        fields = {
            name: value for name, value in asdict(new).items() if value != getattr(plain, name)
        }
        if fields:
            return f"?{urlencode(fields, errors='replace')}"
        return "?"


def read_query(params: Mapping[str, str]) -> CaseQuery:
    fields = {
        name: params[name][:500]
        for name in CaseQuery.__dataclass_fields__
        if name in params and name != "page"
    }
    under = fields.get("under", "")
    if under:
        try:
            float(under)
        except ValueError:
            raise InputError(f"under: expected a number, got {under!r}") from None
    return CaseQuery(**fields, page=read_page(params))


def read_page(params: Mapping[str, str]) -> int:
    page = params.get("page", "1")[:50]
    if not re.fullmatch("0*[1-9][0-9]{0,8}", page):
        raise InputError(f"page: expected a whole number from 1, got {page!r}")
    return int(page)


@dataclass(frozen=True, slots=True)
class CasePage:
    """One page of the cases that match: their positions in the suite, and how many match in all."""

    positions: list[int]
    count: int
    page: int
    pages: int


def select_page(folder: Path, query: CaseQuery) -> CasePage:
    """The page of a query; the last page where it asks for a later one."""
    reader = open_reader(folder)
    chosen = _filter(folder, reader, query)
    positions, count = list_and_count(reader, chosen, PAGE, (query.page - 1) * PAGE)
    pages = max(1, -(-count // PAGE))
    page = min(query.page, pages)
    if page < query.page:
        positions = list_positions(reader, chosen, PAGE, (page - 1) * PAGE)
    return CasePage(positions, count, page, pages)


def select_positions(folder: Path, query: CaseQuery) -> list[int]:
    """The positions of all cases that match, in the query's order."""
    reader = open_reader(folder)
    return list_positions(reader, _filter(folder, reader, query))


def _filter(folder: Path, reader: RunReader, query: CaseQuery) -> CaseFilter:
    values: list[tuple[str, tuple[str | None, ...]]] = []
    for name in FACETS:
        value = getattr(query, name)
        if value:  # the page shows names made inert, and sends them back like that
            stored = [each for each, _ in count_values(reader, name)]
            same = tuple(each for each in stored if printable(each or "-") == value)
            values.append((name, same))
    names = {printable(metric): metric for metric in metric_names(reader)}
    column = query.metric or "score"
    chosen = CaseFilter(
        search=query.q,
        values=tuple(values),
        column=names.get(column, column),
        under=float(query.under) if query.under else None,
        sort=names.get(query.sort, query.sort),
        descending=bool(query.down),
    )
    return _filter_by_label(folder, chosen, query.label)


def _filter_by_label(folder: Path, chosen: CaseFilter, label: str) -> CaseFilter:
    if not label:
        return chosen
    labels = read_run_labels(folder).by_majority()
    if label == "unlabelled":
        return replace(chosen, not_ids=tuple(labels))
    if label == "labelled":
        return replace(chosen, ids=tuple(labels))
    is_right = label == "right"
    ids = tuple(case for case, value in labels.items() if (value >= 0.5) == is_right)
    return replace(chosen, ids=ids)


def facets(folder: Path) -> Facets:
    """The values that can be chosen, with their number of cases, most first."""
    reader = open_reader(folder)
    values: Facets = {}
    for name in FACETS:
        counts: Counter[str] = Counter()
        for value, count in count_values(reader, name):
            counts[printable(value or "-")] += count
        if name == "reason":
            del counts["-"]  # cases that did not fail
        values[name] = counts.most_common(_MOST_VALUES)
    return values
