"""A run folder is data: code that its run.json names is not executed without the user's word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from answerkey.user_code import names_code


@pytest.fixture
def hostile_run(cli, write, tmp_path: Path) -> Path:
    """A run whose run.json was changed to name the shell as its judge."""
    cases = write("cases.json", [{"id": "1", "question": "q", "expected": "x", "answer": "x"}])
    assert cli("score", cases, "--metrics", "token_f1", "--out", tmp_path / "out").code == 0
    run = next((tmp_path / "out").iterdir())
    manifest = json.loads((run / "run.json").read_text())
    manifest |= {"suite": None, "metrics": ["judge.relevance"], "records": None}
    manifest["settings"]["judge"] = "os:system"
    (run / "run.json").write_text(json.dumps(manifest))
    return run


def test_rescore_refuses_a_judge_that_only_the_run_names(hostile_run: Path, cli, monkeypatch):
    monkeypatch.setattr("os.system", lambda _: pytest.fail("the run folder was executed"))
    shown = cli("rescore", hostile_run)
    assert shown.code == 2
    assert "judge os:system" in shown.last_line
    assert "--allow-code" in shown.last_line


def test_prefer_refuses_it_too(hostile_run: Path, cli, monkeypatch):
    monkeypatch.setattr("os.system", lambda _: pytest.fail("the run folder was executed"))
    shown = cli("prefer", hostile_run, hostile_run)
    assert shown.code == 2
    assert "--allow-code" in shown.last_line


def test_a_judge_of_the_command_line_replaces_the_stored_one(hostile_run: Path, cli):
    assert cli("rescore", hostile_run, "--judge", "local").code == 0


def test_modules_of_a_suite_that_only_the_run_names_are_not_imported(cli, write, tmp_path: Path):
    cases = write("cases.json", [{"id": "1", "question": "q", "expected": "x", "answer": "x"}])
    assert cli("score", cases, "--metrics", "token_f1", "--out", tmp_path / "out").code == 0
    run = next((tmp_path / "out").iterdir())
    (tmp_path / "evil_metrics.py").write_text("raise AssertionError('imported')\n")
    suite = write("suite.toml", 'cases = ["cases.json"]\nmodules = ["evil_metrics"]\n')
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(manifest | {"suite": str(suite)}))
    shown = cli("rescore", run)
    assert shown.code == 2
    assert "module evil_metrics" in shown.last_line


@pytest.mark.parametrize(
    ("setting", "is_code"),
    [
        ("local", False),
        ("groq", False),
        ("http://127.0.0.1:8080/v1", False),
        ("my_judge:ask", True),
        ({"preset": "ollama", "model": "llama3:8b"}, False),
        ({"call": "os:system"}, True),
        ({"jury": ["groq", "os:system"]}, True),
        (None, False),
    ],
)
def test_which_settings_name_code(setting: object, is_code: bool):
    assert names_code(setting) is is_code
