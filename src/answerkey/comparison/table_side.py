"""The columns of a run that a table of several runs needs, straight from its database.

Decoding every outcome takes most of the time of such a table. The answers of two runs are not
compared here, so their hashes stay empty: `find_changes` needs `load_side`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import nan
from pathlib import Path

from answerkey.comparison.pair import LONGEST_TEXT, Side, hash_case, load_side, side_without_cases
from answerkey.errors import StorageError
from answerkey.files import read_as
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


def load_table_side(folder: Path) -> Side:
    """The columns of a run, without the hashes of its answers.

    A run with repeats, and a text that SQL cannot read, such as half a surrogate, are read outcome by
    outcome.
    """
    reader = open_reader(folder)
    if reader.repeats.times > 1:
        return load_side(folder)
    try:
        side = _read_columns(folder, reader)
    except StorageError:
        return load_side(folder)
    # Half a surrogate is escaped in the columns of a case: its id would not be the case's own.
    is_escaped = any("\\ud" in text for text in (*side.ids, *side.questions))
    # A run without a finished case is refused by load_side, with the usual message.
    if is_escaped or not len(side):
        return load_side(folder)
    return side


@dataclass(frozen=True, slots=True)
class _StoredCase:
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


def _read_columns(folder: Path, reader: RunReader) -> Side:
    manifest = read_manifest(folder)
    cases = [_StoredCase(*row) for row in reader.query(_ROWS, (LONGEST_TEXT,))]
    side = side_without_cases(str(folder), manifest, profile_of(folder), len(cases))
    for case in cases:
        _add_case(side, case)
    _read_scores(side, reader, places={case.n: place for place, case in enumerate(cases)})
    return side


def _add_case(side: Side, case: _StoredCase) -> None:
    side.ids.append(case.id)
    side.questions.append(case.question or "")
    side.clusters.append(case.cluster or case.id)
    side.cases.append(_hash_stored_case(case.case_json))
    side.statuses.append(case.status)
    side.kinds.append(case.kind or "")
    side.score.append(_or_nan(case.score))
    # A case without a score has no verdict, whatever its column says.
    side.passed.append(nan if case.score is None else _or_nan(case.passed))
    side.seconds.append(_or_nan(case.seconds))
    side.cost.append(_or_nan(case.cost))
    side.tokens.append(_or_nan(case.tokens))
    side.answer_texts.append(case.answer)


# The runs of a table have the same cases, mostly with the same text.
@lru_cache(maxsize=10_000)
def _hash_stored_case(case_json: str) -> bytes:
    return hash_case(read_as(case_json, Case))


def _or_nan(value: float | None) -> float:
    return nan if value is None else float(value)


def _read_scores(side: Side, reader: RunReader, places: dict[int, int]) -> None:
    for n, metric, value, state in reader.query(_SCORES):
        if n not in places:
            continue
        if state == "error":
            side.errors[metric] = side.errors.get(metric, 0) + 1
        side.add_value(metric, places[n], value)
    side.fill()
