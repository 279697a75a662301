"""Bots that misbehave: one case is an error with a reason, the others go on, and the exit code says 3."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.support.live_suite import LiveSuite, question, right
from tests.support.loopback import Bot

pytestmark = pytest.mark.network

MISCHIEF: dict[int, tuple[Callable[[], Any], str]] = {
    2: (lambda: None, "returned None"),
    3: (lambda: {"answer": ""}, "returned an empty answer"),
    4: (lambda: (200, "text/html", b"<!doctype html><title>502 Bad Gateway</title>"), "an HTML page came instead of JSON"),
    5: (lambda: (200, "application/json", b'{"answer": "\xff\xfe"}'), "not valid UTF-8"),
    6: (lambda: (200, "application/json", b'{"answer": "' + b"x" * 50_000_000 + b'"}'), "too large"),
    7: (lambda: time.sleep(30), "timed out: no answer within 3 s"),
    8: (lambda: (500, "text/plain", b"boom"), "HTTP 500"),
}  # fmt: skip
QUESTIONS = {question(n): n for n in MISCHIEF}


def misbehave(body: dict[str, Any]) -> Any:
    number = QUESTIONS.get(body["question"])
    return MISCHIEF[number][0]() if number is not None else right(body)


def check_errors(suite: LiveSuite, shown: Any, reasons: dict[str, str]) -> None:
    assert shown.code == 3
    assert shown.last_line.startswith(
        f"INCOMPLETE: {len(reasons)} of 40 cases ended in an error; most frequent"
    )
    outcomes = suite.outcomes()
    assert len(outcomes) == suite.count, "every case has an outcome"
    for key, outcome in outcomes.items():
        if key in reasons:
            assert outcome.verdict.status == "ERROR"
            assert reasons[key] in (outcome.response.error or "")
            assert reasons[key] in outcome.verdict.justification
        else:
            assert outcome.verdict.passed, "the others go on"
    summary = json.loads((suite.run / "summary.json").read_text())
    assert summary["totals"]["errors"] == len(reasons)
    assert summary["score"]["n"] == suite.count - len(reasons)


@pytest.mark.slow
def test_over_http(cli, tmp_path: Path) -> None:
    with Bot(misbehave) as bot:
        suite = LiveSuite(tmp_path, {"kind": "http", "url": bot.url, "timeout": 3})
        shown = cli("run", suite.path, "--no-charts")
        check_errors(suite, shown, {f"c{n}": why for n, (_, why) in MISCHIEF.items()})
        bot.reply = right
        mended = cli("run", suite.path, "--resume", "--no-charts")
        assert mended.code == 0, "an error is asked again, and nothing else"
        assert sum(bot.asked.values()) == suite.count + len(MISCHIEF)


BOT = """
    import sys, time
    def answer(question):
        number = int(question.removeprefix("What is topic").removesuffix("?"))
        if number == 2: return None
        if number == 3: return " "
        if number == 4: raise KeyError("topic")
        if number == 5: return "half \\ud83d"
        if number == 6: return "x" * 50_000_000
        if number == 7: time.sleep(30)
        if number == 8: sys.exit(1)
        return f"Here is topic{number} explained."
"""
REASONS = {
    "c2": "returned None", "c3": "empty answer", "c4": "raised KeyError", "c5": "not valid text", "c6": "more than 10 MB",
    "c7": "timed out", "c8": "raised SystemExit",
}  # fmt: skip


@pytest.mark.slow
def test_a_function(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "livebot.py").write_text(dedent(BOT))
    suite = LiveSuite(tmp_path, {"kind": "python", "call": "livebot:answer", "timeout": 3})
    check_errors(suite, cli("run", suite.path, "--no-charts"), REASONS)


@pytest.mark.slow
def test_a_program(cli, tmp_path: Path) -> None:
    program = """
        import json, sys, time
        for line in sys.stdin:
            number = int(json.loads(line)["question"].removeprefix("What is topic").removesuffix("?"))
            if number == 2: print("null")
            elif number == 3: print(json.dumps({"answer": ""}))
            elif number == 4: print("loading the model...")
            elif number == 5: sys.stdout.buffer.write(b'"\\xff"\\n')
            elif number == 6: print(json.dumps("x" * 50_000_000))
            elif number == 7: time.sleep(30)
            elif number == 8: sys.exit(1)
            else: print(json.dumps(f"Here is topic{number} explained."))
            sys.stdout.flush()
    """
    (tmp_path / "bot.py").write_text(dedent(program))
    suite = LiveSuite(
        tmp_path, {"run": [sys.executable, "-S", "bot.py"], "timeout": 4, "processes": 2}
    )
    reasons = {
        **REASONS,
        "c4": "not JSON",
        "c5": "not valid UTF-8",
        "c6": "too large",
        "c8": "the program ended: exit code 1",
    }
    check_errors(suite, cli("run", suite.path, "--no-charts"), reasons)


def test_ten_identical_infrastructure_errors_stop_the_run_with_one_message(
    cli, tmp_path: Path
) -> None:
    with Bot(lambda body: (503, "text/plain", b"down for maintenance")) as bot:
        suite = LiveSuite(tmp_path, {"url": bot.url}, count=500)
        shown = cli("run", suite.path, "--workers", 5, "--no-charts")
        assert shown.code == 3
        assert shown.last_line.startswith("INCOMPLETE: 10 times in a row: HTTP 503")
        assert shown.err.count("HTTP 503") == 1, "one message, not a thousand"
        assert sum(bot.asked.values()) < 60
        bot.reply = right
        assert cli("run", suite.path, "--resume", "--no-charts").code == 0
        assert set(bot.asked) == {question(n) for n in range(500)}
        assert len(suite.outcomes()) == 500


def test_nine_errors_and_then_an_answer_do_not(cli, tmp_path: Path) -> None:
    count = 0

    def reply(body: Any) -> Any:
        nonlocal count
        count += 1
        return right(body) if count % 10 == 0 else (503, "text/plain", b"busy")

    with Bot(reply) as bot:
        suite = LiveSuite(tmp_path, {"url": bot.url, "retries": 0}, count=60)
        shown = cli("run", suite.path, "--workers", 1, "--no-charts")
        assert shown.code == 3
        assert shown.last_line.startswith("INCOMPLETE: 54 of ")
        assert sum(bot.asked.values()) == 60
