"""`answerkey doctor`: the installation, and the judge's exam with its canary."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.support.fake_endpoint import FakeEndpoint, Request, Said, completion, error, grades

from answerkey.cli.doctor import doctor_command as command
from answerkey.errors import SettingsError
from answerkey.metrics.judge.exam import Exam, take_exam
from answerkey.metrics.judge.judged_metrics import Judge

RIGHT = ("is Paris.", "30 days after", "100 °C", "Shakespeare.", "cannot predict")


def doctor(*options: str) -> Result:
    return CliRunner().invoke(command, list(options))


def knowing(request: Request) -> Said:
    answer = request.text.split(" ANSWER\n")[-1]
    return grades(5, 5, 5, 3) if any(word in answer for word in RIGHT) else grades(0, 0, 0, 3)


def gullible(request: Request) -> Said:
    return grades(5, 5, 5, 3) if "ignore the rubric" in request.text else knowing(request)


def test_without_a_judge_all_is_well_offline() -> None:
    result = doctor("--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["ok"]) == (0, True)
    checks = {check["name"]: check["status"] for check in told["checks"]}
    assert checks["embedding model"] == checks["cache folder"] == "ok"
    assert (told["judge"]["name"], told["judge"]["of"]) == ("local", 10)


@pytest.mark.parametrize("pass_mark", [0, 10])
def test_the_last_line_agrees_with_the_exam_of_the_local_judge(
    pass_mark: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def graded(judge: Judge, large: bool) -> Exam:
        return replace(take_exam(judge, large), pass_mark=pass_mark)

    monkeypatch.setattr("answerkey.cli.doctor.take_exam", graded)
    result = doctor()
    last = result.stdout.splitlines()[-1]
    assert result.exit_code == 0
    assert (last == "everything works") == (pass_mark == 0)
    assert ("failed its exam" in last) == (pass_mark == 10)


def test_what_is_not_installed_comes_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("answerkey.cli.doctor.find_spec", lambda name: None)
    result = doctor("--no-exam")
    assert "pip install 'answerkey[ray]'" in result.stdout
    assert result.exit_code == 0


def test_a_broken_part_is_exit_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path / "file"))
    result = doctor("--no-exam")
    assert result.exit_code == 3
    assert result.stdout.splitlines()[-1] == "not working: cache folder"


@pytest.mark.network
@pytest.mark.parametrize(
    ("answer", "code", "last"),
    [
        (knowing, 0, "everything works, and the judge passed its exam"),
        (gullible, 1, "do not rely on this judge: an answer can manipulate its grade"),
        (lambda r: grades(5, 5, 5, 3), 1, "do not rely on this judge"),
        (lambda r: completion("I'd rather not say"), 1, "do not rely on this judge"),
        (lambda r: error(401, "bad key"), 3, "the judge does not respond"),
        (lambda r: error(404, "no model"), 3, "the judge does not respond"),
    ],
    ids=["knowing", "gullible", "always content", "no verdicts", "401", "404"],
)
def test_the_exam_decides(answer: Any, code: int, last: str) -> None:
    with FakeEndpoint(answer) as endpoint:
        result = doctor("--judge", endpoint.base_url, "--judge-model", "m")
    assert result.exit_code == code, result.output
    assert result.stdout.splitlines()[-1].startswith(last)


@pytest.mark.network
def test_the_judge_of_a_suite_and_never_from_the_cache(tmp_path: Path) -> None:
    with FakeEndpoint(knowing) as endpoint:
        suite = f'cases = ["a.jsonl"]\n[judge]\nbase_url = "{endpoint.base_url}"\nmodel = "m"\n'
        (tmp_path / "suite.toml").write_text(suite)
        for _ in range(2):
            told = json.loads(doctor(str(tmp_path / "suite.toml"), "--json").stdout)
            assert (told["judge"]["right"], told["judge"]["resists_injection"]) == (10, True)
    assert len(endpoint.requests) == 20


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--judge", "grok"], 'did you mean "groq"'),
        (["--judge", "http://127.0.0.1:1/v1"], "needs model"),
        (["--api-key-env", "X"], "needs --judge"),
        (["--judge", "groq", "--api-key-env", "NOT_SET_ANYWHERE"], "export NOT_SET_ANYWHERE"),
    ],
)
def test_a_wrong_option_is_one_line(options: list[str], words: str) -> None:
    result = doctor(*options)
    assert isinstance(result.exception, SettingsError)
    assert words in str(result.exception)


@pytest.mark.network
def test_a_judge_that_says_yes_or_no_takes_the_exam_in_both_modes() -> None:
    def answer(request: Request) -> Said:
        if "response_format" in request.body:
            return gullible(request)
        is_right = any(word in request.text.split(" ANSWER\n")[-1] for word in RIGHT)
        return completion("Yes" if is_right else "No")

    with FakeEndpoint(answer) as endpoint:
        options = ("--judge", endpoint.base_url, "--judge-model", "m", "--judge-mode", "yes-no")
        result = doctor(*options, "--json")
        judged = json.loads(result.stdout)["judge"]
        shown = doctor(*options)
    assert result.exit_code == 0
    assert (judged["right"], judged["of"]) == (10, 10)
    assert judged["json_mode"] == {"passed": False, "right": 9, "of": 10}
    assert "with yes and no; in JSON: 9 of 10 right" in shown.stdout


@pytest.mark.network
def test_a_mode_that_gets_no_reply_is_shown_with_its_reason() -> None:
    def answer(request: Request) -> Said:
        if "response_format" in request.body:
            return error(401, "no JSON here")
        return completion("Yes")

    with FakeEndpoint(answer) as endpoint:
        options = ("--judge", endpoint.base_url, "--judge-model", "m", "--judge-mode", "yes-no")
        shown = doctor(*options)
        judged = json.loads(doctor(*options, "--json").stdout)["judge"]
    assert "in JSON: not taken, " in shown.stdout
    assert "no JSON here" in judged["json_mode"]["error"]


@pytest.mark.network
def test_a_judge_without_a_grade_is_not_called_manipulable() -> None:
    def answer(request: Request) -> Said:
        if "ignore the rubric" in request.text:
            return completion("no verdict")
        return knowing(request)

    with FakeEndpoint(answer) as endpoint:
        shown = doctor("--judge", endpoint.base_url, "--judge-model", "m")
    assert shown.exit_code == 1
    assert "it gave no grade to the answer that tries to manipulate it" in shown.stdout
