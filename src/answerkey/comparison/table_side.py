"""The columns of a run that a table of several runs needs, straight from its database.

Decoding every outcome takes most of the time of such a table. The answers of two runs are not
compared here, so their hashes stay empty: `find_changes` needs `load_side`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from math import nan
from pathlib import Path
from typing import NamedTuple

from answerkey.comparison.pair import LONGEST_TEXT, Side, hash_case, load_side, side_without_cases
from answerkey.errors import StorageError
from answerkey.files import read_as
from answerkey.runs.case_list import metric_names
from answerkey.runs.run_reader import RunReader
from answerkey.runs.store import open_reader, profile_of, read_manifest
from answerkey.types import Case

_ROWS = """
SELECT cases.n, cases.id, substr(cases.question, 1, ?1), cases.cluster, cases.status,
       cases.score, cases.passed, cases.kind, cases.seconds, answers.case_json,
       json_extract(answers.response_json, '$.cost'),
       json_extract(answers.response_json, '$.prompt_tokens'),
       json_extract(answers.response_json, '$.completion_tokens'),
       substr(coalesce(nullif(json_extract(answers.response_json, '$.error'), ''),
                       json_extract(answers.response_json, '$.answer'), ''), 1, ?1)
FROM cases JOIN answers ON answers.place = cases.n
WHERE cases.stage IN ('scored', 'error')
ORDER BY cases.n
"""
_SCORES = (
    "SELECT scores.n, metric, value, state FROM scores LEFT JOIN metrics USING (metric)"
    " ORDER BY scores.n, metrics.number"
)


def load_table_sides(folders: Sequence[Path]) -> list[Side]:
    """The columns of several runs; the values of metrics are read only if no pass rate decides."""
    sides = [load_table_side(folder, with_values=False) for folder in folders]
    if all(side.has_verdicts for side in sides):
        return sides
    return [load_table_side(folder) for folder in folders]


def load_table_side(folder: Path, *, with_values: bool = True) -> Side:
    """The columns of a run, without the hashes of its answers.

    Without `with_values` the columns of the metrics have no numbers.

    A run with repeats, and a text that SQL cannot read, such as half a surrogate, are read outcome by
    outcome.
    """
    reader = open_reader(folder)
    if reader.repeats.times > 1:
        return load_side(folder)
    try:
        side = _read_columns(folder, reader, with_values=with_values)
    except StorageError:
        return load_side(folder)
    # Half a surrogate is escaped in the columns of a case: its id would not be the case's own.
    is_escaped = any("\\ud" in text for text in (*side.ids, *side.questions))
    # A run without a finished case is refused by load_side, with the usual message.
    if is_escaped or not len(side):
        return load_side(folder)
    return side


class _StoredCase(NamedTuple):
    """A row of `_ROWS`, with the fields in the order of its columns."""

    n: int
    id: str
    question: str | None
    cluster: str | None
    status: str
    score: float | None
    passed: int | None
    kind: str | None
    seconds: float | None
    case_json: str
    cost: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    answer: str

    @property
    def tokens(self) -> int | None:
        if self.prompt_tokens is None and self.completion_tokens is None:
            return None
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)

    @property
    def verdict(self) -> int | None:
        """1 passed, 0 failed; a case without a score has no verdict, whatever its column says."""
        return None if self.score is None else self.passed


def _read_columns(folder: Path, reader: RunReader, *, with_values: bool) -> Side:
    manifest = read_manifest(folder)
    cases = [_StoredCase(*row) for row in reader.query(_ROWS, (LONGEST_TEXT,))]
    side = side_without_cases(str(folder), manifest, profile_of(folder), len(cases))
    side.ids = [case.id for case in cases]
    side.questions = [case.question or "" for case in cases]
    side.clusters = [case.cluster or case.id for case in cases]
    side.cases = [_hash_stored_case(case.case_json) for case in cases]
    side.statuses = [case.status for case in cases]
    side.kinds = [case.kind or "" for case in cases]
    side.score = _numbers([case.score for case in cases])
    side.passed = _numbers([case.verdict for case in cases])
    side.seconds = _numbers([case.seconds for case in cases])
    side.cost = _numbers([case.cost for case in cases])
    side.tokens = _numbers([case.tokens for case in cases])
    side.answer_texts = [case.answer for case in cases]
    # The names are always needed: they tell whether two runs are scored alike.
    side.metrics = {name: array("d") for name in metric_names(reader)}
    if with_values:
        _read_scores(side, reader, {case.n: place for place, case in enumerate(cases)})
    side.fill()
    return side


def _numbers(column: Sequence[float | None]) -> array[float]:
    return array("d", [nan if value is None else value for value in column])


# The runs of a table have the same cases, mostly with the same text.
@lru_cache(maxsize=10_000)
def _hash_stored_case(case_json: str) -> bytes:
    return hash_case(read_as(case_json, Case))


def _read_scores(side: Side, reader: RunReader, places: dict[int, int]) -> None:
    for n, metric, value, state in reader.query(_SCORES):
        if n not in places:
            continue
        if state == "error":
            side.errors[metric] = side.errors.get(metric, 0) + 1
        side.add_value(metric, places[n], value)
