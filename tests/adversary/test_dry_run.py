"""`run --dry-run` checks a suite without importing, starting or asking anything that it names as a target."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adversary.attack import Attacked, write_suite

TOUCH = "open({!r}, 'w').write('executed')\n"


@pytest.mark.parametrize(
    "target",
    [
        'call = "bot:answer"',
        'make = "bot:make"\nanything = 3',
        f'kind = "command"\nrun = ["{sys.executable}", "bot.py"]',
        'kind = "rag"\ndocuments = "docs"\nreranker = "bot:answer"\nrewriter = "bot:answer"',
        'url = "http://127.0.0.1:1/"',
        'openai = "http://127.0.0.1:1/v1"',
        'chat = "http://127.0.0.1:1/v1"',
        'gradio = "http://127.0.0.1:1/"',
        'kind = "full-context"\nknowledge = "docs"\nllm = "ollama"',
    ],
)
def test_the_bot_is_not_executed(
    here: Callable[..., Attacked], tmp_path: Path, target: str
) -> None:
    touched = tmp_path / "touched"
    suite = write_suite(
        tmp_path, TOUCH.format(str(touched)) + "def answer(question):\n    return 1\n"
    )
    suite.write_text(suite.read_text().replace('call = "bot:answer"', target))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("text")
    ended = here("run", suite, "--dry-run")
    assert ended.is_clean(), ended.err
    assert ended.code == 0, ended.lines
    assert b"recorded target" not in ended.out
    assert not touched.exists()


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ('cal = "bot:answer"', "[target] needs a kind"),
        ('call = "bot:answer"\ntimeot = 3', 'did you mean "timeout"'),
        ('call = "bot"', 'expected "module:function"'),
        ('url = "http://h/"\nmethod = "FETCH"', "expected GET"),
        ('kind = "faq"', "needs faq"),
        ('kind = "rag"\ndocuments = "docs"\nalpha = 2', "alpha = 2"),
        ('call = "bot:answer"\nretries = -1', "retries = -1"),
        ('kind = "rag"\ngradio = "docs"', 'has no setting "gradio"'),
    ],
)
def test_its_settings_are_still_checked(
    here: Callable[..., Attacked], tmp_path: Path, target: str, line: str
) -> None:
    suite = write_suite(tmp_path, "")
    suite.write_text(suite.read_text().replace('call = "bot:answer"', target))
    ended = here("run", suite, "--dry-run")
    assert ended.code == 2
    assert line in ended.lines[-1]
