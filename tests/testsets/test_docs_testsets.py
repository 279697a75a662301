"""The page on test sets: its table of findings and its Python."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.testsets.audit.findings import FindingKind

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "test-sets.md"


def test_the_page_has_the_rule_of_every_finding() -> None:
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE))
    assert rows == {kind.value: kind.rule for kind in FindingKind}


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    text = "# Leave\n\nEvery full-time employee has 28 working days of paid leave a year.\n"
    (tmp_path / "docs" / "leave.md").write_text(text)
    (tmp_path / "cases.csv").write_text("id,question,expected\nq1,How long is it?,28 days\n")
    scope: dict[str, Any] = {"ak": ak, "my_llm": lambda prompt: '{"question": null}'}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(code, scope)
    assert scope["report"].tried > 0
    assert scope["audit"].findings[0].id == "q1"
