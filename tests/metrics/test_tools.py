"""The metrics of tool calls give the values that a person would give (tool_cases.jsonl)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from answerkey.api.rows import cases_of
from answerkey.metrics.plan import make_plan

TABLE = [
    json.loads(line)
    for line in Path(__file__).with_name("tool_cases.jsonl").read_text("utf-8").splitlines()
]
NOT_COLUMNS = ("values", "says", "order")


@pytest.mark.parametrize("row", TABLE, ids=[row["id"] for row in TABLE])
def test_value_and_reason(row: dict[str, Any]) -> None:
    columns = {key: value for key, value in row.items() if key not in NOT_COLUMNS}
    cells = {"question": "Please help.", "answer": "Done.", **columns}
    (case,) = cases_of([cells])
    assert case.recorded is not None
    settings = {"tool_order": {"mode": row["order"]}} if "order" in row else {}
    scores = make_plan(row["values"], {}, settings).score([(case, case.recorded)])[0]
    values = {name: score.value for name, score in scores.items()}
    assert values == pytest.approx(row["values"], abs=0.001)
    for name, words in row.get("says", {}).items():
        assert words in scores[name].reason


def test_the_table_is_large_enough() -> None:
    assert len(TABLE) >= 80
