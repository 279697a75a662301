"""Which cases of a run to show, and in what order: read from the address, so that a view can be sent to somebody."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from answerkey.calibrate.labels import LABELS_FILE, read_labels
from answerkey.errors import InputError, did_you_mean
from answerkey.reports.rows import Rows, journal_state, read_rows, worst_first
from answerkey.text import printable
from answerkey.viewer.search_text import find_text

PAGE = 100
_PLAIN_SORTS = ("worst", "order", "id", "question", "status", "score", "seconds", "route", "type")
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
        given = {name: value for name, value in asdict(new).items() if value != getattr(plain, name)}
        return f"?{urlencode(given, errors='replace')}" if given else "?"


def read_query(params: Mapping[str, str]) -> CaseQuery:
    given = {name: params[name][:500] for name in CaseQuery.__dataclass_fields__ if name in params and name != "page"}
    under = given.get("under", "")
    if under:
        try:
            float(under)
        except ValueError:
            raise InputError(f"under: expected a number, got {under!r}") from None
    return CaseQuery(**given, page=read_page(params))


def read_page(params: Mapping[str, str]) -> int:
    page = params.get("page", "1")[:50]
    if not re.fullmatch("0*[1-9][0-9]{0,8}", page):
        raise InputError(f"page: expected a whole number from 1, got {page!r}")
    return int(page)


def select(folder: Path, query: CaseQuery) -> list[int]:
    """The positions of the cases that match, in the query's order; kept until the run or its labels change."""
    changed = f"{journal_state(folder)} {_changed(folder / LABELS_FILE) if query.label else ''}"
    return _select(folder, changed, replace(query, page=1))


def _changed(path: Path) -> str:
    return str(path.stat().st_mtime_ns) if path.is_file() else ""


@lru_cache(maxsize=64)
def _select(folder: Path, changed: str, query: CaseQuery) -> list[int]:
    rows = read_rows(folder)
    wanted = find_text(folder, query.q) if query.q else None
    tests = _tests(folder, rows, query)
    return [
        n
        for n in _ordered(folder, changed, query.sort, bool(query.down))
        if (wanted is None or n in wanted) and all(test(n) for test in tests)
    ]


def _tests(folder: Path, rows: Rows, query: CaseQuery) -> list[Callable[[int], bool]]:
    tests: list[Callable[[int], bool]] = []
    for name in ("status", "route", "type", "reason"):
        value, column = getattr(query, name), getattr(rows, name)
        if value:  # the page shows names made inert, and sends them back like that
            tests.append(lambda n, column=column, value=value: printable(column[n] or "-") == value)
    if query.label:
        labels = read_labels(folder).resolved()
        tests.append(lambda n: _label_fits(query.label, labels.get(rows.id[n])))
    if query.under:
        limit, column = float(query.under), _column(rows, query.metric or "score")
        tests.append(lambda n: isinstance(value := column[n], (int, float)) and value < limit)
    return tests


def _label_fits(wanted: str, label: float | None) -> bool:
    if wanted in ("right", "wrong"):
        return label is not None and (label >= 0.5) == (wanted == "right")
    return (label is not None) == (wanted == "labelled")


@lru_cache(maxsize=8)
def _ordered(folder: Path, changed: str, sort: str, down: bool) -> list[int]:
    rows = read_rows(folder)
    if sort in ("worst", "order"):
        order = worst_first(rows) if sort == "worst" else list(range(len(rows)))
        return order[::-1] if down else order
    column = _column(rows, sort)
    known = [n for n, value in enumerate(column) if value is not None and value != "error"]
    rest = sorted(set(range(len(rows))) - set(known))
    return [*sorted(known, key=lambda n: column[n], reverse=down), *rest]


def _column(rows: Rows, name: str) -> list[Any]:
    metric = next((known for known in rows.metrics if name in (known, printable(known))), None)
    if metric is not None:
        return rows.metrics[metric]
    if name in _PLAIN_SORTS:
        return getattr(rows, name)
    known = (*_PLAIN_SORTS, *rows.metrics)
    raise InputError(f'no column "{name}"{did_you_mean(name, known)}; there are {", ".join(known)}')


def facets(folder: Path) -> dict[str, list[tuple[str, int]]]:
    """The values that can be chosen, with their number of cases, most first."""
    return _facets(folder, journal_state(folder))


@lru_cache(maxsize=4)
def _facets(folder: Path, changed: str) -> dict[str, list[tuple[str, int]]]:
    rows = read_rows(folder)
    columns = {"status": rows.status, "route": rows.route, "type": rows.type, "reason": rows.reason}
    counted = {name: Counter[str]() for name in columns}
    for name, column in columns.items():
        for value, count in Counter(column).items():
            counted[name][printable(value or "-")] += count
    del counted["reason"]["-"]  # cases that did not fail
    return {name: counts.most_common(200) for name, counts in counted.items()}
