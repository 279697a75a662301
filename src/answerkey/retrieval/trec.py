"""TREC run and qrels files, and BEIR's qrels with a header line; and TREC's rule for ties."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from answerkey.errors import InputError
from answerkey.types import LARGEST

_RUN_COLUMNS = "query Q0 id rank score tag"
_QRELS_COLUMNS = "query 0 id grade"


def read_run(path: Path) -> dict[str, list[str]]:
    """For each query its ids by score, best first; the file's own rank column is not trusted, as in trec_eval."""
    rows: dict[str, list[tuple[str, float]]] = {}
    for number, fields in _lines(path):
        if len(fields) not in {5, 6}:
            raise InputError(f'{path}, line {number}: expected "{_RUN_COLUMNS}", got {len(fields)} columns')
        rows.setdefault(fields[0], []).append((fields[2], _number(path, number, fields[4], "score")))
    if not rows:
        raise InputError(f'{path} holds no ranking; expected lines "{_RUN_COLUMNS}"')
    return {query: in_order(pairs) for query, pairs in rows.items()}


def read_qrels(path: Path) -> dict[str, dict[str, float]]:
    """For each query the grade of each labelled id."""
    labels: dict[str, dict[str, float]] = {}
    for number, fields in _lines(path):
        if number == 1 and fields[0].lower().replace("_", "-") in {"query-id", "qid", "query"}:
            continue
        if len(fields) not in {3, 4}:
            raise InputError(f'{path}, line {number}: expected "{_QRELS_COLUMNS}", got {len(fields)} columns')
        query, name, grade = fields[0], fields[-2], _number(path, number, fields[-1], "grade")
        if labels.setdefault(query, {}).get(name, grade) != grade:
            raise InputError(f'{path}, line {number}: "{name}" has two grades for the query "{query}"')
        labels[query][name] = grade
    if not labels:
        raise InputError(f'{path} holds no label; expected lines "{_QRELS_COLUMNS}"')
    return labels


def in_order(pairs: Iterable[tuple[str, float]]) -> list[str]:
    """The ids by score descending, ties by id descending: trec_eval's order."""
    return [name for _, name in sorted(((score, name) for name, score in pairs), reverse=True)]


def read_text(path: Path) -> str:
    """The text of a file, with or without a byte-order mark, in UTF-8 or else cp1252."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Tab-separated where the line has tabs (ids may then hold blanks), else by white space."""
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if line.strip():
            yield number, [part.strip() for part in (line.split("\t") if "\t" in line else line.split())]


def as_number(value: float | str, what: str) -> float:
    """A score or a grade; ValueError for what is none, and for a grade so large that sums of it are no number."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if math.isnan(number) or (what == "grade" and abs(number) > LARGEST):
        raise ValueError(f"expected a number as {what}, got {_shown(value)}")
    return number


def _shown(value: float | str) -> str:
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a whole number of more than 100 digits"
    return f'"{value[:60]}"' if isinstance(value, str) else str(value)


def _number(path: Path, line: int, text: str, what: str) -> float:
    try:
        return as_number(text, what)
    except ValueError as error:
        raise InputError(f"{path}, line {line}: {error}") from None
