"""`--jobs`: the same bytes with any number of processes, and the same behaviour when something fails or is stopped."""

import os

import pytest
from tests.support.results import latest_run
from tests.support.stored_run import stored_scores

import answerkey
from answerkey.runs.control import Options, Stop, Watch
from answerkey.runs.execute import run_suite
from answerkey.runs.suite import load_suite
from answerkey.types import Score

COUNT = 1_800  # eight chunks
METRICS = """
import os
from pathlib import Path
from answerkey import metric

@metric("letters", needs=("answer",), low=0, high=None)
def letters(case, response):
    if case.id == "c5":
        print("a metric may print")
        raise ValueError("no letters today")
    return len(response.answer)

@metric("fatal", needs=("answer",))
def fatal(case, response):
    if case.id == "c300" and Path(__file__).with_name("kill").exists():
        os.kill(os.getpid(), 9)
    return 1
"""
SUITE = """
name = "many"
cases = ["cases.jsonl"]
metrics = ["token_f1", "rouge_l", "letters", "fatal"]
modules = ["own_metrics"]
embedding = "none"
"""


@pytest.fixture
def suite(write):
    rows = [
        {
            "id": f"c{n}",
            "question": f"Question {n}?",
            "answer": f"the answer {n} is {n % 7}",
            "expected": f"{n % 5}",
        }
        for n in range(COUNT)
    ]
    rows[9]["answer"] = "half a pair: \ud83d"
    write("cases.jsonl", rows)
    write("own_metrics.py", METRICS)
    return write("suite.toml", SUITE)


def bytes_of(folder):
    files = [(folder / name).read_bytes() for name in ("results.jsonl", "results.csv")]
    return [*files, stored_scores(folder)]


@pytest.mark.parametrize("jobs", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_same_bytes_with_any_number_of_processes(cli, suite, tmp_path, jobs):
    shown = [
        cli("run", suite, "--jobs", n, "--out", tmp_path / str(n), "--quiet") for n in (1, jobs)
    ]
    assert [each.code for each in shown] == [3, 3]  # c5 ended in an error
    one, many = (latest_run(tmp_path / str(n), "many") for n in (1, jobs))
    assert bytes_of(one) == bytes_of(many)
    assert b"ValueError: no letters today" in (many / "results.jsonl").read_bytes()
    again = ("--out", tmp_path / "again", "--allow-code", "--quiet")
    assert cli("rescore", many, "--jobs", jobs, *again).code == 3
    assert (latest_run(tmp_path / "again", "many") / "results.jsonl").read_bytes() == (
        many / "results.jsonl"
    ).read_bytes()


def test_functions_and_judges_stay_in_this_process():
    here = os.getpid()

    def process(case, response):
        return Score(1.0, str(os.getpid()))

    rows = [{"question": f"{n}?", "answer": str(n), "expected": str(n % 3)} for n in range(COUNT)]
    run = answerkey.evaluate(rows, [process, "token_f1"], jobs=2, progress=False)
    assert {outcome.scores["process"].reason for outcome in run} == {str(here)}
    assert run.summary.mean["token_f1"] == pytest.approx(3 / COUNT)
    assert list(run.outcomes[0].scores) == ["process", "token_f1"]


def test_a_stopped_run_continues_in_several_processes(suite, tmp_path):
    path = load_suite(suite, {"run.jobs": 2})
    whole = run_suite(path.writing_to(tmp_path / "whole"), Options())
    stop = Stop()
    watch = Watch()
    watch.outcome = lambda outcome: stop.set("enough")
    part = run_suite(path.writing_to(tmp_path / "part"), Options(), watch, stop)
    assert part.partial == "enough"
    assert 0 < part.asked < COUNT
    run_suite(path.writing_to(tmp_path / "part"), Options(resume=part.folder))
    assert stored_scores(part.folder) == stored_scores(whole.folder)


def test_a_process_that_is_killed_leaves_a_run_to_resume(cli, suite, tmp_path):
    (tmp_path / "kill").touch()
    shown = cli("run", suite, "--jobs", 2, "--quiet")
    assert shown.code == 3
    assert "a scoring process ended unexpectedly (code -9)" in shown.last_line
    (tmp_path / "kill").unlink()
    shown = cli("run", suite, "--jobs", 2, "--resume", "--quiet")
    assert "1 of 1800 cases ended in an error" in shown.last_line
    assert (
        len((latest_run(tmp_path / "results", "many") / "results.jsonl").read_bytes().splitlines())
        == COUNT
    )


def test_a_mistake_in_a_module_is_one_line(cli, suite, write):
    write("own_metrics.py", METRICS + "\nimport no_such_package")
    assert "no_such_package" in cli("run", suite, "--jobs", 2).last_line
    assert cli("run", suite, "--jobs", 0).code == 2
