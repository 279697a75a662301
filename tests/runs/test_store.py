"""A finished run is checked against what it recorded, whenever it is read."""

import json
import shutil

import pytest

from answerkey import compare, open_run

ROWS = [
    {"id": f"q{n}", "question": f"q {n}?", "expected": "yes", "answer": "yes" if n % 5 else "no"}
    for n in range(30)
]
PROFILE = """
name = "words"
version = 1
pass = 0.5
bands = [{ name = "good", at = 0.5, status = "PASSED" }, { name = "poor", at = 0.0, status = "FAILED" }]
criteria = [{ metric = "exact_match" }]
"""
SUITE = """
name = "bot"
cases = ["rows.jsonl"]
profile = "words.toml"
gate.require = ["pass_rate >= 0.5"]
"""


@pytest.fixture
def run(cli, write, tmp_path):
    write("rows.jsonl", ROWS)
    write("words.toml", PROFILE)
    shown = cli("run", write("bot.toml", SUITE), "--quiet", "--no-charts")
    assert shown.code == 0, shown.err
    (folder,) = (tmp_path / "results").glob("*")
    return folder


def lose_a_line(run, name):
    lines = (run / name).read_bytes().splitlines(keepends=True)
    (run / name).write_bytes(b"".join(lines[:7] + lines[8:]))


def change_count(run, count):
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"count": count}))


def without_records(run):
    """As an earlier version left it."""
    manifest = json.loads((run / "run.json").read_text())
    del manifest["records"]
    (run / "run.json").write_text(json.dumps(manifest))


DAMAGES = {
    "a lost score": (
        lambda run: lose_a_line(run, "scores.jsonl"),
        "scores.jsonl has 29 of 30 records",
    ),
    "a lost answer": (
        lambda run: lose_a_line(run, "responses.jsonl"),
        "responses.jsonl has 29 of 30 records",
    ),
    "a deleted journal": (
        lambda run: (run / "scores.jsonl").unlink(),
        "scores.jsonl has 0 of 30 records",
    ),
    "both journals deleted": (
        lambda run: [(run / name).unlink() for name in ("scores.jsonl", "responses.jsonl")],
        "responses.jsonl has 0 of 30 records",
    ),
    "fewer cases in run.json": (
        lambda run: change_count(run, 29),
        "run.json names 29 cases, 30 were recorded",
    ),
    "more cases in run.json": (
        lambda run: change_count(run, 31),
        "run.json names 31 cases, 30 were recorded",
    ),
    "an earlier version": (
        lambda run: (without_records(run), lose_a_line(run, "scores.jsonl")),
        "29 of 30 cases are stored",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_a_run_lost_is_stated_and_gates_and_compare_fail(cli, run, name, tmp_path):
    whole = tmp_path / "whole"
    shutil.copytree(run, whole)
    damage, stated = DAMAGES[name]
    damage(run)
    for command in ("summary", "report"):
        shown = cli(command, run)
        assert shown.code == 3
        assert shown.last_line.startswith("INCOMPLETE: damaged: ")
        assert stated in shown.last_line
        assert stated in shown.out
    if "both" not in name:
        (gate,) = json.loads((run / "summary.json").read_text())["gates"]
        assert not gate["passed"]
        assert stated in gate["note"]
        assert not open_run(run).passed
    for pair in ((whole, run), (run, whole)):
        shown = cli("compare", *pair, "--gate")
        assert shown.code != 0
        assert stated in shown.err or "no finished case" in shown.err
    assert cli("baseline", "set", run, "--folder", tmp_path).code == 3


def test_a_whole_run_is_not_called_damaged(cli, run):
    assert cli("summary", run).code == 0
    assert cli("report", run).code == 0
    assert cli("compare", run, run, "--gate").code == 0
    without_records(run)
    assert cli("summary", run).code == 0
    assert open_run(run).passed
    assert not compare(run, run).changed.unfinished_runs


def test_resume_repairs_a_damaged_run(cli, run, tmp_path):
    lose_a_line(run, "responses.jsonl")
    lose_a_line(run, "scores.jsonl")
    assert cli("run", tmp_path / "bot.toml", "--resume", "--quiet", "--no-charts").code == 0
    assert cli("summary", run, "--json").json["totals"]["cases"] == 30
    assert len(list((tmp_path / "results").glob("*"))) == 1
