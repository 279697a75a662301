"""Data sets of ragas, deepeval and promptfoo load as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.cases import read_cases
from answerkey.types import Case

RAGAS: dict[str, Any] = {
    "user_input": "How long?", "retrieved_contexts": ["30 days."], "response": "It is 30 days.", "reference": "30 days",
    "reference_contexts": ["x"], "rubrics": None, "persona_name": "a", "query_style": "b", "query_length": "c", "synthesizer_name": "d",
}  # fmt: skip
OLD_RAGAS = {"question": "How long?", "contexts": ["30 days."], "answer": "It is 30 days.", "ground_truths": ["30 days"], "evolution_type": "simple"}  # fmt: skip
DEEPEVAL: dict[str, Any] = {
    "input": "How long?", "actual_output": "It is 30 days.", "expected_output": "30 days", "context": ["ideal"],
    "retrieval_context": ["30 days."], "name": "n", "comments": None, "tools_called": None, "expected_tools": None,
    "additional_metadata": None, "source_file": None,
}  # fmt: skip


def one(path: Path) -> Case:
    (case,) = read_cases([path])
    return case


@pytest.mark.parametrize(
    "row", [RAGAS, OLD_RAGAS, DEEPEVAL], ids=["ragas", "ragas 0.1", "deepeval"]
)
def test_rows_with_recorded_answers(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps([row]))
    case = one(path)
    assert case.question == "How long?"
    assert case.expected == ("30 days",)
    assert case.recorded is not None
    assert case.recorded.answer == "It is 30 days."
    assert case.recorded.contexts == ("30 days.",)


def test_promptfoo_tests(tmp_path: Path) -> None:
    test = {
        "description": "returns",
        "vars": {"question": "How long?", "tone": "kind"},
        "assert": [
            {"type": "icontains", "value": "30 days"},
            {"type": "contains-any", "value": ["purchase", "delivery"]},
            {"type": "not-contains", "value": "sorry"},
            {"type": "regex", "value": r"\d+ days"},
            {"type": "similar", "value": "Within 30 days.", "threshold": 0.8},
            {"type": "llm-rubric", "value": "is polite"},
        ],
    }
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(
        yaml.safe_dump({"prompts": ["{{question}}"], "providers": ["x"], "tests": [test]})
    )
    case = one(path)
    assert case.question == "How long?"
    assert case.note == "returns"
    assert case.expected == ("Within 30 days.",)
    assert case.criteria.must_contain == ("30 days",)
    assert case.criteria.must_contain_any == ("purchase", "delivery")
    assert case.criteria.must_not_contain == ("sorry",)
    assert case.criteria.regex == r"\d+ days"
    assert case.extra["x_tone"] == "kind"
    assert [each.kind for each in case.requirements] == [
        "icontains",
        "contains-any",
        "contains",
        "regex",
        "pass",
    ]
    assert case.requirements[-1].ask == "is polite"


@pytest.mark.parametrize(
    ("cell", "expected", "must_contain"),
    [("30 days", ("30 days",), ()), ("contains: 30 days", (), ("30 days",)), ("contains-all: 30, days", (), ("30", "days")),
     ("similar(0.8): Within 30 days", ("Within 30 days",), ())],
)  # fmt: skip
def test_promptfoo_columns(
    tmp_path: Path, cell: str, expected: tuple[str, ...], must_contain: tuple[str, ...]
) -> None:
    path = tmp_path / "tests.csv"
    path.write_text(f'question,__expected,__description\nHow long?,"{cell}",first\n')
    case = one(path)
    assert case.expected == expected
    assert case.criteria.must_contain == must_contain
    assert case.note == "first"
