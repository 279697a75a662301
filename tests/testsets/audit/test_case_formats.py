"""An audit without documents reads every format of cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FIRST = "How many days of annual leave do I have?"
SECOND = "How many annual leave days do I have?"
ROWS = [
    {"id": "a", "question": FIRST, "expected": "28 days"},
    {"id": "b", "question": SECOND, "expected": "28 days"},
]
TEXTS = {
    "cases.csv": f"id,question,expected\na,{FIRST},28 days\nb,{SECOND},28 days\n",
    "cases.json": json.dumps(ROWS),
    "cases.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    "cases.yaml": "".join(
        f"- id: {row['id']}\n  question: {row['question']}\n  expected: {row['expected']}\n"
        for row in ROWS
    ),
    "cases.md": f"Q1: {FIRST}\nA1: 28 days\n\nQ2: {SECOND}\nA2: 28 days\n",
    "tests.yaml": json.dumps(
        {
            "prompts": ["{{question}}"],
            "tests": [
                {
                    "vars": {"question": row["question"]},
                    "assert": [{"type": "equals", "value": "28"}],
                }
                for row in ROWS
            ],
        }
    ),
    "traces.jsonl": "".join(
        json.dumps(
            {
                "trace_id": row["id"],
                "span_id": "s",
                "attributes": {"input.value": row["question"], "output.value": "28 days"},
            }
        )
        + "\n"
        for row in ROWS
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_two_questions_that_ask_the_same(
    name: str, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    file = tmp_path / name
    file.write_text(TEXTS[name])
    shown = cli("audit", file, "--json", "--quiet", "--model", "none")
    assert shown.code == 0, shown.err
    assert [row["finding"] for row in shown.json] == ["near duplicate"]


def test_a_parquet_file(tmp_path: Path, cli: Callable[..., Any]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "cases.parquet")
    shown = cli("audit", tmp_path / "cases.parquet", "--json", "--quiet", "--model", "none")
    assert [row["finding"] for row in shown.json] == ["near duplicate"]
