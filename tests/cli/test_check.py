"""`answerkey check` and `answerkey completion`, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from answerkey.cli.main import command_line
from answerkey.errors import InputError

GOOD: dict[str, Any] = {
    "question": "How long?",
    "answer": "30 days [1].",
    "contexts": ["30 days."],
    "run_id": "r1",
}


def check(record: object, *options: str) -> Any:
    return CliRunner().invoke(command_line, ["check", *options], input=json.dumps(record))


def test_the_assessment_is_json_on_standard_output() -> None:
    result = check(GOOD)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["passed"] is True
    assert json.loads(result.stdout)["run_id"] == "r1"
    assert "passed" in result.stderr


def test_findings_are_told_and_the_gate_fails() -> None:
    bad = GOOD | {"answer": "30 days."}
    assert check(bad).exit_code == 0
    result = check(bad, "--gate")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["findings"][0]["check"] == "citations_valid"
    assert "cites no context" in result.stderr
    assert check(bad, "--json").stderr == "DONE: some checks failed\n"


def test_the_minimum_score_is_an_option() -> None:
    scored = GOOD | {"retrieval_scores": [0.5]}
    assert check(scored, "--gate", "--minimum-score", "0.4").exit_code == 0
    assert check(scored, "--gate", "--minimum-score", "0.6").exit_code == 1


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ([], "expected a JSON object"),
        ({"answer": "a"}, "no question"),
        (GOOD | {"context": []}, 'did you mean "contexts"'),
        (GOOD | {"contexts": "text"}, "a list of strings"),
        (GOOD | {"retrieval_scores": ["high"]}, "a list of numbers"),
        (GOOD | {"answer": 3}, "a string or null"),
    ],
)
def test_bad_input_is_one_line(record: object, told: str) -> None:
    result = check(record)
    assert isinstance(result.exception, InputError)
    assert told in str(result.exception)


def test_fields_of_your_own_are_left_aside_and_no_answer_is_an_empty_one() -> None:
    assert json.loads(check(GOOD | {"user": "u1", "model": "m"}).stdout)["passed"] is True
    bare = json.loads(check({"question": "How long?", "contexts": ["30 days."]}, "--json").stdout)
    assert [finding["check"] for finding in bare["findings"]] == ["not_empty"]


def test_input_that_is_no_json() -> None:
    result = CliRunner().invoke(command_line, ["check"], input="{")
    assert isinstance(result.exception, InputError)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    result = CliRunner().invoke(command_line, ["completion", shell])
    assert result.exit_code == 0
    assert "_ANSWERKEY_COMPLETE" in result.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_is_one_line_and_exit_3(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "a.jsonl").write_text('{"question": "q"}\n')
    asked = [sys.executable, "-m", "answerkey", "cases", str(tmp_path / "a.jsonl"), *options]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(asked, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert ended.returncode == 3
    assert "standard output cannot be written: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_shell_is_told_commands_and_options() -> None:
    def completed(words: str, position: int) -> str:
        environment = {
            "_ANSWERKEY_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(position),
        }
        program = "from answerkey.cli.main import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    assert "plain,rescore" in completed("answerkey re", 1)
    assert "plain,--stop-on-fail" in completed("answerkey run --st", 2)
