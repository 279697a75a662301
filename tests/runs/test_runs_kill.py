"""kill -9, torn lines, full disks, two writers: a clear message, and nothing lost."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing

import pytest
from tests.support.results import latest_run
from tests.support.stored_run import forget_after, stored_answers

from answerkey.runs.store import read_outcomes

BOT = """
import os, time
def answer(question):
    with open("asked.log", "a") as log:
        log.write(question + "\\n")
    time.sleep(0.03)
    return "the answer to " + question
"""
SUITE = """
name = "slow"
cases = ["cases.jsonl"]
metrics = ["exact_match"]
[target]
kind = "python"
call = "slow_bot:answer"
"""


@pytest.fixture
def suite(write):
    def make(count):
        write("slow_bot.py", BOT)
        write(
            "cases.jsonl",
            [
                {
                    "id": f"c{n}",
                    "question": f"question {n}",
                    "expected": f"the answer to question {n}",
                }
                for n in range(count)
            ],
        )
        return write("suite.toml", SUITE)

    return make


def start(suite, *more):
    return subprocess.Popen(
        [sys.executable, "-m", "answerkey", "run", suite, "--quiet", "--no-charts", *more],
        cwd=suite.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_fifty_kills_lose_nothing_and_ask_nothing_twice(suite):
    path = suite(700)
    results, asked = path.parent / "results", path.parent / "asked.log"
    random.seed(7)
    kills = 0
    while kills < 50:
        run = latest_run(results, "slow")
        before = set(stored_answers(run))
        already = len(asked.read_text().splitlines()) if asked.exists() else 0
        process = start(path, *(["--resume"] if run else []))
        wait_for_growth(process, asked, already)
        time.sleep(random.random() * 0.25)
        finished = process.poll() is not None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += 1
        new = asked.read_text().splitlines()[already:]
        assert not {f"question {key[1:]}" for key in before} & set(new), (
            "something that had been written was asked again"
        )
        if finished:
            break
    last = start(path, "--resume")
    told = last.communicate()[1]
    assert last.returncode == 0, told
    ids = Counter(outcome.case.id for outcome in read_outcomes(latest_run(results, "slow")))
    assert ids == {f"c{n}": 1 for n in range(700)}
    assert kills >= 20, "the run ended before it could be killed often enough"


def wait_for_growth(process, log, size):
    for _ in range(3000):
        if process.poll() is not None or (
            log.exists() and len(log.read_text().splitlines()) > size
        ):
            return
        time.sleep(0.01)
    pytest.fail("the run did not begin")


def run_to_end(path, *more):
    process = start(path, *more)
    told = process.communicate()[1]
    return process.returncode, told


def test_a_commit_that_was_cut_short_is_undone(suite):
    path = suite(6)
    assert run_to_end(path)[0] == 0
    run = latest_run(path.parent / "results", "slow")
    forget_after(run, 3)
    # The journal of a commit that a power cut ended in its middle.
    with closing(sqlite3.connect(run / "run.sqlite", isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("UPDATE answers SET id = 'lost' WHERE place = 0")
        torn = (run / "run.sqlite-wal").read_bytes()
        shutil.copy(run / "run.sqlite", run / "before.sqlite")
    os.replace(run / "before.sqlite", run / "run.sqlite")
    (run / "run.sqlite-wal").write_bytes(torn[: len(torn) // 2])
    (path.parent / "asked.log").unlink()
    code, told = run_to_end(path, "--resume")
    assert code == 0, told
    assert len(list(read_outcomes(run))) == 6
    assert len((path.parent / "asked.log").read_text().splitlines()) == 3


def test_resuming_a_finished_run_says_so(suite):
    path = suite(2)
    assert run_to_end(path)[0] == 0
    code, told = run_to_end(path, "--resume")
    assert code == 0
    assert "this run is finished" in told


def test_two_processes_cannot_write_one_run(suite):
    path = suite(5000)
    first = start(path)
    wait_for_growth(first, path.parent / "asked.log", 0)
    run = latest_run(path.parent / "results", "slow")
    code, told = run_to_end(path, "--resume")
    first.kill()
    first.communicate()
    assert code == 3
    assert "another process is writing this run" in told
    assert run is not None


def test_a_changed_suite_is_refused_until_it_is_accepted(suite, write):
    path = suite(4)
    assert run_to_end(path, "--limit", "4")[0] == 0
    write(
        "cases.jsonl",
        [{"id": f"c{n}", "question": f"question {n}", "expected": "other"} for n in range(1, 6)],
    )
    code, told = run_to_end(path, "--resume")
    assert code == 2
    assert "the cases changed" in told
    code, told = run_to_end(path, "--resume", "--accept-changes", "--limit", "5")
    assert code == 0, told
    run = latest_run(path.parent / "results", "slow")
    assert sorted(outcome.case.id for outcome in read_outcomes(run)) == [
        "c1",
        "c2",
        "c3",
        "c4",
        "c5",
    ]
    assert "cases" in json.loads((run / "run.json").read_text())["changes"][0]["changed"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
@pytest.mark.slow
def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_room(suite, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1200k", "tmpfs", str(small)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("this machine does not allow mounting a tmpfs")
    try:
        path = suite(300)
        code, told = run_to_end(path, "--out", str(small))
        assert code == 3
        assert "disk is full" in told or "No space left" in told
        assert "Traceback" not in told
        run = latest_run(small, "slow")
        kept = set(stored_answers(run))
        assert kept
        subprocess.run(["mount", "-o", "remount,size=16m", str(small)], check=True)
        (path.parent / "asked.log").unlink()
        code, told = run_to_end(path, "--out", str(small), "--resume")
        assert code == 0, told
        assert sorted(o.case.id for o in read_outcomes(run)) == sorted(f"c{n}" for n in range(300))
        again = set((path.parent / "asked.log").read_text().splitlines())
        assert not again & {f"question {key[1:]}" for key in kept}
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=False)


def test_a_folder_that_cannot_be_written_is_told(suite, write):
    path = suite(2)
    write("results", "a file where the folder should be")
    code, told = run_to_end(path)
    assert code == 3
    assert "cannot be created" in told
    assert "Traceback" not in told


@pytest.mark.slow
def test_a_copy_of_the_files_in_the_middle_of_a_write_continues(suite):
    """As after a power cut: the files as they were at one moment, with all that was confirmed."""
    path = suite(300)
    results = path.parent / "results"
    process = start(path)
    wait_for_growth(process, path.parent / "asked.log", 40)
    process.send_signal(signal.SIGSTOP)
    run = latest_run(results, "slow")
    confirmed = (path.parent / "asked.log").read_text().splitlines()
    copy = path.parent / "copy" / run.name
    shutil.copytree(run, copy)
    process.send_signal(signal.SIGKILL)
    process.send_signal(signal.SIGCONT)
    process.communicate()
    shutil.rmtree(run)
    shutil.copytree(copy, run)
    stored = set(stored_answers(run))
    # At most the questions in flight are missing: one for each worker.
    assert len(confirmed) - len(stored) <= 8
    code, told = run_to_end(path, "--resume")
    assert code == 0, told
    assert sorted(o.case.id for o in read_outcomes(run)) == sorted(f"c{n}" for n in range(300))
    again = (path.parent / "asked.log").read_text().splitlines()[len(confirmed) :]
    assert not {f"question {key[1:]}" for key in stored} & set(again)
