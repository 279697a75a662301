"""Which cases of a run to show, and in what order: read from the address, so that a view can be sent to somebody."""

from __future__ import annotations

import os
import re
import threading
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from urllib.parse import urlencode

from answerkey.calibrate.labels import LABELS_FILE, read_run_labels
from answerkey.errors import InputError, did_you_mean
from answerkey.files import json_line
from answerkey.reports.rows import Rows, journal_state, read_rows, worst_first
from answerkey.runs.journal import RESPONSES
from answerkey.runs.journal_index import CaseTexts, JournalIndex, stored_texts
from answerkey.runs.store import read_index
from answerkey.text import printable

PAGE = 100
_PLAIN_SORTS = ("worst", "order", "id", "question", "status", "score", "seconds", "route", "type")
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
        given = {
            name: value for name, value in asdict(new).items() if value != getattr(plain, name)
        }
        return f"?{urlencode(given, errors='replace')}" if given else "?"


def read_query(params: Mapping[str, str]) -> CaseQuery:
    given = {
        name: params[name][:500]
        for name in CaseQuery.__dataclass_fields__
        if name in params and name != "page"
    }
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
    labels, changed = folder / LABELS_FILE, journal_state(folder)
    if query.label and labels.is_file():
        changed += f" {labels.stat().st_mtime_ns}"
    return _select(folder, changed, replace(query, page=1))


@lru_cache(maxsize=64)
def _select(folder: Path, changed: str, query: CaseQuery) -> list[int]:
    tests = _tests(folder, read_rows(folder), query)
    return [
        n
        for n in _ordered(folder, changed, query.sort, bool(query.down))
        if all(test(n) for test in tests)
    ]


def _tests(folder: Path, rows: Rows, query: CaseQuery) -> list[Callable[[int], bool]]:
    tests: list[Callable[[int], bool]] = (
        [find_text(folder, query.q).__contains__] if query.q else []
    )
    for name in ("status", "route", "type", "reason"):
        value, column = getattr(query, name), getattr(rows, name)
        if value:  # the page shows names made inert, and sends them back like that
            tests.append(lambda n, column=column, value=value: printable(column[n] or "-") == value)
    if query.label:
        labels = read_run_labels(folder).by_majority()
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


def facets(folder: Path) -> Facets:
    """The values that can be chosen, with their number of cases, most first."""
    return _facets(folder, journal_state(folder))


@lru_cache(maxsize=4)
def _facets(folder: Path, changed: str) -> Facets:
    rows = read_rows(folder)
    columns = {"status": rows.status, "route": rows.route, "type": rows.type, "reason": rows.reason}
    counted = {
        name: Counter(printable(value or "-") for value in column)
        for name, column in columns.items()
    }
    del counted["reason"]["-"]  # cases that did not fail
    return {name: counts.most_common(200) for name, counts in counted.items()}


_BLOCK = 1 << 20
_END = b"\xff"  # in no text of UTF-8
_WORTH_WRITING = 4_000_000  # bytes of a journal
_MOST = 2  # runs whose texts are kept
_lock = threading.Lock()
_written: dict[tuple[Path, str], SearchText] = {}


class SearchText:
    """The ids, questions and answers of a run, in lower case, in a file without a name; `find` returns the places of the
    cases that contain a text. It searches 100 MB in a tenth of a second, and the memory of the server stays small."""

    def __init__(self, folder: Path) -> None:
        self._file = TemporaryFile(buffering=_BLOCK)  # noqa: SIM115
        self._rows, self._ends, end = array("q"), array("q"), 0
        for row, texts in _texts(folder):
            line = _END.join(_bytes(text) for text in texts) + _END
            self._file.write(line)
            end += len(line)
            self._rows.append(row)
            self._ends.append(end)
        self._file.flush()

    def find(self, text: str) -> Iterator[int]:
        needle, at = _bytes(text), 0
        while block := os.pread(self._file.fileno(), _BLOCK, at):
            found, after = block.find(needle), at + len(block) - len(needle) + 1
            while found >= 0:
                place = bisect_right(self._ends, at + found)
                yield self._rows[place]
                after = max(after, self._ends[place])
                found = block.find(needle, self._ends[place] - at)
            if len(block) < _BLOCK:
                return
            at = after


def find_text(folder: Path, text: str) -> set[int]:
    """The places of the cases that contain the text."""
    if written := _written.get((folder, journal_state(folder))):
        return set(written.find(text))
    needle = text.lower()
    quick = json_line(needle)[1:-1] if text.isascii() else b""  # as it stands in a line of JSON
    return {
        row for row, texts in _texts(folder, quick) if any(needle in each.lower() for each in texts)
    }


def write_search_text(folder: Path) -> None:
    """Prepare the search of a large run; where the system has no space for it, searches read the journal."""
    key = folder, journal_state(folder)
    large = (folder / RESPONSES).is_file() and (folder / RESPONSES).stat().st_size > _WORTH_WRITING
    if not large or key in _written or not _lock.acquire(blocking=False):
        return
    with suppress(OSError):
        _written[key] = SearchText(folder)
        for old in list(_written)[:-_MOST]:
            del _written[old]
    _lock.release()


def _texts(folder: Path, quick: bytes = b"") -> Iterator[tuple[int, CaseTexts]]:
    """The texts of each case with its place; of journals only those whose line contains `quick`."""
    index = read_index(folder)
    if isinstance(index, JournalIndex) and index.repeats.times == 1:
        yield from stored_texts(folder, read_rows(folder).answered_at, quick)
        return
    for row, (_, outcome) in enumerate(index.numbered(stopped=True)):
        yield row, (outcome.case.id, outcome.case.question, outcome.response.answer or "")


def _bytes(text: str) -> bytes:
    return text.lower().encode("utf-8", "surrogatepass")
