"""Conditions of `--where`, and random samples."""

from __future__ import annotations

import pytest

from answerkey.cases.select import CaseCondition, filter_cases, sample_cases
from answerkey.errors import SettingsError
from answerkey.types import Case, Response, ToolCall

CASES = [
    Case(
        "a",
        "How do I get a REFUND?",
        tags=("money", "shop"),
        recorded=Response("Soon.", seconds=7.0, tools=(ToolCall("lookup"),)),
        extra={"feedback": "down", "conversation": "s1"},
    ),
    Case("b", "Where?", recorded=Response(error="timed out", seconds=1.0), extra={"feedback": ""}),
]


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("feedback=down", ["a"]),
        ("feedback=", ["b"]),
        ("feedback!=down", ["b"]),
        ("latency>5", ["a"]),
        ("latency<=1", ["b"]),
        ("question~refund", ["a"]),
        ("error=*", ["b"]),
        ("error=", ["a"]),
        ("tags=shop", ["a"]),
        ("tool=lookup", ["a"]),
        ("session=s1", ["a"]),
        ("id=b", ["b"]),
    ],
)
def test_one_condition(condition: str, ids: list[str]) -> None:
    chosen = filter_cases(CASES, [CaseCondition.parse(condition)])
    assert [case.id for case in chosen] == ids


def test_all_conditions_must_hold() -> None:
    conditions = [CaseCondition.parse("latency>0"), CaseCondition.parse("error=*")]
    assert [case.id for case in filter_cases(CASES, conditions)] == ["b"]


@pytest.mark.parametrize("text", ["feedback", "=x", "latency>soon"])
def test_a_condition_that_cannot_be_read(text: str) -> None:
    with pytest.raises(SettingsError, match="--where"):
        CaseCondition.parse(text)


def test_a_column_that_no_case_has_is_named_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match=r'no case has the column "conversatoin".*conversation'):
        list(filter_cases(CASES, [CaseCondition.parse("conversatoin=s1")]))


def test_a_sample_keeps_the_order_and_the_seed_decides() -> None:
    cases = [Case(str(number), "q") for number in range(200)]
    first = sample_cases(iter(cases), 20, seed=1)
    assert [int(case.id) for case in first] == sorted(int(case.id) for case in first)
    assert len({case.id for case in first}) == 20
    assert sample_cases(iter(cases), 20, seed=1) == first
    assert sample_cases(iter(cases), 20, seed=2) != first
    assert sample_cases(iter(cases[:5]), 20) == cases[:5]
