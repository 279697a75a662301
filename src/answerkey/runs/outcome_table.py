"""Outcomes as an Arrow table: the columns of results.jsonl, and every outcome in full."""

# pyarrow ships no types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from answerkey.files import json_line
from answerkey.runs.records import judged_json, result_line, to_json
from answerkey.types import Outcome

_TEXTS = (
    "id", "question", "expected_answer", "answer", "route", "expected_route", "type", "source_file",
    "error",
)  # fmt: skip
_VERDICT_TEXTS = ("status", "band", "justification", "why", "kind", "cause")
_VERDICT_NUMBERS = ("score", "quality", "route_score")


def outcome_table(names: tuple[str, ...], outcomes: Sequence[tuple[int, Outcome]]) -> Any:
    """Numbered outcomes as a table; `names` are the metrics of the run."""
    import pyarrow

    schema = outcome_schema(names)
    lines = [result_line(outcome) for _, outcome in outcomes]
    for line in lines:
        expected = line["expected_answer"]
        if isinstance(expected, list):  # a column has one type: several are a JSON list
            line["expected_answer"] = json.dumps(expected, ensure_ascii=False)
    columns: dict[str, list[Any]] = {
        name: [line.get(name) for line in lines] for name in schema.names
    }
    columns["n"] = [n for n, _ in outcomes]
    # The columns leave out details; this one can restore the outcome in full.
    columns["outcome"] = [_outcome_json(outcome) for _, outcome in outcomes]
    try:
        return pyarrow.table(columns, schema)
    except UnicodeEncodeError:  # half a surrogate pair: replaced in the columns, kept in `outcome`
        return pyarrow.table(_storable(columns), schema)


def _outcome_json(outcome: Outcome) -> str:
    record = {
        "case": to_json(outcome.case),
        "response": to_json(outcome.response),
        **judged_json(outcome),
    }
    return json_line(record).decode()


@cache
def outcome_schema(names: tuple[str, ...]) -> Any:
    """The columns of results.jsonl between the position and the whole outcome as JSON."""
    import pyarrow as pa

    text = pa.string()
    number = pa.float64()
    score = pa.struct({"value": number, "reason": text, "error": text})
    verdict = {
        **dict.fromkeys(_VERDICT_TEXTS, text),
        **dict.fromkeys(_VERDICT_NUMBERS, number),
        "passed": pa.bool_(),
    }
    return pa.schema(
        {
            "n": pa.int64(),
            **dict.fromkeys(_TEXTS, text),
            "sources": pa.list_(text),
            "contexts": pa.list_(text),
            "question_num": pa.int64(),
            "response_time": number,
            "scores": pa.struct(dict.fromkeys(names, score)),
            "verdict": pa.struct(verdict),
            "outcome": text,
        }
    )


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {name: _storable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return value
