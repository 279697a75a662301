"""A suite with several targets and prompts: a run for each combination, one table, resumed after a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.fake_endpoint import FakeEndpoint, Request, Said, completion

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


def test_the_gates_of_finished_runs_decide_when_they_are_resumed(cli, suite, tmp_path):
    gated = ("run", suite, "--no-charts", "-q", "--gate", "pass_rate >= 0.5")
    assert cli(*gated).code == 1
    shown = cli(*gated, "--resume")
    assert shown.code == 1, shown.err
    assert shown.last_line.startswith("FAIL: 1 of 3 runs failed a gate; ")
    assert len((tmp_path / "asked.txt").read_text().splitlines()) == 60
    assert cli("run", suite, "--no-charts", "-q").code == 0
    assert cli("run", suite, "--no-charts", "-q", "--resume").code == 0


def test_the_gates_on_variants_of_finished_runs_decide_when_they_are_resumed(cli, suite, tmp_path):
    # Every bot is right on the questions as they are, and wrong after a greeting.
    bots = BOTS.replace("int(q.split()[1]) < right", "q == f'q {q.split()[-1]}'")
    (tmp_path / "bots.py").write_text(bots)
    gate = "variants.greeting.drop <= 0.1"
    gated = ("run", suite, "--no-charts", "-q", "--variants", "greeting", "--gate", gate)
    first = cli(*gated)
    assert first.code == 1, first.err
    asked = (tmp_path / "asked.txt").read_text()
    shown = cli(*gated, "--resume")
    assert shown.code == 1, shown.err
    assert shown.last_line.startswith("FAIL: 3 of 3 runs failed a gate; ")
    assert (tmp_path / "asked.txt").read_text() == asked


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


GRID = """
name = "s"
cases = ["cases.json"]
metrics = {{exact_match = 1}}
[run]
workers = 2
{targets}
[[prompts]]
name = "short"
system = "Short answers."
[[prompts]]
name = "long"
system = "Long answers."
"""
MODELS = {"large": (19, 0.03), "small": (18, 0.001), "poor": (3, 0.0001)}


def answer_as_model(request: Request) -> Said:
    """The model decides how many questions are right; long answers are wrong twice as often."""
    right, cost = MODELS[request.body["model"]]
    if "Long" in request.text:
        right -= 20 - right
        cost *= 2
    number = int(request.text.rsplit(" ", 1)[1])
    reply = json.loads(completion("yes" if number < right else "no").body)
    reply["usage"]["cost"] = cost
    return Said(body=json.dumps(reply), delay=0.05)


@pytest.mark.network
@pytest.mark.slow
def test_three_targets_and_two_prompts_are_killed_and_resumed(cli, write, tmp_path):
    write(
        "cases.json",
        [{"id": f"q{n}", "question": f"Question {n}", "expected": "yes"} for n in range(20)],
    )
    with FakeEndpoint(answer_as_model) as fake:
        targets = "\n".join(
            f'[[targets]]\nname = "{name}"\nopenai = "{fake.base_url}"\nmodel = "{name}"\n'
            'cost = "$.usage.cost"'
            for name in MODELS
        )
        suite = write("s.toml", GRID.format(targets=targets))
        command = [sys.executable, "-m", "answerkey", "run", str(suite), "--no-charts", "-q"]
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while len(fake.requests) < 55 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        finished = list((tmp_path / "results").glob("*/summary.json"))
        assert 0 < len(finished) < 6, "killed in the middle"
        shown = cli("run", suite, "--no-charts", "--resume", "--json")
        assert shown.code == 0, shown.err
        in_flight = 2  # workers
        assert 120 <= len(fake.requests) <= 120 + in_flight
    rows = {Path(row["run"]).name.rsplit("_", 2)[0]: row for row in shown.json["runs"]}
    names = {f"s-{model}-{prompt}" for model in MODELS for prompt in ("short", "long")}
    assert rows.keys() == names
    assert [name for name, row in rows.items() if row["standing"] == "best"] == ["s-large-short"]
    assert [name for name, row in rows.items() if row["cheapest_not_worse"]] == ["s-small-short"]
    assert all(row["scored"] == 20 for row in rows.values())


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
