"""Each case asked several times: pass^k, pass@k, flaky cases, `require`, and resuming."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from tests.support.inline_pool import InlinePool
from tests.support.results import latest_run
from tests.support.stored_run import query
from tests.support.viewer_asking import ask

from answerkey import evaluate, open_run
from answerkey.reports.write import write_reports
from answerkey.runs.execute import execute_suite
from answerkey.runs.shard_worker import ShardTask
from answerkey.runs.store import read_outcomes
from answerkey.runs.suite import load_suite
from answerkey.viewer.app import make_app
from answerkey.viewer.guard import Rules

# The answer depends on the question and on how often it was asked before: 10110 of c3 is right, wrong, right, right, wrong.
BOT = """
import threading
ASKED, LOCK = {}, threading.Lock()
def answer(question):
    with LOCK:
        n = ASKED[question] = ASKED.get(question, -1) + 1
    pattern = question.split()[-1]
    if pattern[n % len(pattern)] == "e":
        raise ValueError("no answer today")
    return "yes" if pattern[n % len(pattern)] == "1" else "no"
"""
SUITE = """
name = "flaky"
cases = ["cases.jsonl"]
[target]
kind = "python"
call = "{module}:answer"
[profile]
name = "words"
version = 1
pass = 0.5
bands = [{{ name = "good", at = 0.5, status = "PASSED" }}, {{ name = "poor", at = 0.0, status = "FAILED" }}]
criteria = [{{ metric = "exact_match" }}]
[run]
repeats = {k}
workers = 1
{more}
"""
PATTERNS = ["11111", "00000", "10110", "01000", "11110", "11111", "00001"]


@pytest.fixture
def suite(write, tmp_path, request):
    def make(patterns=PATTERNS, k=5, more="", rows=()):
        module = f"flaky_bot_{abs(hash(request.node.nodeid)) % 10**8}"
        write(f"{module}.py", BOT)
        cases = rows or [
            {"id": f"c{n}", "question": f"case {n} {pattern}", "expected": "yes"}
            for n, pattern in enumerate(patterns)
        ]
        write("cases.jsonl", cases)
        return write("suite.toml", SUITE.format(module=module, k=k, more=more))

    return make


def run(cli, suite, *more):
    shown = cli("run", suite, "--no-charts", "--quiet", *more)
    return shown, latest_run(suite.parent / "results", "flaky")


@pytest.mark.parametrize("require", ["", "1 of 5", "3 of 5", "4 of 5", "5 of 5"])
def test_figures_equal_a_direct_computation(cli, suite, require):
    shown, folder = run(cli, suite(more=f'require = "{require}"' if require else ""))
    assert shown.code == 0, shown.err
    passes = [pattern.count("1") for pattern in PATTERNS]
    needed = int((require or "3")[0])
    summary = json.loads((folder / "summary.json").read_text())
    repeats = summary["repeats"]
    assert summary["totals"]["cases"] == 7
    assert summary["totals"]["passed"] == sum(n >= needed for n in passes)
    assert summary["pass_rate"] == sum(n >= needed for n in passes) / 7
    assert repeats["pass^k"] == repeats["pass_all"] == sum(n == 5 for n in passes) / 7
    assert repeats["pass@k"] == repeats["pass_any"] == sum(n > 0 for n in passes) / 7
    assert repeats["answer_pass_rate"] == sum(passes) / 35
    assert summary["flaky"] == [f"c{n}" for n, count in enumerate(passes) if 0 < count < 5]
    assert repeats["flaky"] == 4
    assert summary["average_scores"]["exact_match"]["mean"] == pytest.approx(sum(passes) / 35)
    assert summary["response_time"]["n"] == 35
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert [sum(repeat["passed"] for repeat in line["repeats"]) for line in lines] == passes
    assert [line["verdict"]["passed"] for line in lines] == [n >= needed for n in passes]


def test_reports_name_pass_k_and_the_flaky_cases(cli, suite):
    _, folder = run(cli, suite())
    assert cli("report", folder).code == 0
    for name in ("report.txt", "report.md", "report.html"):
        text = (folder / name).read_text()
        assert "pass^5" in text.replace("\\^", "^"), name
        assert "pass@5" in text.replace("\u200b", ""), name
        assert "flaky" in text, name
    assert (
        "2 of 5 answers passed" in (folder / "failures.txt").read_text()
        or "1 of 5 answers passed" in (folder / "failures.txt").read_text()
    )
    outcome = open_run(folder)["c2"]
    assert len(outcome.attempts) == 5
    assert outcome.verdict.passed


@pytest.mark.parametrize(
    ("gate", "code"),
    [("pass^k >= 0.2", 0), ("pass^5 >= 0.5", 1), ("pass@5 >= 0.8", 0), ("flaky <= 4", 0), ("flaky == 0", 1), ("pass^3 >= 0", 1)],
)  # fmt: skip
def test_gates_on_repeats(cli, suite, gate, code):
    shown, _ = run(cli, suite(), "--gate", gate)
    if gate.startswith("pass^3"):
        assert shown.code == 2
        assert "5 times" in shown.last_line
    else:
        assert shown.code == code, shown.err


@pytest.mark.parametrize(
    ("more", "message"), [('require = "3 of 4"', 'expected "N of 5"'), ('require = "most"', "for example"), ('require = "0 of 5"', "N of 5")]
)  # fmt: skip
def test_a_requirement_that_cannot_be_met_is_refused(cli, suite, more, message):
    shown, _ = run(cli, suite(more=more))
    assert shown.code == 2
    assert message in shown.last_line


def test_recorded_answers_cannot_be_repeated(cli, write):
    write("cases.jsonl", [{"id": "a", "question": "q?", "expected": "yes", "answer": "yes"}])
    shown = cli(
        "run",
        write("s.toml", 'cases = ["cases.jsonl"]\nmetrics = ["exact_match"]\n'),
        "--repeats",
        "3",
    )
    assert shown.code == 2
    assert "recorded answers are always the same" in shown.last_line


def test_an_error_in_one_answer_is_asked_again_alone(cli, suite):
    path = suite(["111", "1e1", "000"], k=3)
    shown, folder = run(cli, path)
    assert shown.code == 3
    assert json.loads((folder / "summary.json").read_text())["totals"]["errors"] == 1
    before = query(folder, "SELECT max(number) FROM verdicts")[0][0]
    shown, again = run(cli, path, "--resume")
    assert (shown.code, again) == (0, folder)
    assert query(folder, "SELECT max(number) FROM verdicts")[0][0] == before + 1
    assert json.loads((folder / "summary.json").read_text())["repeats"]["pass^k"] == 2 / 3


def test_repeats_cannot_change_while_a_run_is_unfinished(cli, suite):
    path = suite(["1e1"], k=3)
    run(cli, path)
    shown, _ = run(cli, path, "--resume", "--repeats", "5", "--accept-changes")
    assert shown.code == 2
    assert "asks each case 3 times, the suite 5" in shown.last_line


def test_rescore_and_compare_keep_the_repeats(cli, suite):
    path = suite()
    _, a = run(cli, path)
    shown = cli("rescore", a, "--metrics", "token_f1", "--no-charts", "--quiet")
    assert shown.code == 0, shown.err
    b = latest_run(path.parent / "results", "flaky")
    first, second = (json.loads((folder / "summary.json").read_text()) for folder in (a, b))
    assert b != a
    assert first["repeats"] == second["repeats"]
    found = cli("compare", a, b, "--json").json
    assert found["identical_answers"] == 7
    assert found["repeats"] == {"a": 5, "b": 5}
    assert found["mcnemar"]["n"] == 7


def test_turns_of_a_repeated_conversation_get_the_answers_of_their_own_repeat(cli, write, tmp_path):
    write("talk_bot_r.py", """
import itertools
COUNT = itertools.count()
def answer(question, history=()):
    if not history:
        return f"start {next(COUNT)}"
    return f"{history[0]['answer']} then {question}"
""")  # fmt: skip
    talk = {"id": "t", "conversation": [{"turn": n, "user": f"turn {n}"} for n in (1, 2, 3)]}
    write("talk.json", [talk])
    suite = write("suite.toml", 'name = "flaky"\ncases = ["talk.json"]\nmetrics = ["answer_length"]\n'
                  '[target]\nkind = "python"\ncall = "talk_bot_r:answer"\n[run]\nrepeats = 3\n')  # fmt: skip
    shown, folder = run(cli, suite)
    assert shown.code == 0, shown.err
    turns = list(read_outcomes(folder))
    begun = [attempt.response.answer for attempt in turns[0].attempts]
    assert sorted(begun) == ["start 0", "start 1", "start 2"]
    assert [a.response.answer for a in turns[2].attempts] == [
        f"{start} then turn 3" for start in begun
    ]


def test_shards_repeat_too(cli, suite, monkeypatch):
    path = suite()
    _, local = run(cli, path)
    loaded = load_suite(path)
    pool = InlinePool(ShardTask(loaded, live=True))
    pools = iter([pool])  # the shards themselves are not divided
    monkeypatch.setattr("answerkey.runs.execute.open_pool", lambda *_: next(pools, None))
    folder = execute_suite(loaded.writing_to(path.parent / "sharded")).folder
    write_reports(folder, charts=False)
    assert len(pool.started) > 1
    there, here = (json.loads((f / "summary.json").read_text()) for f in (folder, local))
    assert there["totals"]["cases"] == 7
    assert there["repeats"]["answers"] == here["repeats"]["answers"] == 35
    assert len(next(iter(read_outcomes(folder))).attempts) == 5


def test_the_viewer_shows_the_repeats(cli, suite):
    _, folder = run(cli, suite())
    app = make_app(folder.parent, Rules())
    page = ask(app, f"/run/{folder.name}").text
    assert "pass^5" in page
    assert "4 flaky cases: c2, c3, c4, c6" in page
    place = next(
        case["n"]
        for case in ask(app, f"/run/{folder.name}?format=json").json()["cases"]
        if case["id"] == "c3"
    )
    case = ask(app, f"/run/{folder.name}/case/{place}?format=json").json()["case"]
    assert [attempt["status"] for attempt in case["attempts"]] == [
        "FAILED",
        "PASSED",
        "FAILED",
        "FAILED",
        "FAILED",
    ]
    assert "Repeats" in ask(app, f"/run/{folder.name}/case/{place}").text


def test_repeats_from_python():
    flips = iter("100110111")
    found = evaluate(
        [{"id": n, "question": f"q{n}", "expected": "1"} for n in "abc"], ["exact_match"],
        target=lambda question: next(flips), repeats=3, workers=1, progress=False,
    )  # fmt: skip
    assert [o.scores["exact_match"].value for o in found] == pytest.approx([1 / 3, 2 / 3, 1])
    assert found.summary.figures.repeats.k == 3


SLOW_BOT = """
import time
def answer(question):
    with open("asked.log", "a") as log:
        log.write(question + "\\n")
    time.sleep(0.002)
    return "yes"
"""


@pytest.mark.slow
def test_a_thousand_cases_five_times_killed_at_twenty_moments(write, tmp_path):
    write("slow_bot.py", SLOW_BOT)
    write(
        "cases.jsonl",
        [{"id": f"c{n}", "question": f"q {n}", "expected": "yes"} for n in range(1000)],
    )
    suite = write(
        "suite.toml",
        SUITE.format(module="slow_bot", k=5, more="").replace("workers = 1", "workers = 4"),
    )
    log, kills = tmp_path / "asked.log", 0
    moments = random.Random(20)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    start = [sys.executable, "-m", "answerkey", "run", suite, "--quiet", "--no-charts"]
    for kill in range(20):
        folder = latest_run(tmp_path / "results", "flaky")
        goal = 240 * kill + moments.randrange(20, 230)
        process = subprocess.Popen(
            [*start, *(["--resume"] if folder else [])], cwd=tmp_path, env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while process.poll() is None and (not log.exists() or log.read_text().count("\n") < goal):
            time.sleep(0.01)
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    last = subprocess.run(
        [*start, "--resume"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert last.returncode == 0, last.stderr
    assert kills == 20
    folder = latest_run(tmp_path / "results", "flaky")
    assert len(list((tmp_path / "results").glob("*"))) == 1
    outcomes = list(read_outcomes(folder))
    assert Counter(outcome.case.id for outcome in outcomes) == {f"c{n}": 1 for n in range(1000)}
    assert all(len(outcome.attempts) == 5 for outcome in outcomes)
    assert query(folder, "SELECT place FROM answers ORDER BY place") == [(n,) for n in range(5000)]
    asked = Counter(log.read_text().splitlines())
    assert set(asked) == {f"q {n}" for n in range(1000)}
    assert sum(asked.values()) <= 5000 + 20 * 16  # at most what was in flight at a kill
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["repeats"]["answers"] == 5000
    assert summary["repeats"]["pass^k"] == 1.0
