"""Fixes that a person decided on, in a corrected copy of the cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answerkey.testsets.audit.accepted import AuditDecision, read_decisions, store_decision
from answerkey.testsets.audit.apply_fixes import apply_fixes
from answerkey.testsets.audit.findings import CaseFinding, FindingKind
from answerkey.types import Case

CASES = (
    Case("a", "How long?", ("Two years.",), relevant={"m#1": 2.0, "m#2": 1.0}),
    Case("b", "How long is it?", ("Two years.",), relevant={"m#1": 1.0}),
    Case("c", "Where?", ("Bonn.",)),
)


def _finding(case: str, kind: FindingKind, **more: Any) -> CaseFinding:
    return CaseFinding(case, kind, 0.9, "evidence", "fix", **more)


@pytest.mark.parametrize(
    ("finding", "labels"),
    [
        (_finding("a", FindingKind.UNSUPPORTED, better_label="m#9"), {"m#9": 2.0}),
        (
            _finding("a", FindingKind.BETTER_PASSAGE, better_label="m#9"),
            {"m#1": 2.0, "m#2": 1.0, "m#9": 1},
        ),
        (_finding("a", FindingKind.LABEL_ADDS_NOTHING, label="m#2"), {"m#1": 2.0}),
    ],
)
def test_labels_are_corrected(finding: CaseFinding, labels: dict[str, float]) -> None:
    decisions = {(finding.id, finding.kind): AuditDecision.FIX}
    result = apply_fixes(CASES, [finding], decisions)
    assert result.cases[0].relevant == labels
    assert result.cases[1:] == CASES[1:]
    assert (result.applied, result.left) == (1, ())
    assert apply_fixes(CASES, [finding], {}).cases == CASES
    accepted = {(finding.id, finding.kind): AuditDecision.ACCEPT}
    assert apply_fixes(CASES, [finding], accepted).cases == CASES


def test_cases_that_ask_the_same_get_one_cluster() -> None:
    finding = _finding("b", FindingKind.NEAR_DUPLICATE, related=("a",), cluster="a")
    result = apply_fixes(CASES, [finding], {("b", finding.kind): AuditDecision.CLUSTER})
    assert [case.extra.get("cluster") for case in result.cases] == ["a", "a", None]


def test_an_answer_is_left_to_a_person() -> None:
    finding = _finding("c", FindingKind.ANSWER_MISSING)
    result = apply_fixes(CASES, [finding], {("c", finding.kind): AuditDecision.FIX})
    assert result.cases == CASES
    assert result.left == (finding,)


def test_the_last_label_is_not_removed() -> None:
    finding = _finding("b", FindingKind.LABEL_ADDS_NOTHING, label="m#1")
    result = apply_fixes(CASES, [finding], {("b", finding.kind): AuditDecision.FIX})
    assert result.cases == CASES
    assert result.left == (finding,)


def test_decisions_of_earlier_versions_are_read(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    lines = [
        {"id": "a", "finding": "unsupported", "accepted": True},
        {"id": "b", "finding": "unsupported", "accepted": False},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    store_decision(file, _finding("c", FindingKind.TWO_ANSWERS), decision=AuditDecision.FIX)
    assert [one.value for one in read_decisions(file).values()] == ["accept", "reopen", "fix"]


def test_the_command_writes_a_corrected_copy(tmp_path: Path, cli: Callable[..., Any]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "leave.md").write_text("# Leave\n\nEvery employee has 28 days of paid leave a year.\n")
    (docs / "shop.md").write_text("# Shop\n\nWe accept cards, cash and bank transfer.\n")
    cases = tmp_path / "cases.jsonl"
    row = {
        "id": "q1",
        "question": "How many days of paid leave does an employee have?",
        "expected": "28 days",
        "relevant": ["shop.md"],
    }
    cases.write_text(json.dumps(row) + "\n")
    before = cases.read_text()
    copy = tmp_path / "corrected.jsonl"
    shown = cli("audit", cases, "--documents", docs, "--fix", "q1", "--fixed", copy)
    assert shown.code == 0, shown.err
    assert "1 fix applied" in shown.err
    assert cases.read_text() == before
    assert json.loads(copy.read_text())["relevant"] == {"leave.md": 1}
    again = cli("audit", copy, "--documents", docs, "--json", "--quiet")
    assert again.json == []
    shown = cli("audit", cases, "--documents", docs, "--fixed", tmp_path / "copy.csv")
    assert shown.code == 2
    assert "expected a .jsonl file" in shown.last_line
