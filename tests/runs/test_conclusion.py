"""How commands end: the first word of the last line, the exit code, the JSON and junit.xml agree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

BOT = """
import os, signal
def answer(question):
    if question.startswith("boom"):
        raise RuntimeError("the database is gone")
    if question.startswith("interrupt"):
        os.kill(os.getpid(), signal.SIGINT)
    if question.startswith("down"):
        raise ConnectionError("refused")
    return {"answer": "wrong" if question.startswith("bad") else "right", "cost": 1.0}
"""
SUITE = """
name = "bot"
cases = ["cases.jsonl"]
metrics = ["exact_match"]
embedding = "none"
[target]
call = "ending_bot:answer"
[run]
workers = 1
"""
PROFILE = '[profile]\nname = "words"\npass = 0.5\n[[profile.criteria]]\nmetric = "exact_match"\n'
GOOD, BAD, BOOM = "good", "bad", "boom"


def questions(*kinds: str) -> list[dict[str, str]]:
    return [
        {"id": f"q{n}", "question": f"{kind} {n}?", "expected": "right"}
        for n, kind in enumerate(kinds)
    ]


@pytest.fixture
def run(cli, write, tmp_path):
    """`run("good", "bad", options=[…])`: a suite of these kinds of questions, asked of the bot."""

    def call(
        *kinds: str, options: tuple[str, ...] = (), profile: bool = True, command: str = "run"
    ):
        write("ending_bot.py", BOT)
        write("cases.jsonl", questions(*kinds))
        suite = write("suite.toml", SUITE + (PROFILE if profile else ""))
        return cli(command, suite, "--no-charts", *options)

    return call


ENDINGS = [
    # questions, options, exit code, start of the last line, a part of it
    ([GOOD] * 4, [], 0, "DONE: 4 of 4 cases passed; see ", "report.txt"),
    ([GOOD, BAD] * 2, [], 0, "DONE: 2 of 4 cases passed; failing: q1, q3; see ", "failures.txt"),
    ([BAD] * 5, [], 0, "DONE: 0 of 5 cases passed; failing: q0, q1, q2, …; see ", "failures.txt"),
    ([GOOD, BAD], ["--quiet"], 0, "DONE: 1 of 2 cases passed; failing: q1; see ", "failures.txt"),
    ([GOOD, BAD], ["--json"], 0, "DONE: 1 of 2 cases passed; failing: q1; see ", "failures.txt"),
    ([GOOD] * 2, ["--gate", "pass_rate >= 0.9"], 0, "PASS: 1 gate passed; 2 of 2 cases passed", "report.txt"),
    ([GOOD, BAD], ["--gate", "pass_rate >= 0.5", "--gate", "errors == 0"], 0, "PASS: 2 gates passed; 1 of 2", "q1"),
    ([GOOD, BAD], ["--gate", "pass_rate >= 0.70"], 1, "FAIL: 1 of 1 gate failed (pass_rate 0.5 < 0.70); 1 of 2", ""),
    ([GOOD, BAD], ["--gate", "pass_rate >= 0.7", "--gate", "errors == 0"], 1, "FAIL: 1 of 2 gates failed (", "q1"),
    ([GOOD, BAD], ["--gate", "failed < 1", "--quiet"], 1, "FAIL: 1 of 1 gate failed (failed 1 >= 1)", "q1"),
    ([GOOD, BAD], ["--gate", "failed < 1", "--json"], 1, "FAIL: 1 of 1 gate failed (failed 1 >= 1)", "q1"),
    ([GOOD] * 2, ["--gate", "cases == 3"], 1, "FAIL: 1 of 1 gate failed (cases 2 != 3); 2 of 2 cases passed", ""),
    ([GOOD, BOOM], [], 3, "INCOMPLETE: 1 of 2 cases ended in an error; most frequent cause (1 time): ", "database"),
    ([GOOD, BOOM], ["--quiet"], 3, "INCOMPLETE: 1 of 2 cases ended in an error; most frequent", "the database is gone"),
    ([GOOD, BOOM], ["--json"], 3, "INCOMPLETE: 1 of 2 cases ended in an error; most frequent", "1 of 2 cases passed"),
    ([GOOD, BOOM], ["--gate", "errors < 9"], 3, "INCOMPLETE: 1 of 2 cases ended in an error", "q1"),
    ([BOOM] * 3, [], 3, "INCOMPLETE: 3 of 3 cases ended in an error; most frequent cause (3 times)", "0 of 3 cases"),
    (["down"] * 30, [], 3, "INCOMPLETE: 10 times in a row: ", "of 30 cases done"),
    ([GOOD] * 40, ["--max-minutes", "0"], 3, "INCOMPLETE: the budget of 0 minutes is used up; ", "of 40 cases done"),
    ([GOOD] * 9, ["--max-cost", "2"], 3, "INCOMPLETE: the budget of 2 is used up: ", "of 9 cases done"),
    ([GOOD, "interrupt", GOOD, GOOD, GOOD, GOOD, GOOD, GOOD], [], 130, "INTERRUPTED: ", "of 8 cases done"),
    ([GOOD, BAD, GOOD], ["--stop-on-fail"], 1, "FAIL: stopped at q1, which is under the threshold; 1 of 2 cases", "q1"),
    ([GOOD] * 3, ["--only", "nothing"], 2, "INVALID: no case of cases.jsonl is selected", ""),
    ([GOOD] * 3, ["--gate", "pass_rat >= 1"], 2, 'INVALID: gate "pass_rat >= 1"', 'did you mean "pass_rate"'),
    ([GOOD] * 3, ["--workers", "many"], 2, "INVALID: Invalid value for '--workers'", ""),
    ([GOOD] * 3, ["--set", "run.wrokers=3"], 2, "INVALID: ", "workers"),
    ([GOOD] * 3, ["--dry-run"], 0, "DONE: dry run, nothing was asked", ""),
]  # fmt: skip


@pytest.mark.parametrize(("kinds", "options", "code", "start", "part"), ENDINGS)
def test_the_last_line_the_exit_code_the_json_and_junit_agree(
    run, tmp_path, kinds, options, code, start, part
):
    shown = run(*kinds, options=tuple(options))
    assert shown.last_line.startswith(start), shown.err
    assert part in shown.last_line
    assert shown.code == code
    if "--json" in options:
        assert (shown.json["ending"], shown.json["exit_code"]) == (shown.last_line, code)
    [folder] = [*(tmp_path / "results").glob("bot_*")] or [None]
    if folder is None:
        return
    suite = ElementTree.parse(folder / "junit.xml").getroot()
    bad = int(suite.get("failures", "0")) + int(suite.get("errors", "0"))
    assert bad or code == 0, "what did not pass is not all green in CI"
    cases = [
        test
        for test in suite
        if test.get("classname") != "gates" and test.get("name") != "the whole run"
    ]
    passed = sum(not len(test) for test in cases)
    assert f"{passed} of {len(cases)} case" in shown.last_line
    assert ("passed: 100" in shown.out) is False


def test_without_a_profile_cases_are_only_scored(run):
    shown = run(GOOD, BAD, profile=False)
    assert (shown.code, shown.last_line.split("; ")[0]) == (0, "DONE: 2 cases scored, no profile")


def test_a_finished_run_resumed_ends_as_it_did(run):
    first = run(GOOD, BAD, options=("--gate", "pass_rate >= 0.9"))
    again = run(GOOD, BAD, options=("--gate", "pass_rate >= 0.9", "--resume"))
    assert (first.code, again.code, again.last_line) == (1, 1, first.last_line)


def test_one_case_of_a_resumed_run(run):
    run(GOOD, BAD, GOOD, options=("--stop-on-fail",))
    shown = run(GOOD, BAD, GOOD, options=("--resume", "--resume-limit", "1"))
    assert (shown.code, shown.last_line.startswith("FAIL: stopped at q1")) == (1, True)


def test_a_bug_exits_with_70_and_keeps_its_traceback(run, monkeypatch):
    def broken(*arguments, **more):
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr("answerkey.runs.execute.prepare", broken)
    shown = run(GOOD)
    assert (shown.code, shown.last_line.split("; ")[0]) == (
        70,
        "BUG: ZeroDivisionError: a mistake of ours",
    )
    assert "Traceback" in shown.err
    assert "please report this" in shown.last_line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nonsense"], 'INVALID: no command "nonsense"'),
        (["run"], "INVALID: Missing argument 'SUITE'."),
        (["run", "missing.toml"], "INVALID: missing.toml: cannot be read"),
        (["compare", "nowhere", "nowhere"], "INVALID: nowhere: no such file or folder"),
        (["report", "nowhere"], "INVALID: nowhere: no such file or folder"),
        (["metrics", "--what"], "INVALID: No such option"),
    ],
)
def test_mistakes_are_one_line(cli, arguments, told):
    shown = cli(*arguments)
    assert (shown.code, shown.last_line.startswith(told)) == (2, True), shown.err


def test_other_commands_end_the_same_way(run, cli, tmp_path):
    run(GOOD, BAD)
    [folder] = (tmp_path / "results").glob("bot_*")
    assert cli("report", folder, "--no-charts").last_line == f"DONE: reports written to {folder}"
    rescored = cli("rescore", folder, "--no-charts", "--quiet")
    assert rescored.last_line.startswith("DONE: 1 of 2 cases passed; failing: q1")
    assert cli("compare", folder, folder).last_line.startswith(
        "DONE: no detectable difference; 0 newly fail"
    )
    assert cli("compare", folder, folder, "--gate").last_line.startswith(
        "PASS: B is no worse than A"
    )


def shell(command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=folder, env=os.environ | variables, capture_output=True, text=True, encoding="cp1252", check=False,
    )  # fmt: skip


def test_a_closed_pipe_is_not_a_failure_and_a_poor_terminal_no_crash(run, write, tmp_path):
    run(GOOD, BAD)
    python = f"{sys.executable} -m answerkey"
    closed = shell(f"{python} metrics | head -c 1 >/dev/null", tmp_path)
    assert closed.returncode in (
        0,
        141,
    )  # 141: `head` ended the pipe before anything else was written
    assert "Traceback" not in closed.stderr
    failed = shell(
        f"{python} run suite.toml --no-charts --gate 'pass_rate >= 0.9' | head -c 1", tmp_path
    )
    assert (failed.returncode, "FAIL: 1 of 1 gate failed" in failed.stderr) == (1, True), (
        failed.stderr
    )
    write("cases.jsonl", [{"id": "日本", "question": "bad 東京?", "expected": "right"}])
    poor = shell(
        f"{python} run suite.toml --no-charts --debug", tmp_path, PYTHONIOENCODING="cp1252"
    )
    assert poor.returncode == 0, poor.stderr
    assert poor.stderr.splitlines()[-1].startswith(
        "DONE: 0 of 1 case passed; failing: \\u65e5\\u672c"
    )
