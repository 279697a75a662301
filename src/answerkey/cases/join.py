"""Ground truth in files of its own, joined to the cases by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path

from answerkey.cases.conversation import CONVERSATION_KEYS
from answerkey.cases.rows import case_of_row
from answerkey.cases.traces.reader import holds_spans
from answerkey.coerce.rows import Row
from answerkey.coerce.tables import ROW_READERS
from answerkey.coerce.values import as_text
from answerkey.errors import InputError
from answerkey.types import Case

_NO_CASE = Case("", "")
_OWN_FIELDS = ("id", "question", "source_file", "extra")  # never taken from the ground truth


def is_ground_truth(path: Path, name: str) -> bool:
    """Whether a file is about cases of another file: rows with an id and no question."""
    reader = ROW_READERS.get(path.suffix.lower())
    # Spans have ids and no question as well.
    if reader is None or not path.is_file() or holds_spans(path, name):
        return False
    first = next(reader(path, name), None)
    if first is None:
        return False
    row, _ = first
    return "id" in row and not any(row.get(key) for key in ("question", *CONVERSATION_KEYS))


def join_ground_truth(cases: Iterable[Case], files: Mapping[str, Path]) -> Iterator[Case]:
    """The cases, each with the fields that the other files have for its id; its own fields stay."""
    unused: dict[str, Row] = {}
    for name, path in files.items():
        for row, place in ROW_READERS[path.suffix.lower()](path, name):
            # A row needs a question to be read; this one is never used.
            unused[as_text(row.get("id"), "id", place)] = ({**row, "question": "-"}, place)
    for case in cases:
        truth = unused.pop(case.id, None)
        yield case if truth is None else _fill_case(case, truth)
    # Ground truth without its case is a mistake in the ids: nothing would be scored by it.
    if unused:
        row, place = next(iter(unused.values()))
        count = f"{len(unused)} ids have no case with a question"
        example = f'such as "{row["id"]}"'
        fix = "correct the ids, or add a question column"
        raise InputError(f'{place}, column "id": {count}, {example}; {fix}')


def _fill_case(case: Case, truth: Row) -> Case:
    row, place = truth
    other = case_of_row(row, place, case.id)
    missing = [
        each.name
        for each in fields(Case)
        if each.name not in _OWN_FIELDS and getattr(case, each.name) == getattr(_NO_CASE, each.name)
    ]
    added = {name: getattr(other, name) for name in missing}
    return replace(case, **added, extra={**other.extra, **case.extra})
