"""At a real pseudo-terminal: the progress bar, the failure screen, and Ctrl-C."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest
from tests.support.live_suite import LiveSuite, question, right
from tests.support.loopback import Bot
from tests.support.terminal import at_a_terminal, without_escapes

pytestmark = [pytest.mark.network, pytest.mark.slow]

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[31mred"


def command(suite: LiveSuite, *more: str) -> list[str]:
    return [sys.executable, "-m", "answerkey", "run", str(suite.path), "--no-charts", *more]


def test_the_bar_and_the_failure_screen(tmp_path: Path) -> None:
    def reply(body):
        return (
            {"answer": f"No idea. {HOSTILE}"} if body["question"] == question(30) else right(body)
        )

    with Bot(reply, delay=0.05) as bot:
        suite = LiveSuite(tmp_path, {"url": bot.url})
        code, shown = at_a_terminal(command(suite, "--stop-on-fail", "--workers", "2"))
    assert code == 1
    assert "\r" in shown, "drawn in place"
    seen = without_escapes(shown)
    assert "█" in seen
    assert "/40 [00:" in seen, "the pace"
    for part in ("case/s]", "100 % of ", " passed, mean ", " failed", "slowest "):
        assert part in seen
    for part in (
        "FAILED: c30",
        question(30),
        "topic30 explained",
        "Scores",
        "What the profile requires",
        "Next",
    ):
        assert part in seen
    again = f"answerkey run {suite.path} --workers 2 --no-charts --resume"
    assert f"    {again} --resume-limit 1 --stop-on-fail\n" in seen, "whole, to be copied"
    assert "\x1b]0;owned" not in shown
    assert "\x1b[2J" not in shown
    assert "No idea. �]0;owned�" in seen


def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    with Bot(right, delay=0.05) as bot:
        suite = LiveSuite(tmp_path, {"url": bot.url}, count=2000)
        sent: list[int] = []

        def watch(shown: str, send) -> None:
            if not sent and " passed" in shown:
                sent.append(1)
                send(signal.SIGINT)

        code, shown = at_a_terminal(command(suite), watch)
        seen = without_escapes(shown)
        assert code == 130
        assert "finishing the cases in flight; Ctrl-C again to stop now" in seen
        assert f"to continue: answerkey run {suite.path} --no-charts --resume\n" in seen
        assert seen.strip().splitlines()[-1].startswith("INTERRUPTED: ")
        asked = sum(bot.asked.values())
        assert 0 < asked < 2000
        assert len(suite.outcomes()) == asked, "the cases in flight were kept"


def test_ctrl_c_twice_stops_at_once_and_takes_the_bot_along(tmp_path: Path) -> None:
    """The bot hangs for ever, so that waiting for it would be too."""
    (tmp_path / "bot.py").write_text(
        "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    suite = LiveSuite(tmp_path, {"run": [sys.executable, "bot.py"], "timeout": 500}, count=5)
    sent: list[int] = []

    def watch(shown: str, send) -> None:
        started = (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()
        if (not sent and started) or (len(sent) == 1 and "Ctrl-C again to stop now" in shown):
            sent.append(1)
            send(signal.SIGINT)

    code, shown = at_a_terminal(command(suite), watch)
    assert (code, len(sent)) == (130, 2)
    assert "\x1b[?25l" not in shown, "the cursor was never hidden"
    assert _ends(Path(f"/proc/{(tmp_path / 'pid').read_text()}"))


def _ends(process: Path) -> bool:
    """A process that was killed takes a moment to go; one that was not would sleep on."""
    for _ in range(100):
        try:
            if (process / "stat").read_text().split()[2] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


def test_what_a_bot_prints_is_not_our_data(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "chatty_bot.py").write_text("def answer(q):\n    print('thinking')\n    return q\n")
    suite = LiveSuite(tmp_path, {"call": "chatty_bot:answer"}, count=3)
    shown = cli("run", suite.path, "--json", "--no-charts")
    assert shown.json["totals"]["cases"] == 3
    assert shown.err.count("thinking") == 3


def test_quiet_and_not_a_terminal(cli, tmp_path: Path) -> None:
    with Bot(right) as bot:
        suite = LiveSuite(tmp_path, {"url": bot.url}, count=5)
        loud = cli("run", suite.path, "--no-charts")
        quiet = cli("run", suite.path, "--no-charts", "--quiet")
    assert "5/5 (100 %)" in loud.err
    assert "\x1b" not in loud.err + loud.out
    assert quiet.out == ""
    assert len(quiet.err.splitlines()) == 2
    assert quiet.last_line.startswith("DONE: 5 of 5 cases passed; ")
