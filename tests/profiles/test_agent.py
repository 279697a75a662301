"""The profile `agent`: what passes, what fails, and the kind and the sentence of each failure."""

from __future__ import annotations

import pytest

import answerkey as ak
from answerkey.metrics.registry import all_metrics
from answerkey.types import Kind, Status

SEARCH = {"name": "search", "arguments": {"city": "Oslo", "nights": 2}}
LOGIN = {"name": "login", "arguments": {"user": "ann"}}
BOOK = {"name": "book", "arguments": {"hotel": "Grand"}}


def _outcome(**columns: object) -> ak.Outcome:
    row = {"id": "q1", "question": "Book a hotel.", "answer": "Done.", **columns}
    return ak.evaluate([row], profile="agent")["q1"]


def test_the_right_calls_pass_with_other_calls_between() -> None:
    outcome = _outcome(expected_tools=[SEARCH, BOOK], tools=[LOGIN, SEARCH, LOGIN, BOOK])
    assert outcome.verdict.passed
    assert outcome.verdict.kind == ""


def test_no_call_passes_where_none_is_expected() -> None:
    assert _outcome(expected_tools=[], tools=[]).verdict.passed


def test_without_calls_or_labels_a_case_is_not_scored() -> None:
    assert _outcome(tools=[SEARCH]).verdict.status == Status.UNSCORED
    verdict = _outcome(expected_tools=[SEARCH]).verdict
    assert verdict.status == Status.UNSCORED
    assert verdict.why == "Not scored: the response does not report its tool calls."


@pytest.mark.parametrize(
    ("columns", "kind", "why"),
    [
        (
            {"expected_tools": [SEARCH], "tools": [LOGIN]},
            Kind.WRONG_TOOL,
            "Did not call search; called login instead.",
        ),
        (
            {"expected_tools": [SEARCH], "tools": []},
            Kind.WRONG_TOOL,
            "Did not call search; called nothing instead.",
        ),
        (
            {"expected_tools": [], "tools": [LOGIN]},
            Kind.WRONG_TOOL,
            "Called login, expected no call.",
        ),
        (
            {"expected_tools": [SEARCH, BOOK], "tools": [LOGIN, SEARCH]},
            Kind.WRONG_TOOL,
            "Did not call book.",
        ),
        (
            {"expected_tools": [SEARCH, BOOK], "tools": [BOOK, SEARCH]},
            Kind.WRONG_TOOL,
            "Called book, search in this order, expected search, book.",
        ),
        (
            {
                "expected_tools": [SEARCH],
                "tools": [{"name": "search", "arguments": {"city": "Oslo", "nights": 3}}],
            },
            Kind.WRONG_ARGUMENT,
            "Called search with another argument: nights is 3, expected 2.",
        ),
        (
            {"forbidden_tools": ["book"], "tools": [BOOK]},
            Kind.FORBIDDEN_TOOL,
            "Called book, which is forbidden.",
        ),
        (
            {"expected_tools": [BOOK], "tools": [{**BOOK, "error": "full"}]},
            Kind.OTHER,
            "The call of book failed: full.",
        ),
        (
            {"max_calls": 1, "tools": [LOGIN, BOOK]},
            Kind.OTHER,
            "Made 2 calls, at most 1 are allowed.",
        ),
    ],
)
def test_a_failure_has_its_kind_and_sentence(
    columns: dict[str, object], kind: Kind, why: str
) -> None:
    verdict = _outcome(**columns).verdict
    assert not verdict.passed
    assert verdict.kind == kind
    assert verdict.why == why


def test_a_sentence_is_short_and_names_no_metric() -> None:
    long_name = "x" * 300
    tools = [{"name": long_name, "arguments": {long_name: long_name}}]
    expected = [{"name": long_name, "arguments": {long_name: "y" * 300}}]
    verdict = _outcome(expected_tools=expected, tools=tools).verdict
    assert verdict.kind == Kind.WRONG_ARGUMENT
    assert len(verdict.why) <= 160
    assert not any(metric.name in verdict.why for metric in all_metrics())


def test_a_tool_name_of_a_bot_is_made_inert() -> None:
    tools = [{"name": "\x1b[2Jevil", "arguments": {}}]
    verdict = _outcome(expected_tools=["search"], tools=tools).verdict
    assert "\x1b" not in verdict.why


def test_cases_with_expected_tools_are_scored_with_this_profile() -> None:
    row = {"id": "q1", "question": "Book.", "answer": "Done.", "tools": [BOOK]}
    run = ak.evaluate([{**row, "expected_tools": [BOOK]}])
    assert run.profile is not None
    assert run.profile.name == "agent"
    assert run["q1"].verdict.passed
