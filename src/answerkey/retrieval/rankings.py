"""Recorded rankings and relevance labels from files: TREC, BEIR, CSV, JSON; ids are stripped text, compared whole."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, product
from pathlib import Path
from typing import TypeVar, cast

from answerkey.coerce.columns import canonical_columns
from answerkey.coerce.csv_rows import separator_of
from answerkey.coerce.decode import encoding_of, read_lines
from answerkey.coerce.json_rows import is_table, read_json_file, rows_of_value
from answerkey.coerce.labels import as_ids, as_labels, names_pages
from answerkey.coerce.passage_fields import PAGE_KEYS
from answerkey.coerce.tables import ROW_READERS
from answerkey.coerce.values import NO_VALUES, Place, as_number, as_text, is_mapping
from answerkey.errors import InputError, did_you_mean

T = TypeVar("T")
Parse = Callable[[object, str, Place], T]
Read = Callable[[Path], dict[str, T]]
Rankings = dict[str, list[str]]
Labels = dict[str, dict[str, float]]
_NUMBERS = frozenset({int, float})
_AT_ONCE = 100  # queries whose ids are looked at together
_OF_PASSAGE = frozenset(
    {"doc", "page", "id", "source"}
)  # keys of a dict that is a passage, not `{id: score}`
_NOT_LABELS = {*PAGE_KEYS, "pages"}.union(
    map(
        "".join,
        chain.from_iterable(product(*zip(word, word.upper(), strict=True)) for word in NO_VALUES),
    )
)
_CONFIGURATION = "config_name"
_RUN_COLUMNS = "query Q0 id rank score tag"
_QRELS_COLUMNS = "query 0 id grade"


def read_rankings(path: Path) -> Rankings:
    """For each query its ids, best first; repeats stay. Scores are turned into an order by the TREC rule."""
    found = read_configurations(path)
    if len(found) > 1:
        raise InputError(
            f"{path}: found {len(found)} configurations ({', '.join(found)}), expected one"
        )
    return next(iter(found.values()))


def read_configurations(path: Path) -> dict[str, Rankings]:
    """The rankings of each configuration that a `config_name` column names; without one, all under ""."""
    return _read(path, "retrieved", _ranking, read_trec_run)


def read_relevance_labels(path: Path) -> Labels:
    """For each query the grade of each labelled id; a plain list of ids gives each the grade 1."""
    found: Labels = {}
    for configuration in _read(path, "relevant", as_labels, read_qrels).values():
        for query, grades in configuration.items():
            if found.setdefault(query, grades) != grades:
                raise InputError(
                    f'{path}: the query "{query}" comes twice, with other labels; give each query once'
                )
    return found


def as_rankings(given: object) -> Rankings:
    """The rankings of a file, or of a dict: `{query: [id, …]}` or `{query: {id: score}}`."""
    return _of_mapping(given, "rankings", "retrieved", _ranking, read_rankings)


def as_relevance_labels(given: object) -> Labels:
    """The labels of a file, or of a dict: `{query: [id, …]}` or `{query: {id: grade}}`."""
    return _of_mapping(given, "labels", "relevant", as_labels, read_relevance_labels)


def has_pages(given: object, *, labels: bool = False) -> bool | None:
    """Whether `{query: {id: number}}` has the id of a page, `manual.pdf#34`; None for data that must be read first."""
    found, others = False, _NOT_LABELS if labels else _OF_PASSAGE
    if type(given) is not dict:
        return None
    for query, ids in cast("dict[object, dict[str, object]]", given).items():
        if type(query) is not str or type(ids) is not dict or not ids.keys().isdisjoint(others):
            return None
        if labels and not _NUMBERS.issuperset(map(type, ids.values())):
            return None
    values = iter(cast("dict[str, dict[str, object]]", given).values())
    while block := list(islice(values, _AT_ONCE)):
        try:
            text = "".join(chain.from_iterable(block))
        except TypeError:
            return None
        if (
            text
            and text.split(None, 1) != [text]
            and any(name != name.strip() for ids in block for name in ids)
        ):
            return None
        found = found or names_pages(text)
    return found


def _of_mapping(
    given: object, what: str, column: str, parse: Parse[T], read: Read[T]
) -> dict[str, T]:
    if isinstance(given, (str, Path)):
        return read(Path(given))
    if not is_mapping(given):
        raise InputError(
            f"{what}: found {type(given).__name__}, expected a dict of queries or a path"
        )
    return {
        str(query): parse(value, column, Place(f'{what}, query "{query}"'))
        for query, value in given.items()
    }


def read_trec_run(path: Path) -> Rankings:
    """For each query its ids by score, best first; the file's own rank column is not trusted, as in trec_eval."""
    rows: dict[str, list[tuple[str, float]]] = {}
    for place, fields in _trec_lines(path):
        if len(fields) not in {5, 6}:
            raise InputError(f'{place}: expected "{_RUN_COLUMNS}", got {len(fields)} columns')
        rows.setdefault(fields[0], []).append((fields[2], _number(fields[4], "score", place)))
    if not rows:
        raise InputError(f'{path}: no ranking found; expected lines "{_RUN_COLUMNS}"')
    return {query: in_order(pairs) for query, pairs in rows.items()}


def read_qrels(path: Path) -> Labels:
    """For each query the grade of each labelled id."""
    labels: Labels = {}
    for place, fields in _trec_lines(path):
        if place.line == 1 and fields[0].lower().replace("_", "-") in {"query-id", "qid", "query"}:
            continue
        if len(fields) not in {3, 4}:
            raise InputError(f'{place}: expected "{_QRELS_COLUMNS}", got {len(fields)} columns')
        query, name, grade = fields[0], fields[-2], _number(fields[-1], "grade", place)
        if labels.setdefault(query, {}).get(name, grade) != grade:
            raise InputError(f'{place}: "{name}" has two grades for the query "{query}"')
        labels[query][name] = grade
    if not labels:
        raise InputError(f'{path}: no label found; expected lines "{_QRELS_COLUMNS}"')
    return labels


def in_order(pairs: Iterable[tuple[str, float]]) -> list[str]:
    """The ids by score descending, ties by id descending: trec_eval's order.

    >>> in_order([("a", 0.5), ("b", 0.5), ("c", 0.9)])
    ['c', 'b', 'a']
    """
    return [name for _, name in sorted(((score, name) for name, score in pairs), reverse=True)]


def _read(path: Path, column: str, parse: Parse[T], read_trec: Read[T]) -> dict[str, dict[str, T]]:
    ending = path.suffix.lower()
    if ending not in ROW_READERS or ending == ".tsv":
        return {"": read_trec(path)}
    found: dict[str, dict[str, T]] = {}
    seen: dict[str, None] = {}
    if ending != ".json":
        rows = ROW_READERS[ending](path, path.name)
    elif is_mapping(whole := read_json_file(path, path.name)) and not is_table(
        whole
    ):  # {query: value}
        named = (
            (query, value, Place(f'{path.name}, query "{query}"')) for query, value in whole.items()
        )
        rows = (({"id": query, column: value}, place) for query, value, place in named)
    else:
        rows = rows_of_value(whole, path.name)
    for row, place in rows:
        seen.update(dict.fromkeys(row))
        query = as_text(row.get("id"), "query_id", place) or as_text(
            row.get("question"), "query", place
        )
        if not query:
            raise place.error("query_id", row.get("id"), "the id of a query")
        queries = found.setdefault(as_text(row.get(_CONFIGURATION), _CONFIGURATION, place), {})
        if query in queries:
            raise InputError(f'{place}: the query "{query}" comes twice; give each query once')
        queries[query] = parse(row.get(column), column, place)
    if not found:
        raise InputError(f"{path}: no query found")
    if column not in seen:
        hint = did_you_mean(column, seen)
        fix = (
            "; give the labels in a file of their own: --qrels labels.csv"
            if column == "relevant"
            else ""
        )
        raise InputError(f'{path.name}: no column "{column}" among {", ".join(seen)}{hint or fix}')
    return found


def _ranking(value: object, column: str, place: Place) -> list[str]:
    if is_mapping(value) and not _OF_PASSAGE & value.keys():
        return in_order(
            (str(name).strip(), _number(score, "score", place)) for name, score in value.items()
        )
    return list(as_ids(value, column, place))


def _trec_lines(path: Path) -> Iterator[tuple[Place, list[str]]]:
    """Tab-separated where the line has tabs (ids may then hold blanks), else by white space."""
    for number, line in read_lines(path):
        parts = line.split("\t") if "\t" in line else line.split()
        yield Place(str(path), number), [part.strip() for part in parts]


def _number(value: object, what: str, place: Place) -> float:
    number = as_number(value, what, place)
    if number is None:
        raise place.error(what, value, "a number")
    return number


# configuration to statistic to metric to value
RecordedFigures = dict[str, dict[str, dict[str, float]]]
_STATISTICS = frozenset(
    {"mean", "std", "min", "max", "count", "median", "sum", "var", "sem", "25%", "50%", "75%"}
)
_NAMES = ("config_name", "configuration", "config", "setting", "method", "model", "name", "")


def read_figures(path: Path, most: int | None = None) -> RecordedFigures | None:
    """The figures of a CSV file, or None where it is no such table; `most` limits the lines that are read. Two layouts:
    pandas' two header rows (metric, statistic), and one row per configuration with numbers only."""
    try:
        with path.open(encoding=encoding_of(path), newline="") as file:
            separator, _ = separator_of(file)
            header, *rows = list(islice(csv.reader(file, delimiter=separator), most)) or [[]]
    except csv.Error:
        return None
    names = [cell.strip() for cell in header]
    below = [cell.strip().lower() for cell in rows[0]] if rows else []
    two_rows = len(below) > 1 and _STATISTICS.issuperset(below[1:])
    statistics = below if two_rows else ["value"] * len(names)
    if not names or names[0].lower() not in _NAMES or len(names) < 2:
        return None
    if {"question", "id", "retrieved", "relevant"} & set(canonical_columns(names).values()):
        return None
    figures: RecordedFigures = {}
    for cells in rows[two_rows:]:
        if not any(
            cell.strip() for cell in cells[1:]
        ):  # the name of pandas' index, on a row of its own
            continue
        for metric, statistic, cell in zip(names[1:], statistics[1:], cells[1:], strict=False):
            try:
                value = float(cell)
            except ValueError:
                if cell.strip():
                    return None
                continue
            if value == value:
                figures.setdefault(cells[0].strip(), {}).setdefault(statistic, {})[metric] = value
    return figures or None
