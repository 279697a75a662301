"""What a live run can be told: part of the cases, a budget, a rehearsal; and conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.live_suite import LiveSuite, case, question, right
from tests.support.loopback import Bot

pytestmark = pytest.mark.network


@pytest.fixture
def bot():
    with Bot(right) as bot:
        yield bot


@pytest.fixture
def suite(tmp_path: Path, bot: Bot) -> LiveSuite:
    return LiveSuite(tmp_path, {"url": bot.url})


def asked(bot: Bot) -> set[str]:
    return set(bot.asked)


def test_a_rehearsal_asks_nobody_and_writes_nothing(cli, suite: LiveSuite, bot: Bot) -> None:
    shown = cli("run", suite.path, "--dry-run", "--limit", 12)
    assert shown.code == 0
    assert "12 cases would be sent" in shown.out
    assert "judge" in shown.out
    assert f"c0: {question(0)}" in shown.out
    plan = cli("run", suite.path, "--dry-run", "--json").json
    assert plan["cases"] == 40
    assert plan["judge_tokens_estimate"] == 0
    assert not bot.requests
    assert not (suite.folder / "results").exists()


def test_part_of_the_cases(cli, suite: LiveSuite, bot: Bot) -> None:
    assert cli("run", suite.path, "--limit", 3, "--no-charts").code == 0
    assert asked(bot) == {question(n) for n in range(3)}
    bot.asked.clear()
    assert cli("run", suite.path, "--only", "c1[0-9]", "--no-charts").code == 0
    assert asked(bot) == {question(n) for n in range(10, 20)}
    bot.asked.clear()
    shown = cli("run", suite.path, "--test", "--no-charts")
    assert shown.code == 0
    assert asked(bot) == {question(0)}
    assert "Here is topic0 explained." in shown.out, "shown in full"
    assert cli("run", suite.path, "--only", "nothing like it").code == 2


def test_one_file_or_one_collection(cli, suite: LiveSuite, bot: Bot) -> None:
    (suite.folder / "hr").mkdir()
    (suite.folder / "hr" / "leave.jsonl").write_text(json.dumps({**case(50), "id": "leave"}) + "\n")
    (suite.folder / "hr" / "pay.jsonl").write_text(json.dumps({**case(51), "id": "pay"}) + "\n")
    suite.path.write_text(
        suite.path.read_text().replace('["cases.jsonl"]', '["cases.jsonl", "hr/*.jsonl"]')
    )
    assert cli("run", suite.path, "--file", "pay.jsonl", "--no-charts").code == 0
    assert asked(bot) == {question(51)}
    bot.asked.clear()
    assert cli("run", suite.path, "--tag", "hr", "--no-charts").code == 0
    assert asked(bot) == {question(50), question(51)}


def test_resume_keeps_the_selection(cli, suite: LiveSuite, bot: Bot) -> None:
    bot.reply = lambda body: (
        (500, "text/plain", b"") if body["question"] == question(12) else right(body)
    )
    assert cli("run", suite.path, "--only", "c1[0-9]", "--no-charts").code == 3
    bot.reply = right
    assert cli("run", suite.path, "--resume", "--no-charts").code == 0
    assert asked(bot) == {question(n) for n in range(10, 20)}


def test_the_printed_command_goes_on_with_the_same_options(
    cli, suite: LiveSuite, bot: Bot, monkeypatch
) -> None:
    """What was said on the command line is part of the run: the command to go on with says it again."""
    import shlex

    bot.reply = lambda body: (
        {"answer": "No idea."} if body["question"] == question(5) else right(body)
    )
    out = suite.folder / "my results"
    stopped = cli(
        "run",
        suite.path,
        "--stop-on-fail",
        "--metrics",
        "token_f1",
        "--out",
        out,
        "--workers",
        3,
        "--no-charts",
    )
    told = next(line for line in stopped.err.splitlines() if line.startswith("to continue: "))
    bot.reply = right
    ended = cli(*shlex.split(told.removeprefix("to continue: answerkey ")))
    assert ended.code == 0, ended.err
    assert bot.asked[question(5)] == 2
    assert sum(bot.asked.values()) == 41


@pytest.mark.parametrize(("option", "value"), [("--max-cost", 0.5), ("--max-minutes", 0.0001)])
def test_a_budget_ends_the_run_and_every_report_says_so(
    cli, suite: LiveSuite, bot: Bot, option: str, value: float
) -> None:
    bot.reply = lambda body: {**right(body), "cost": 0.1}
    bot.delay = 0.01
    shown = cli("run", suite.path, option, value, "--workers", 2)
    assert shown.code == 3
    assert "the budget of" in shown.last_line
    assert 0 < sum(bot.asked.values()) < 40
    folder = suite.run
    assert "the budget of" in json.loads((folder / "summary.json").read_text())["partial"]
    reports = [*folder.glob("report.*"), folder / "junit.xml"]
    assert len(reports) >= 3
    for report in reports:
        assert "partial" in report.read_text().lower(), (
            f"{report.name} passes a part off as the whole"
        )
    assert cli("run", suite.path, "--resume", "--no-charts").code == 0
    assert max(bot.asked.values()) == 1
    assert "partial" not in (folder / "report.txt").read_text().lower()


def test_a_conversation_is_asked_in_order_with_the_bots_own_answers(
    cli, tmp_path: Path, bot: Bot
) -> None:
    talk = {
        "conversation": [
            {"turn": 1, "user": "What is topic1?", "expected_answer_contains": ["topic1"]},
            {"turn": 2, "user": "What is topic2?", "expected_answer_contains": ["topic2"]},
            {"turn": 3, "user": "What is topic3?", "expected_answer_contains": ["topic3"]},
        ]
    }
    suite = LiveSuite(tmp_path, {"url": bot.url})
    for n in range(4):
        (tmp_path / f"talk{n}.json").write_text(json.dumps(talk))
    text = (
        suite.path.read_text()
        .replace('["cases.jsonl"]', '["talk*.json"]')
        .replace("keyword_recall", "contains")
    )
    suite.path.write_text(text)
    shown = cli("run", suite.path, "--no-charts")
    assert shown.code == 0, shown.err
    third = [r["body"] for r in bot.requests if r["body"]["question"] == "What is topic3?"]
    said: list[dict[str, Any]] = [
        {"user": f"What is topic{n}?", "answer": f"Here is topic{n} explained."} for n in (1, 2)
    ]
    assert [body["history"] for body in third] == [said] * 4


def test_the_expected_answer_never_leaves_the_house(cli, suite: LiveSuite, bot: Bot) -> None:
    suite.write_cases(
        [{**case(1), "expected": "SECRET-EXPECTED", "note": "SECRET-NOTE", "tags": ["SECRET-TAG"]}]
    )
    cli("run", suite.path, "--no-charts")
    assert bot.requests
    assert "SECRET" not in json.dumps(bot.requests)
