"""`sys.exit` in a user's code is an error of that code, never the end of our process with code 0."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from adversary.attack import Attacked, results, write_suite

GOOD = "def answer(question):\n    return 'It is ' + question.split()[-1].strip('?') + '.'\n"
GATE = '[gate]\nrequire = ["success >= 1"]'


@pytest.mark.parametrize("leave", ["sys.exit(0)", "raise SystemExit", "exit(0)"])
def test_a_bot_module_that_exits_is_named(
    here: Callable[..., Attacked], tmp_path: Path, leave: str
) -> None:
    suite = write_suite(tmp_path, f"import sys\n{leave}\n{GOOD}", more=GATE)
    ended = here("run", suite, "--no-charts")
    assert ended.is_clean()
    assert ended.code == 2, ended.lines
    assert "bot:answer" in ended.lines[-1]


@pytest.mark.parametrize("where", ["modules", "reranker"])
def test_another_module_that_exits_is_named(
    here: Callable[..., Attacked], tmp_path: Path, where: str
) -> None:
    suite = write_suite(
        tmp_path, GOOD, head='modules = ["extra"]' if where == "modules" else "", more=GATE
    )
    (tmp_path / "extra.py").write_text("import sys\nsys.exit(0)\n")
    if where == "modules":
        ended = here("run", suite, "--no-charts")
    else:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "a.txt").write_text("It is 1.")
        with suite.open("a") as file:
            file.write('[retrieval]\ndocuments = "docs"\nreranker = "extra:f"\n')
        (tmp_path / "cases.jsonl").write_text(
            '{"id": "1", "question": "What?", "relevant": {"a.txt": 1}}\n'
        )
        ended = here("sweep", suite, "--no-plots")
    assert ended.is_clean()
    assert ended.code == 2, ended.lines
    assert "extra" in ended.lines[-1]


@pytest.mark.parametrize("body", ["sys.exit(0)", "raise SystemExit(0)"])
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_metric_that_exits_is_an_error_of_its_score(
    here: Callable[..., Attacked], tmp_path: Path, body: str, kind: str
) -> None:
    suite = write_suite(tmp_path, GOOD, head='modules = ["extra"]\nmetrics = ["leaves"]')
    (tmp_path / "extra.py").write_text(
        f'import sys\nfrom answerkey import metric\n@metric("leaves")\n{kind} leaves(case, response):\n    {body}\n'
    )
    ended = here("run", suite, "--no-charts")
    assert ended.is_clean()
    assert ended.code in {0, 3}, ended.lines
    for row in results(tmp_path):
        assert row["scores"]["leaves"]["error"].startswith("SystemExit")


def test_a_bot_that_exits_is_an_error_of_its_question(
    here: Callable[..., Attacked], tmp_path: Path
) -> None:
    suite = write_suite(tmp_path, "import sys\ndef answer(question):\n    sys.exit(0)\n", more=GATE)
    ended = here("run", suite, "--no-charts")
    assert ended.is_clean()
    assert ended.code != 0
    assert all("SystemExit" in row["error"] for row in results(tmp_path))
