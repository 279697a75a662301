"""The examples of docs/how-to/agents.md and variants.md run, and print what the pages show."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from answerkey.runs.suite import suite_of

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "how-to"
PAGE = (FOLDER / "agents.md").read_text("utf-8")
VARIANTS = (FOLDER / "variants.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", f"{PAGE}\n{VARIANTS}", re.DOTALL)


@pytest.mark.parametrize(("code", "shown"), EXAMPLES)
def test_an_example_prints_what_the_page_shows(
    code: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(code, "the page", "exec"), {})
    assert capsys.readouterr().out == shown


def test_the_suite_is_valid() -> None:
    match = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    suite = suite_of(tomllib.loads(match[1]), Path())
    assert suite.user is not None
    assert suite.user.max_turns == 8
