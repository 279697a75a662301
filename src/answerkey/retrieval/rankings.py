"""Recorded rankings and relevance labels from files: TREC, BEIR, CSV, JSON.

Ids are stripped text, compared whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice, product
from pathlib import Path
from typing import Generic, TypeVar, cast

from answerkey.coerce.decode import read_lines
from answerkey.coerce.json_rows import is_table, read_json_file, rows_of_value
from answerkey.coerce.labels import as_ids, as_labels, names_pages
from answerkey.coerce.passage_fields import PAGE_KEYS
from answerkey.coerce.tables import ROW_READERS
from answerkey.coerce.values import NO_VALUES, Place, as_number, as_text, is_mapping
from answerkey.errors import InputError, did_you_mean

T = TypeVar("T")
Parse = Callable[[object, str, Place], T]
Read = Callable[[Path], dict[str, T]]
Row = Mapping[str, object]
Rankings = dict[str, list[str]]
Labels = dict[str, dict[str, float]]
_NUMBERS = frozenset({int, float})
_QUERIES_AT_ONCE = 100  # ids of so many queries are looked at together
# A dict with one of these keys is a passage, not `{id: score}`.
_PASSAGE_KEYS = frozenset({"doc", "page", "id", "source"})
# Every spelling of words such as `n/a`: looking them up is faster than folding every id.
_ANY_CASE = chain.from_iterable(
    product(*zip(word, word.upper(), strict=True)) for word in NO_VALUES
)
_NOT_LABELS = {*PAGE_KEYS, "pages", *map("".join, _ANY_CASE)}
_CONFIGURATION = "config_name"
_RUN_COLUMNS = "query Q0 id rank score tag"
_QRELS_COLUMNS = "query 0 id grade"
_HEADERS = frozenset({"query-id", "qid", "query"})


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The rankings of one configuration, with its α and the milliseconds per query if recorded."""

    rankings: Rankings
    alpha: float | None = None
    milliseconds: dict[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class RecordedRuns:
    """The configurations of one file by name ("" where there is one), and the type of each query."""

    configurations: dict[str, RecordedRun]
    types: dict[str, str]


def read_rankings(path: Path) -> Rankings:
    """For each query its ids, best first; repeats stay. Scores are sorted as trec_eval does."""
    configurations = read_configurations(path)
    if len(configurations) > 1:
        raise InputError(
            f"{path}: found {len(configurations)} configurations "
            f"({', '.join(configurations)}), expected one"
        )
    return next(iter(configurations.values()))


def read_configurations(path: Path) -> dict[str, Rankings]:
    """The rankings of each configuration of a `config_name` column; without one, all under ""."""
    return {name: run.rankings for name, run in read_runs(path).configurations.items()}


def read_runs(path: Path) -> RecordedRuns:
    """The rankings of a file, with what it records beside them: α, query types and times."""
    if not _has_rows(path):
        return RecordedRuns({"": RecordedRun(read_trec_run(path))}, {})
    rankings = _TableReader[list[str]](path, "retrieved", parse_ranking)
    types: dict[str, str] = {}
    alphas: dict[str, float] = {}
    times: dict[str, dict[str, float]] = {}
    for configuration, query, row in rankings.read():
        kind = str(row.get("type") or "").strip()
        if kind:
            types.setdefault(query, kind)
        alpha = _recorded_number(row.get("alpha"))
        if alpha is not None:
            alphas.setdefault(configuration, alpha)
        taken = _recorded_number(row.get("retrieval_time_ms", row.get("retrieval_ms")))
        if taken is not None:
            times.setdefault(configuration, {})[query] = taken
    runs = {
        name: RecordedRun(values, alphas.get(name), times.get(name, {}))
        for name, values in rankings.values.items()
    }
    return RecordedRuns(runs, types)


def read_relevance_labels(path: Path) -> Labels:
    """For each query the grade of each labelled id; a plain list of ids gives each the grade 1."""
    if not _has_rows(path):
        return read_qrels(path)
    reader = _TableReader[dict[str, float]](path, "relevant", as_labels)
    for _ in reader.read():
        pass
    labels: Labels = {}
    for configuration in reader.values.values():
        for query, grades in configuration.items():
            # A table with a row per configuration repeats the labels of each query.
            if labels.setdefault(query, grades) != grades:
                raise InputError(
                    f'{path}: the query "{query}" comes twice, with other labels; '
                    "give each query once"
                )
    return labels


def as_rankings(value: object) -> Rankings:
    """The rankings of a file, or of a dict: `{query: [id, …]}` or `{query: {id: score}}`."""
    return _parse_mapping(value, "rankings", "retrieved", parse_ranking, read_rankings)


def as_relevance_labels(value: object) -> Labels:
    """The labels of a file, or of a dict: `{query: [id, …]}` or `{query: {id: grade}}`."""
    return _parse_mapping(value, "labels", "relevant", as_labels, read_relevance_labels)


def _parse_mapping(
    value: object, what: str, column: str, parse: Parse[T], read: Read[T]
) -> dict[str, T]:
    if isinstance(value, (str, Path)):
        return read(Path(value))
    if not is_mapping(value):
        raise InputError(
            f"{what}: found {type(value).__name__}, expected a dict of queries or a path"
        )
    parsed: dict[str, T] = {}
    for query, one in value.items():
        place = Place(f'{what}, query "{query}"')
        try:
            parsed[str(query)] = parse(one, column, place)
        except OverflowError:  # Python's whole numbers have no limit, floats do
            raise InputError(f"{place}: a number is too large") from None
    return parsed


def has_pages(value: object, *, labels: bool = False) -> bool | None:
    """Whether `{query: {id: number}}` has the id of a page, such as `manual.pdf#34`.

    None means that the value has another shape and must be parsed first. This is the fast path of
    `rank` for large dicts: ids are joined, as a look at each of them takes ten times as long.
    """
    if not _is_plain(value, labels=labels):
        return None
    tables = iter(cast("dict[str, dict[str, object]]", value).values())
    any_page = False
    while block := list(islice(tables, _QUERIES_AT_ONCE)):
        try:
            text = "".join(chain.from_iterable(block))
        # An id that is no text, such as a page number, must be parsed.
        except TypeError:
            return None
        # One look at the joined text: ids are stripped one by one only if it has any white space.
        has_blank = bool(text) and text.split(None, 1) != [text]
        if has_blank and any(name != name.strip() for ids in block for name in ids):
            return None
        any_page = any_page or names_pages(text)
    return any_page


def _is_plain(value: object, *, labels: bool) -> bool:
    """Whether it is a dict of dicts from ids to numbers, with nothing to parse."""
    if type(value) is not dict:
        return False
    forbidden = _NOT_LABELS if labels else _PASSAGE_KEYS
    for query, ids in cast("dict[object, dict[str, object]]", value).items():
        if type(query) is not str or type(ids) is not dict or not ids.keys().isdisjoint(forbidden):
            return False
        # Compared by exact type, as True is an int; the parser decides about it.
        if labels and not _NUMBERS.issuperset(map(type, ids.values())):
            return False
    return True


def read_trec_run(path: Path) -> Rankings:
    """For each query its ids by score, best first; as in trec_eval, the rank column is ignored."""
    rows: dict[str, list[tuple[str, float]]] = {}
    for place, fields in _trec_lines(path):
        # The tag, the sixth column, is not used and may be missing.
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
        # The qrels of BEIR begin with a header, `query-id corpus-id score`; those of TREC do not.
        if place.line == 1 and fields[0].lower().replace("_", "-") in _HEADERS:
            continue
        if len(fields) not in {3, 4}:
            raise InputError(f'{place}: expected "{_QRELS_COLUMNS}", got {len(fields)} columns')
        query = fields[0]
        # Counted from the end: BEIR has no second column `0`.
        name = fields[-2]
        grade = _number(fields[-1], "grade", place)
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


def parse_ranking(value: object, column: str, place: Place) -> list[str]:
    """A list of ids in order, or `{id: score}` in trec_eval's order."""
    if is_mapping(value) and not _PASSAGE_KEYS & value.keys():
        return in_order(
            (str(name).strip(), _number(score, "score", place)) for name, score in value.items()
        )
    return list(as_ids(value, column, place))


class _TableReader(Generic[T]):
    """Reads one column of a table with a row per configuration and query."""

    def __init__(self, path: Path, column: str, parse: Parse[T]) -> None:
        self._path = path
        self._column = column
        self._parse = parse
        self.values: dict[str, dict[str, T]] = {}

    def read(self) -> Iterator[tuple[str, str, Row]]:
        """Configuration, query and row of each row; the parsed column is in `values` then."""
        columns: dict[str, None] = {}
        for row, place in self._rows():
            columns.update(dict.fromkeys(row))
            configuration = as_text(row.get(_CONFIGURATION), _CONFIGURATION, place)
            query = self._query(row, place)
            queries = self.values.setdefault(configuration, {})
            if query in queries:
                raise InputError(f'{place}: the query "{query}" comes twice; give each query once')
            queries[query] = self._parse(row.get(self._column), self._column, place)
            yield configuration, query, row
        if not self.values:
            raise InputError(f"{self._path}: no query found")
        # Checked at the end: in JSON, one row may lack a column that another row has.
        if self._column not in columns:
            raise self._missing_column(columns)

    def _rows(self) -> Iterable[tuple[Row, Place]]:
        path = self._path
        ending = path.suffix.lower()
        if ending != ".json":
            return ROW_READERS[ending](path, path.name)
        whole = read_json_file(path, path.name)
        if not is_mapping(whole) or is_table(whole):
            return rows_of_value(whole, path.name)
        return [  # {query: value}
            ({"id": query, self._column: value}, Place(f'{path.name}, query "{query}"'))
            for query, value in whole.items()
        ]

    def _query(self, row: Row, place: Place) -> str:
        query = as_text(row.get("id"), "query_id", place)
        query = query or as_text(row.get("question"), "query", place)
        if not query:
            raise place.error("query_id", row.get("id"), "the id of a query")
        return query

    def _missing_column(self, columns: Iterable[str]) -> InputError:
        names = list(columns)
        hint = did_you_mean(self._column, names)
        if not hint and self._column == "relevant":
            hint = "; give the labels in a file of their own: --qrels labels.csv"
        return InputError(
            f'{self._path.name}: no column "{self._column}" among {", ".join(names)}{hint}'
        )


def _has_rows(path: Path) -> bool:
    """Whether the file is a table rather than TREC lines; TREC files may end in .tsv."""
    ending = path.suffix.lower()
    return ending in ROW_READERS and ending != ".tsv"


def _trec_lines(path: Path) -> Iterator[tuple[Place, list[str]]]:
    """Tab-separated where the line has tabs (ids may then hold blanks), else by white space."""
    for number, line in read_lines(path):
        if "\t" in line:
            parts = line.split("\t")
        else:
            parts = line.split()
        yield Place(str(path), number), [part.strip() for part in parts]


def _number(value: object, what: str, place: Place) -> float:
    number = as_number(value, what, place)
    if number is None:
        raise place.error(what, value, "a number")
    return number


def _recorded_number(value: object) -> float | None:
    """A number beside a ranking; anything else there is not our concern."""
    try:
        number = float(cast("str", value))
    except (TypeError, ValueError, OverflowError):
        return None
    # The comparison is false for NaN and infinity, too, which no output may contain.
    return number if abs(number) < 1e300 else None
