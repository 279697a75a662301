"""A case that is written to a file is read back as the same case."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from answerkey.cases import read_cases
from answerkey.cases.write import write_cases
from answerkey.types import Case

ROWS: list[dict[str, object]] = [
    {"id": "plain", "question": "How long?"},
    {
        "id": "labels",
        "question": "How long?",
        "expected": ["Two years", "24 months"],
        "relevant": {"manual.pdf#3": 2, "manual.pdf#4": 1},
        "type": "fact",
        "expected_route": "docs",
        "acceptable_routes": ["docs", "faq"],
        "tags": ["a", "b"],
        "priority": "high",
        "note": "checked",
        "owner": "support",
    },
    {
        "id": "criteria",
        "question": "How long?",
        "answer_criteria": {"must_contain": ["two"], "numerical_range": [1, 3]},
        "criteria": [
            "It is polite.",
            {"ask": "It names a price.", "kind": "0-5", "threshold": 0.6, "weight": 2},
            {"kind": "not-icontains", "value": "sorry"},
            {"kind": "contains-all", "value": ["two", "years"]},
            {"kind": "latency", "threshold": 5},
        ],
        "criteria_threshold": 0.5,
    },
    {
        "id": "tools",
        "question": "Book it",
        "expected_tools": [["search", {"name": "book", "arguments": {"id": 3}}], ["ask"]],
        "forbidden_tools": ["delete"],
        "max_calls": 4,
        "forbidden": ["salaries.pdf", {"id": "x", "text": "secret"}],
        "tools": [{"name": "search", "arguments": {"q": "x"}, "result": "4 hotels"}],
    },
    {"id": "no tools", "question": "Hello", "expected_tools": []},
    {"id": "criterion of 0", "question": "How many?", "answer_criteria": {"expected_value": 0}},
    {"id": "empty answer", "question": "How long?", "answer": ""},
    {"id": "no tool called", "question": "Hello", "answer": "Hi", "tools": []},
    {"id": "nothing retrieved", "question": "How long?", "answer": "Hm", "retrieved": []},
    {"id": "nothing relevant", "question": "How long?", "relevant": []},
    {
        "id": "history",
        "question": "And the battery?",
        "history": [
            {"role": "user", "content": "How long?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "two years"},
            {"role": "assistant", "content": "Two years."},
        ],
        "answer": "One year.",
        "contexts": [{"text": "One year.", "id": "b", "score": 0.5, "page": "3", "doc": "m.pdf"}],
        "route": "docs",
        "response_time": 1.5,
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "cost": 0.01,
    },
]


def _comparable(case: Case) -> Case:
    return replace(case, source_file=None, written={})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["id"]))
def test_a_case_survives_being_written(row: dict[str, object], tmp_path: Path) -> None:
    import json

    first = tmp_path / "first.jsonl"
    first.write_text(json.dumps(row))
    (case,) = read_cases([first])
    write_cases(tmp_path / "second.jsonl", [case])
    (again,) = read_cases([tmp_path / "second.jsonl"])
    assert _comparable(again) == _comparable(case)
