"""A judge that goes away for good: what was answered is kept, and scored when the judge is back, without asking again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.live_suite import LiveSuite, question, right
from tests.support.loopback import Bot

pytestmark = [pytest.mark.network, pytest.mark.slow]

GRADES = {
    "reasoning": "Right.",
    "accuracy": 5,
    "completeness": 5,
    "citation_quality": 5,
    "coherence": 3,
}


def grade(body: Any) -> Any:
    return {"choices": [{"message": {"content": json.dumps(GRADES)}, "finish_reason": "stop"}]}


def test_the_judge_dies_and_comes_back(cli, tmp_path: Path) -> None:
    with Bot(right, delay=0.01) as bot:
        judge = Bot(grade)
        port = int(judge.url.rpartition(":")[2])
        suite = LiveSuite(tmp_path, {"url": bot.url})
        suite.path.write_text(
            f'name = "live"\ncases = ["cases.jsonl"]\nprofile = "rubric"\nembedding = "none"\ntarget = {{ url = "{bot.url}" }}\n'
            f'judge = {{ base_url = "{judge.url}/v1", model = "tiny", cache = false, timeout = 5 }}\n'
        )
        answered = 0

        def die(body: Any) -> Any:
            nonlocal answered
            answered += 1
            return (
                grade(body)
                if answered <= 12
                else (401, "application/json", b'{"error": "this key was revoked"}')
            )

        judge.reply = die
        stopped = cli("run", suite.path, "--no-charts")
        judge.close()
        assert stopped.code == 3
        assert "this key was revoked" in stopped.err
        assert stopped.err.count("this key was revoked") <= 2, "one message, not one a case"
        kept = {key for key, outcome in suite.outcomes().items() if outcome.verdict.passed}
        assert 0 < len(kept) < 40
        before = bot.asked.copy()
        with Bot(grade, port=port):
            ended = cli("run", suite.path, "--resume", "--no-charts")
        assert (ended.code, ended.last_line.split(";")[0]) == (0, "DONE: 40 of 40 cases passed"), (
            ended.err
        )
        assert all(bot.asked[text] == 1 for text in before), (
            "an answer that only lacks its score is not asked for again"
        )
        assert set(bot.asked) == {question(n) for n in range(40)}
