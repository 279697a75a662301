"""Findings that need no documents, through the command line and `ak.audit`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.testsets.audit.findings import FindingKind

Rows = list[dict[str, object]]


def kinds(rows: Rows, **options: Any) -> dict[str, list[str]]:
    """The kinds of findings per case."""
    listed: dict[str, list[str]] = {}
    for finding in ak.audit(rows, **options).findings:
        listed.setdefault(finding.id, []).append(finding.kind.value)
    return listed


def row(name: str, question: str, expected: str = "", **more: object) -> dict[str, object]:
    case: dict[str, object] = {"id": name, "question": question, **more}
    if expected:
        case["expected"] = expected
    return case


@pytest.mark.parametrize(
    "question",
    ["How long is it?", "What does it cost?", "How does this work?", "Wie lange ist das?"],
)
def test_a_question_without_a_subject_names_nothing(question: str) -> None:
    assert kinds([row("a", question, "30 days")]) == {"a": ["names nothing"]}


@pytest.mark.parametrize(
    "question",
    [
        "How long is the Nile?",
        "What does the pass cost?",
        "Is it possible to return used bulbs?",
        "Wann öffnet das Museum?",
        "What is RLHF?",
    ],
)
def test_a_question_with_a_subject_is_no_finding(question: str) -> None:
    assert kinds([row("a", question, "30 days")]) == {}


def test_a_follow_up_question_with_history_is_no_finding() -> None:
    history = [{"user": "Tell me about the Nile", "answer": "It is a river."}]
    assert kinds([row("a", "How long is it?", "6650 km", history=history)]) == {}


def test_a_question_that_points_at_a_hidden_text_names_nothing() -> None:
    rows = [row("a", "What does this paragraph say about refunds?", "Ten days")]
    assert kinds(rows) == {"a": ["names nothing"]}


def test_one_question_with_two_answers() -> None:
    rows = [
        row("a", "When did the museum open?", "1932"),
        row("b", "When did the Museum open?", "In 1951"),
    ]
    audit = ak.audit(rows)
    assert [(one.id, one.kind) for one in audit.findings] == [("b", FindingKind.TWO_ANSWERS)]
    assert "1932" in audit.findings[0].evidence
    assert "1951" in audit.findings[0].evidence
    assert audit.findings[0].related == ("a",)


def test_the_same_answer_in_other_words_is_a_duplicate_and_no_contradiction() -> None:
    rows = [
        row("a", "How many days of annual leave do I have?", "28 days"),
        row("b", "How many annual leave days do I have?", "28"),
    ]
    audit = ak.audit(rows)
    assert [one.kind for one in audit.findings] == [FindingKind.NEAR_DUPLICATE]
    assert audit.findings[0].cluster == "a"
    assert 'cluster = "a"' in audit.findings[0].fix


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Does the 2019 policy cover flood damage?", "Does the 2021 policy cover flood damage?"),
        ("What is the price of model X1?", "What is the price of model X2?"),
        ("Aspirin raises the risk of stroke.", "Aspirin lowers the risk of stroke."),
    ],
)
def test_questions_about_other_things_are_no_duplicates(first: str, second: str) -> None:
    assert kinds([row("a", first, relevant=["1"]), row("b", second, relevant=["1"])]) == {}


def test_a_question_that_contains_the_answer_of_another_gives_it_away() -> None:
    rows = [
        row("a", "When did the harbour museum open?", "1932"),
        row("b", "Since the harbour museum did open in 1932, who ran it?", "Ada Lund"),
        row("c", "How many ships sank in 1932?", "four"),
    ]
    assert kinds(rows) == {"b": ["gives answer away"]}


def test_a_choice_may_contain_its_answer() -> None:
    rows = [row("a", "Is the annual pass or the day ticket cheaper?", "the day ticket")]
    assert kinds(rows) == {}
    rows = [row("b", "Which pass is the cheap day ticket of the zoo?", "cheap day ticket")]
    assert kinds(rows) == {"b": ["gives answer away"]}


def test_words_alone_are_compared_without_a_model() -> None:
    rows = [
        row("a", "How many days of annual leave do I have?", "28 days"),
        row("b", "How many annual leave days do I have?", "28"),
    ]
    assert kinds(rows, embedding="none") == {"b": ["near duplicate"]}


def test_the_command_prints_findings_with_evidence_and_fix(
    cli: Callable[..., Any], write: Callable[[str, object], Path]
) -> None:
    path = write("cases.jsonl", [row("q\x1b[2J", "How long is it?", "30 days")])
    shown = cli("audit", path)
    assert shown.code == 0
    assert "names nothing  95 %" in shown.out
    assert "Fix: Say what the question is about" in shown.out
    assert "\x1b" not in shown.out + shown.err
    assert shown.last_line == "DONE: 1 finding in 1 of 1 case: 1 names nothing"


def test_json_has_the_five_fields_and_the_gate_fails(
    cli: Callable[..., Any], write: Callable[[str, object], Path]
) -> None:
    path = write("cases.jsonl", [row("q1", "How long is it?", "30 days")])
    shown = cli("audit", path, "--json", "--gate")
    assert shown.code == 1
    assert [list(one) for one in shown.json] == [
        ["id", "finding", "probability", "evidence", "fix"]
    ]
    assert shown.last_line.startswith("FAIL: 1 finding")


def test_an_accepted_finding_stays_quiet(
    cli: Callable[..., Any], write: Callable[[str, object], Path]
) -> None:
    rows = [row("q1", "How long is it?", "30 days"), row("q2", "What is it?", "a pass")]
    path = write("cases.jsonl", rows)
    shown = cli("audit", path, "--accept", "q1:names nothing", "--note", "a follow-up")
    assert "1 accepted earlier" in shown.last_line
    assert [one["id"] for one in cli("audit", path, "--json").json] == ["q2"]
    assert [one.id for one in ak.audit(path).findings] == ["q2"]
    # The file is not a case file: a folder with it still reads as before.
    assert cli("audit", path.parent, "--json").code == 0
    assert '"note":"a follow-up"' in (path.parent / "audit.jsonl").read_text()


def test_accepting_an_unknown_finding_says_which_there_are(
    cli: Callable[..., Any], write: Callable[[str, object], Path]
) -> None:
    path = write("cases.jsonl", [row("q1", "How long is it?", "30 days")])
    shown = cli("audit", path, "--accept", "q11")
    assert shown.code == 2
    assert 'did you mean "q1"?' in shown.last_line


def test_a_damaged_line_of_accepted_findings_is_named(
    cli: Callable[..., Any], write: Callable[[str, object], Path]
) -> None:
    path = write("cases.jsonl", [row("q1", "How long is it?", "30 days")])
    write("audit.jsonl", '{"id": "q1", "finding": "names nothing"}\n{"id": 3\n')
    shown = cli("audit", path)
    assert shown.code == 2
    assert "audit.jsonl, line 2" in shown.last_line


def test_every_kind_has_a_rule() -> None:
    assert all(kind.rule.endswith(".") for kind in FindingKind)
