"""Every rule in docs/how-to/failures.md has an example, and the example is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.types import Cause, Kind, Verdict

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "failures.md"
TEXT = PAGE.read_text(encoding="utf-8")
KINDS = re.findall(r"^\| `(.+?)` \| .+? \| (.+?) / (.+?) / (.+?) \| (.+?) \|$", TEXT, re.MULTILINE)
CAUSES_TEXT = TEXT.partition("## Causes")[2]
CAUSES = re.findall(r"^\| `(.+?)` \| .+? \| (.+?) \|$", CAUSES_TEXT, re.MULTILINE)
# Beside question, expected answer and answer, these kinds need something of the case.
MORE: dict[str, dict[str, Any]] = {
    "wrong route": {"route": "hr_kpi", "expected_route": "sales_kpi"},
    "bad format": {"criteria": [{"type": "is-json"}]},
    "unsupported": {"contexts": ["The box contains a lamp and a cable."]},
}
PROFILES = {"wrong route": "route-aware", "bad format": "criteria"}
LEAVE = {
    "question": "How much leave do I get?",
    "expected": "25 days",
    "answer": "You get 28 days.",
}


def judge_case(row: dict[str, Any], profile: str = "rag") -> Verdict:
    return ak.evaluate([row], profile=profile, progress=False)[0].verdict


def test_every_kind_and_cause_is_documented() -> None:
    assert {kind for kind, *_ in KINDS} | set(re.findall(r"`([a-z ]+)`", TEXT)) >= set(Kind)
    assert {cause for cause, _ in CAUSES} == set(Cause)


@pytest.mark.parametrize(("kind", "question", "expected", "answer", "why"), KINDS)
def test_the_example_of_a_kind(
    kind: str, question: str, expected: str, answer: str, why: str
) -> None:
    row = {"question": question, "answer": answer, **MORE.get(kind, {})}
    if expected != "–":
        row["expected"] = expected
    verdict = judge_case(row, PROFILES.get(kind, "rag"))
    assert (verdict.kind, verdict.why) == (kind, why)


@pytest.mark.parametrize(("cause", "passage"), CAUSES)
def test_the_example_of_a_cause(cause: str, passage: str) -> None:
    row: dict[str, Any] = dict(LEAVE)
    if passage != "–":
        row["contexts"] = [passage]
    if cause == Cause.NOT_IN_DOCUMENTS:
        row["relevant"] = {}
    if cause == Cause.INVENTED:
        del row["expected"]
    assert judge_case(row).cause == cause
