"""A suite with several targets and prompts: a run for each combination, one table, resumed after a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.fake_endpoint import FakeEndpoint, completion

BOTS = """
import os, time
def answer(q, right, system=""):
    with open(os.path.join(os.path.dirname(__file__), "asked.txt"), "a") as log:
        log.write(f"{right} {q}\\n")
    time.sleep(float(os.environ.get("BOT_SECONDS", "0")))
    text = "yes" if int(q.split()[1]) < right else "no"
    return {"answer": text, "cost": right / 1000}
def large(q): return answer(q, 19)
def small(q): return answer(q, 18)
def poor(q): return answer(q, 3)
"""
SUITE = """
name = "s"
cases = ["cases.json"]
metrics = {exact_match = 1}
[run]
workers = 2
[[targets]]
name = "large"
call = "bots:large"
[[targets]]
name = "small"
call = "bots:small"
[[targets]]
name = "poor"
call = "bots:poor"
"""


@pytest.fixture
def suite(write) -> Path:
    cases = [{"id": f"q{n}", "question": f"q {n}", "expected": "yes"} for n in range(20)]
    write("cases.json", cases)
    write("bots.py", BOTS)
    return write("s.toml", SUITE)


def test_each_target_is_a_run_and_the_table_marks_the_cheapest_not_worse(cli, suite, tmp_path):
    shown = cli("run", suite, "--no-charts")
    assert shown.code == 0, shown.err
    runs = sorted(path.name.rsplit("_", 2)[0] for path in (tmp_path / "results").iterdir())
    assert runs == ["s-large", "s-poor", "s-small"]
    assert "s-large" in shown.last_line
    assert shown.last_line.startswith("DONE: 3 runs; ")
    data = cli("run", suite, "--no-charts", "--json").json
    standings = {Path(row["run"]).name.split("_")[0]: row["standing"] for row in data["runs"]}
    assert standings["s-large"] == "best"
    assert standings["s-poor"] == "worse than the best"
    cheapest = [row["run"] for row in data["runs"] if row["cheapest_not_worse"]]
    assert [Path(run).name.split("_")[0] for run in cheapest] == ["s-small"]


@pytest.mark.slow
def test_a_killed_suite_resumes_in_the_middle_and_asks_nothing_twice(cli, suite, tmp_path):
    command = [sys.executable, "-m", "answerkey", "run", str(suite), "--no-charts", "-q"]
    environment = {"BOT_SECONDS": "0.2", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    log = tmp_path / "asked.txt"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if log.is_file() and len(log.read_text().splitlines()) >= 25:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    shown = cli("run", suite, "--no-charts", "--resume", "-q")
    assert shown.code == 0, shown.err
    questions = log.read_text().splitlines()
    in_flight = 2  # workers
    assert len(set(questions)) == 60
    assert len(questions) <= 60 + in_flight
    assert len(list((tmp_path / "results").glob("*/summary.json"))) == 3


@pytest.mark.network
def test_prompts_multiply_the_targets(cli, write, tmp_path):
    write("cases.json", [{"id": "a", "question": "Is it open?", "expected": "yes"}])
    with FakeEndpoint(
        lambda request: completion("yes" if "Short" in request.text else "no")
    ) as fake:
        suite = f"""
            name = "s"
            cases = ["cases.json"]
            metrics = {{exact_match = 1}}
            [target]
            openai = "{fake.base_url}"
            model = "m"
            [[prompts]]
            name = "short"
            system = "Short answers."
            [[prompts]]
            name = "long"
            system = "Long answers."
        """
        shown = cli("run", write("s.toml", suite), "--no-charts")
    assert shown.code == 0, shown.err
    rates = {
        path.name.rsplit("_", 2)[0]: json.loads((path / "summary.json").read_text())["pass_rate"]
        for path in (tmp_path / "results").iterdir()
    }
    assert rates == {"s-long": 0.0, "s-short": 1.0}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('[[targets]]\ncall = "bots:large"', "needs a name"),
        ('[[targets]]\nname = "a"\ncall = "bots:large"\n[[targets]]\nname = "a"\ncall = "bots:poor"', "comes twice"),
        ('[[prompts]]\nname = "a"\nsytem = "x"', 'no setting "sytem"'),
        ('[target]\ncall = "bots:large"\n[[targets]]\nname = "a"\ncall = "bots:poor"', "keep one of them"),
    ],
)  # fmt: skip
def test_mistakes_are_named(cli, suite, write, more, message):
    path = write("t.toml", f'cases = ["cases.json"]\nmetrics = ["exact_match"]\n{more}\n')
    shown = cli("run", path)
    assert shown.code == 2
    assert message in shown.last_line
