"""Stop at the first bad answer, look, fix the bot, ask just that one again, go on."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.support.live_suite import LiveSuite, case, question, right
from tests.support.loopback import Bot

pytestmark = pytest.mark.network

BAD = question(17)

STOPPED = "FAIL: stopped at c17, which is under the threshold"


def head(shown):
    """The last line up to its first semicolon."""
    return shown.last_line.split("; ")[0]


class BrokenBot(Bot):
    """Answers one question badly until it is fixed."""

    broken = True

    def __init__(self) -> None:
        super().__init__(self.answer, delay=0.005)

    def answer(self, body):
        if self.broken and body["question"] == BAD:
            return {"answer": "No idea, sorry.", "sources": ["rumours.txt"]}
        return right(body)


@pytest.fixture
def bot():
    with BrokenBot() as bot:
        yield bot


@pytest.fixture
def suite(tmp_path: Path, bot: BrokenBot) -> LiveSuite:
    return LiveSuite(tmp_path, {"kind": "http", "url": bot.url})


def test_stop_look_fix_resume(cli, suite: LiveSuite, bot: BrokenBot, tmp_path: Path) -> None:
    stopped = cli("run", suite.path, "--stop-on-fail", "--workers", 5, "--no-charts")
    assert stopped.code == 1
    assert head(stopped) == STOPPED
    for part in (
        "FAILED: c17",
        BAD,
        "topic17 explained",
        "No idea, sorry.",
        "rumours.txt",
        "missing: explained, topic17",
    ):
        assert part in stopped.out
    assert (
        f"answerkey run {suite.path} --workers 5 --no-charts --resume --resume-limit 1 --stop-on-fail\n"
        in stopped.out
    )
    kept = suite.outcomes()
    assert {f"c{n}" for n in range(17)} <= set(kept), "earlier outcomes are kept"
    assert "c17" not in kept, "the failed one is not counted as done"
    assert set(bot.asked) == {o.case.question for o in kept.values()} | {BAD}, (
        "and so is all that was asked meanwhile"
    )
    assert len(kept) < 39, "it stopped"

    before = bot.asked.copy()
    again = cli("run", suite.path, "--resume", "--resume-limit", 1, "--stop-on-fail", "--no-charts")
    assert bot.asked - before == Counter({BAD: 1})
    assert again.last_line == stopped.last_line
    assert "c17" not in suite.outcomes()

    bot.broken = False
    before = bot.asked.copy()
    fixed = cli("run", suite.path, "--resume", "--resume-limit", 1, "--no-charts")
    assert bot.asked - before == Counter({BAD: 1}), "exactly that one"
    assert fixed.code == 0
    assert re.match(
        r"DONE: 1 case asked, 0 failed; \d+ cases left after --resume-limit 1; ", fixed.last_line
    )
    assert suite.outcomes()["c17"].verdict.passed

    ended = cli("run", suite.path, "--resume", "--no-charts")
    assert (ended.code, head(ended)) == (0, "DONE: 40 of 40 cases passed")
    assert bot.asked == Counter({question(n): 1 for n in range(40)}) + Counter({BAD: 2})

    (tmp_path / "whole").mkdir()
    whole = LiveSuite(tmp_path / "whole", suite.target)
    assert cli("run", whole.path, "--no-charts").code == 0
    assert suite.results() == whole.results(), "the final run equals one that was never stopped"
    assert figures(suite) == figures(whole)


def figures(suite: LiveSuite) -> dict:
    summary = json.loads((suite.run / "summary.json").read_text())
    return {
        key: summary[key]
        for key in ("totals", "score", "average_scores", "pass_rate", "partial", "performance")
    }


def test_with_one_worker_nothing_is_asked_after_the_failure(
    cli, suite: LiveSuite, bot: BrokenBot
) -> None:
    stopped = cli("run", suite.path, "--stop-on-fail", "--workers", 1, "--no-charts")
    assert (stopped.code, head(stopped)) == (1, STOPPED)
    assert sum(bot.asked.values()) == 18
    assert len(suite.outcomes()) == 17


def test_recorded_answers_stop_at_the_first_failure(cli, suite: LiveSuite, tmp_path: Path) -> None:
    rows = [
        {**case(n), "answer": "none" if n in (3, 5) else f"topic{n} explained"} for n in range(8)
    ]
    suite.target = {"kind": "recorded"}
    suite.write()
    suite.write_cases(rows)
    stopped = cli("run", suite.path, "--stop-on-fail", "--no-charts")
    assert (stopped.code, head(stopped)) == (1, STOPPED.replace("c17", "c3"))
    assert list(suite.outcomes()) == ["c0", "c1", "c2"]
    still = cli("run", suite.path, "--resume", "--resume-limit", 1, "--no-charts")
    assert still.code == 1, "asked again, it fails again"
    assert head(still) == STOPPED.replace("c17", "c3")
    ended = cli("run", suite.path, "--resume", "--no-charts")
    assert head(ended) == "DONE: 6 of 8 cases passed", "a plain resume continues to the end"


def test_a_failure_stays_waiting_until_it_is_mended(cli, suite: LiveSuite, bot: BrokenBot) -> None:
    """Whether or not the commands in between say --stop-on-fail again."""
    none = cli("run", suite.path, "--no-charts") and cli(
        "run", suite.path, "--investigate", "--json"
    )
    assert (none.code, none.json["waiting"], none.json["asked_again"]) == (0, None, None)
    cli("run", suite.path, "--stop-on-fail", "--no-charts")
    cli("run", suite.path, "--resume", "--resume-limit", 1, "--no-charts")
    looked = cli("run", suite.path, "--investigate", "--json")
    assert looked.json["waiting"]["id"] == looked.json["asked_again"]["id"] == "c17"
    assert "FAILED: c17" in looked.err
    bot.broken = False
    before = bot.asked.copy()
    assert cli("run", suite.path, "--resume", "--no-charts").code == 0
    assert (bot.asked - before)[BAD] == 1
    assert suite.outcomes()["c17"].verdict.passed


def test_a_threshold_of_ones_own_holds_while_it_is_mended(
    cli, suite: LiveSuite, bot: BrokenBot
) -> None:
    bot.reply = lambda body: {"answer": "topic17"} if body["question"] == BAD else right(body)
    cli("run", suite.path, "--stop-on-fail", "0.8", "--no-charts")
    still = cli("run", suite.path, "--resume", "--resume-limit", 1, "--no-charts")
    assert (still.code, head(still)) == (1, STOPPED)


def test_progress_goes_on_with_the_figures_so_far(cli, suite: LiveSuite, bot: BrokenBot) -> None:
    cli("run", suite.path, "--max-minutes", "0", "--workers", 1, "--no-charts")
    done = len(suite.outcomes())
    assert 0 < done < 17
    ended = cli("run", suite.path, "--resume", "--no-charts")
    told = next(line for line in ended.err.splitlines() if line.startswith("40/40"))
    assert "98 % of 40 passed" in told
    assert "over 40, 1 failed" in told
    assert f"40 cases, {done} already done" in ended.err


def test_debug_shows_the_failing_cases_in_full(cli, suite: LiveSuite, bot: BrokenBot) -> None:
    shown = cli("run", suite.path, "--debug", "--no-charts")
    assert shown.out.count("FAILED: c17") == 1
    assert "rumours.txt" in shown.out
    assert "FAILED: c17" not in cli("run", suite.path, "--no-charts").out
    bot.reply = lambda body: {"answer": "No idea."}
    many = cli("run", suite.path, "--debug", "--json", "--no-charts")
    assert many.json["totals"]["failed"] == 40
    assert many.err.count("FAILED: c") == 10
    assert "30 more failed" in many.err


def test_resuming_a_finished_run_tells_its_gates_again(cli, suite: LiveSuite) -> None:
    suite.more = '[gate]\nrequire = ["pass_rate >= 1"]'
    suite.write()
    first = cli("run", suite.path, "--no-charts")
    (suite.run / "summary.json").unlink()
    again = cli("run", suite.path, "--resume", "--no-charts", "--json")
    assert "this run is finished" in again.err
    assert (again.code, again.last_line) == (1, first.last_line)
    assert head(first).startswith("FAIL: 1 of 1 gate failed (pass_rate ")
    assert again.json["totals"]["cases"] == 40
    assert (suite.run / "summary.json").is_file(), "killed before its reports, it has them now"


def test_json_is_one_value_even_when_it_stops(cli, suite: LiveSuite) -> None:
    stopped = cli("run", suite.path, "--stop-on-fail", "--json", "--no-charts")
    assert stopped.json["totals"]["failed"] == 1, "the case it stopped at"
    assert stopped.json["partial"].startswith("stopped at c17")
    assert "FAILED: c17" in stopped.err


def test_a_threshold_of_ones_own(cli, suite: LiveSuite, bot: BrokenBot) -> None:
    """`--stop-on-fail N` stops below N on the profile's scale, whatever the pass mark."""
    bot.reply = lambda body: (
        {"answer": "topic17"} if body["question"] == BAD else right(body)
    )  # a recall of one half: a pass
    assert cli("run", suite.path, "--stop-on-fail", "--no-charts").code == 0
    strict = cli("run", suite.path, "--stop-on-fail", "0.8", "--no-charts")
    assert (strict.code, head(strict)) == (1, STOPPED)
    assert cli("run", suite.path, "--stop-on-fail", "high").code == 2


@pytest.mark.slow
def test_investigate_days_later_in_a_new_process_from_the_folder_alone(
    suite: LiveSuite, bot: BrokenBot, cli, tmp_path: Path
) -> None:
    cli("run", suite.path, "--stop-on-fail", "--no-charts")
    bot.asked.clear()
    seen = fresh("run", str(suite.path), "--investigate")
    assert seen.returncode == 0
    assert bot.asked == Counter({BAD: 1}), "asked once more"
    assert seen.stdout.count("FAILED: c17") == 2
    assert "No idea, sorry." in seen.stdout
    assert "c17" not in suite.outcomes(), "looking does not change the run"

    elsewhere = tmp_path / "archive" / suite.run.name
    elsewhere.parent.mkdir()
    shutil.move(suite.run, elsewhere)
    suite.path.unlink()
    (tmp_path / "cases.jsonl").unlink()
    bot.asked.clear()
    seen = fresh("run", str(elsewhere), "--investigate")
    assert seen.returncode == 0
    for part in (
        "FAILED: c17",
        BAD,
        "topic17 explained",
        "No idea, sorry.",
        "rumours.txt",
        "profile words (version 1)",
    ):
        assert part in seen.stdout
    assert "not asked again" in seen.stderr
    assert not bot.asked


def fresh(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "answerkey", *arguments], capture_output=True, text=True, timeout=120
    )


def change_the_profile(suite: LiveSuite) -> None:
    suite.mark = 0.6
    suite.write()


def change_the_cases(suite: LiveSuite) -> None:
    suite.write_cases(
        [
            *(case(n) for n in range(40) if n != 3),
            {**case(5), "id": "c40", "question": question(40), "expected": "topic40"},
        ]
    )


def change_the_settings(suite: LiveSuite) -> None:
    suite.target["body"] = '{"question": "{question}", "mode": "brief"}'
    suite.write()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (change_the_profile, "profile"),
        (change_the_cases, "cases"),
        (change_the_settings, "settings"),
    ],
)
def test_a_change_is_named_refused_and_recorded_when_accepted(
    cli, suite: LiveSuite, bot: BrokenBot, change, name: str
) -> None:
    cli("run", suite.path, "--stop-on-fail", "--no-charts")
    bot.broken = False
    done, before = suite.outcomes(), bot.asked.copy()
    change(suite)
    refused = cli("run", suite.path, "--resume")
    assert refused.code == 2
    assert f"the {name} changed since this run began" in refused.err
    assert "--accept-changes" in refused.err
    assert bot.asked == before, "nobody was asked"
    assert json.loads((suite.run / "run.json").read_text()).get("changes", []) == []

    accepted = cli("run", suite.path, "--resume", "--accept-changes", "--no-charts")
    assert accepted.code == 0, accepted.err
    changes = json.loads((suite.run / "run.json").read_text())["changes"]
    assert [list(entry["changed"]) for entry in changes] == [[name]]
    expected = {f"c{n}" for n in range(40)}
    if name == "cases":
        expected = expected - {"c3"} | {"c40"}
    assert set(suite.outcomes()) == expected
    again = {
        key
        for key, outcome in done.items()
        if bot.asked[outcome.case.question] > before[outcome.case.question]
    }
    assert again == set(), "what is finished is not asked again"
    assert cli("run", suite.path, "--resume").code == 0, "and the change is now what the run is"


def test_the_judges_reasoning_is_on_the_screen(cli, suite: LiveSuite, bot: BrokenBot) -> None:
    def grade(body):
        bad = "No idea, sorry." in body["messages"][-1]["content"]
        grades = {
            "accuracy": 0 if bad else 5,
            "completeness": 0 if bad else 5,
            "citation_quality": 5,
            "coherence": 3,
        }
        text = json.dumps(
            {
                "reasoning": "It does not say \x1b[31mwhat the topic is." if bad else "Right.",
                **grades,
            }
        )
        return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}

    with Bot(grade) as judge:
        suite.path.write_text(
            suite.path.read_text().replace("[profile]", "[old]").split("[old]")[0]
            + f"""
            profile = "rubric"
            target = {{ url = "{bot.url}" }}
            judge = {{ base_url = "{judge.url}/v1", model = "tiny" }}
        """
        )
        stopped = cli("run", suite.path, "--stop-on-fail", "50", "--no-charts")
    assert stopped.code == 1, stopped.err
    assert "The judge's reasoning\n  It does not say �[31mwhat the topic is.\n" in stopped.out
    assert "rubric.accuracy: contributed 0 of 50 points" in stopped.out
    assert "--resume --resume-limit 1 --stop-on-fail 50\n" in stopped.out
