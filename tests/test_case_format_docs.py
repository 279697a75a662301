"""Every example on the page of case formats can be saved and read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import answerkey as ak

PAGE = Path(__file__).resolve().parents[1] / "docs" / "how-to" / "case-formats.md"
EXAMPLES = re.findall(
    r"```\w+ title=\"([^\"]+)\"\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
)


@pytest.mark.parametrize(("name", "content"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_an_example_of_a_format_is_read(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    cases = ak.load_cases(tmp_path / name)
    assert cases
    assert all(case.question for case in cases)


def test_the_examples_with_answers_can_be_scored(tmp_path: Path) -> None:
    scored = 0
    for name, content in EXAMPLES:
        (tmp_path / name).write_text(content, encoding="utf-8")
        if any(case.recorded is not None for case in ak.load_cases(tmp_path / name)):
            run = ak.evaluate(tmp_path / name, progress=False)
            assert not run.summary.figures.totals.errors
            scored += 1
    assert scored >= 5


def test_conversations_have_their_history(tmp_path: Path) -> None:
    examples = dict(EXAMPLES)
    for name in ("returns.yaml", "conversation.json", "chats.jsonl"):
        (tmp_path / name).write_text(examples[name], encoding="utf-8")
        last = ak.load_cases(tmp_path / name)[-1]
        assert last.history[0].user == "Can I return shoes?"
