"""A finished run is checked against what it recorded, whenever it is read."""

import json
import re
import shutil
import sqlite3
from contextlib import closing

import pytest
from tests.support.stored_run import query, to_format1

from answerkey import compare, open_run
from answerkey.runs.store import new_folder

ROWS = [
    # Long enough for several pages of the database.
    {
        "id": f"q{n}",
        "question": f"q {n}? {'Why? ' * 400}",
        "expected": "yes",
        "answer": "yes" if n % 5 else "no",
    }
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


def lose(run, table):
    query(run, f"DELETE FROM {table} WHERE place = 6")


def overwrite_pages(run):
    """Pages of the table of answers are overwritten, as a bad disk does."""
    path = run / "run.sqlite"
    data = path.read_bytes()
    at = data.index(b'"question":"q 12?')
    size = int.from_bytes(data[16:18])
    page = at // size * size
    path.write_bytes(data[:page] + b"\xa5" * size + data[page + size :])


def change_count(run, count):
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"count": count}))


def without_records(run):
    """As an earlier version left it."""
    manifest = json.loads((run / "run.json").read_text())
    del manifest["records"]
    (run / "run.json").write_text(json.dumps(manifest))


DAMAGES = {
    "a lost verdict": (
        lambda run: lose(run, "verdicts"),
        "run.sqlite has 29 of 30 verdicts",
    ),
    "a lost answer": (
        lambda run: (lose(run, "verdicts"), lose(run, "answers")),
        "run.sqlite has 29 of 30 answers",
    ),
    "a deleted database": (
        lambda run: (run / "run.sqlite").unlink(),
        "run.sqlite has 0 of 30 answers",
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
        lambda run: (without_records(run), lose(run, "verdicts")),
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
    if "deleted" not in name:
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


def test_resume_asks_what_was_lost(cli, run, tmp_path):
    lose(run, "answers")
    lose(run, "verdicts")
    resume_and_check(cli, run, tmp_path)


def resume_and_check(cli, run, tmp_path):
    shown = cli("run", tmp_path / "bot.toml", "--resume", "--quiet", "--no-charts")
    assert shown.code == 0, shown.err
    assert cli("summary", run, "--json").json["totals"]["cases"] == 30
    assert len(list((tmp_path / "results").glob("*"))) == 1


def test_readable_answers_of_a_damaged_database_are_read(cli, run, tmp_path):
    overwrite_pages(run)
    shown = cli("report", run)
    assert shown.code == 3
    assert re.search(r"damaged: run.sqlite has \d+ of 30 answers", shown.last_line)
    cases = cli("summary", run, "--json").json["totals"]["cases"]
    assert 0 < cases < 30
    resume_and_check(cli, run, tmp_path)
    assert (run / "damaged.run.sqlite").exists()


@pytest.mark.parametrize("content", [b"", b"no database" * 1000])
def test_a_file_that_is_no_database_is_named_and_repaired(cli, run, tmp_path, content):
    (run / "run.sqlite").write_bytes(content)
    shown = cli("report", run)
    assert shown.code == 3
    assert "run.sqlite" in shown.last_line
    resume_and_check(cli, run, tmp_path)


def test_a_finished_run_is_one_file(run):
    assert [path.name for path in run.glob("run.sqlite*")] == ["run.sqlite"]


def test_a_run_in_a_folder_that_may_not_be_written_is_read(cli, run):
    with closing(sqlite3.connect(run / "run.sqlite")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    run.chmod(0o555)
    try:
        assert cli("summary", run).code == 0
    finally:
        run.chmod(0o755)


def test_a_network_folder_gets_a_rollback_journal_and_a_note(cli, write, monkeypatch):
    monkeypatch.setattr("answerkey.runs.database.is_network_folder", lambda folder: True)
    monkeypatch.setattr("answerkey.runs.store.is_network_folder", lambda folder: True)
    write("rows.jsonl", ROWS)
    write("words.toml", PROFILE)
    shown = cli("run", write("bot.toml", SUITE), "--no-charts")
    assert shown.code == 0
    assert shown.err.count("the run folder is on a network") == 1


class TestFormat1:
    """Runs of earlier versions are read by every command, and not resumed."""

    def test_the_same_figures(self, cli, run, tmp_path):
        before = cli("report", run, "--json").json
        to_format1(run)
        after = cli("report", run, "--json").json
        before.pop("timestamp")
        after.pop("timestamp")
        assert after == before
        assert cli("summary", run, "--by", "type").code == 0
        assert cli("compare", run, run, "--gate").code == 0
        assert open_run(run).passed
        assert cli("rescore", run, "--metrics", "token_f1", "--quiet").code == 0

    def test_a_lost_line_is_stated(self, cli, run):
        to_format1(run)
        lines = (run / "scores.jsonl").read_bytes().splitlines(keepends=True)
        (run / "scores.jsonl").write_bytes(b"".join(lines[:7] + lines[8:]))
        shown = cli("report", run)
        assert shown.code == 3
        assert "scores.jsonl has 29 of 30 records" in shown.last_line

    def test_resume_is_refused_with_the_reason(self, cli, run, tmp_path):
        to_format1(run)
        manifest = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps(manifest | {"partial": "in progress"}))
        shown = cli("run", tmp_path / "bot.toml", "--resume", "--quiet")
        assert shown.code == 2
        assert "an earlier version of answerkey began this run" in shown.last_line


def test_a_new_run_cleans_up_after_one_that_was_killed_at_its_first_file(tmp_path):
    killed = new_folder(tmp_path, "bot")
    stray = killed / ".run.json.999999999.0a1b2c3d"
    stray.touch()
    new_folder(tmp_path, "bot")
    assert not stray.exists()
