"""A run in shards: the same bytes with any number of processes, whatever fails or is stopped."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace

import pytest
from tests.support.inline_pool import InlinePool
from tests.support.results import latest_run
from tests.support.stored_run import query, stored_scores

import answerkey
from answerkey.files import json_line
from answerkey.runs.control import Options, Stop, Watch
from answerkey.runs.execute import execute_suite
from answerkey.runs.manifest import write_manifest
from answerkey.runs.records import to_json
from answerkey.runs.resume import AlreadyFinished
from answerkey.runs.run_writer import Scored
from answerkey.runs.shard_worker import ShardTask
from answerkey.runs.shards import CASES, SHARDS, cut, shard_size, take_over_shards
from answerkey.runs.store import FolderStore, read_manifest, read_outcomes
from answerkey.runs.suite import load_suite
from answerkey.types import Case, Score

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


@pytest.mark.parametrize("jobs", [2, pytest.param(8, marks=pytest.mark.slow)])
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
    whole = execute_suite(path.writing_to(tmp_path / "whole"), Options())
    stop = Stop()
    watch = Watch()
    watch.group = lambda group: stop.set("enough")
    part = execute_suite(path.writing_to(tmp_path / "part"), Options(), watch, stop)
    assert part.partial == "enough"
    assert 0 < part.asked < COUNT
    execute_suite(path.writing_to(tmp_path / "part"), Options(resume=part.folder))
    assert stored_scores(part.folder) == stored_scores(whole.folder)


def test_a_shard_that_always_kills_its_process_leaves_a_run_to_resume(cli, suite, tmp_path):
    (tmp_path / "kill").touch()
    shown = cli("run", suite, "--jobs", 2, "--quiet")
    assert shown.code == 3
    assert "3 processes ended unexpectedly in the shard that begins with" in shown.last_line
    (tmp_path / "kill").unlink()
    shown = cli("run", suite, "--jobs", 2, "--resume", "--quiet")
    assert "1 of 1800 cases ended in an error" in shown.last_line
    run = latest_run(tmp_path / "results", "many")
    assert len((run / "results.jsonl").read_bytes().splitlines()) == COUNT
    assert not (run / SHARDS).exists()


SEEN = """
import os, signal, time
from pathlib import Path
from answerkey import metric

@metric("seen", needs=("answer",))
def seen(case, response):
    here = Path(__file__).parent
    with open(here / f"seen-{os.getpid()}", "a") as file:
        file.write(case.id + "\\n")
    if case.id == "c300" and (here / "kill-once").exists():
        (here / "kill-once").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.002)
    return 1
"""


@pytest.fixture
def command(suite, write, tmp_path):
    """A run of two processes with a metric that notes the cases it sees."""
    write("seeing.py", SEEN)
    text = suite.read_text().replace("own_metrics", "seeing")
    suite.write_text(text.replace('"letters", "fatal"', '"seen"'))
    program = [sys.executable, "-m", "answerkey", "run", str(suite)]
    return [*program, "--jobs", "2", "--no-charts"]


def check_all_seen_once(folder):
    run = latest_run(folder / "results", "many")
    assert [outcome.case.id for outcome in read_outcomes(run)] == [f"c{n}" for n in range(COUNT)]
    seen = [line for path in folder.glob("seen-*") for line in path.read_text().split()]
    assert len(set(seen)) == COUNT
    # Two shards were at work, and each lost at most the batch that was not stored.
    assert len(seen) <= COUNT + 2 * 256
    assert not (run / SHARDS).exists()


def test_the_shard_of_a_lost_process_is_continued(command, tmp_path):
    (tmp_path / "kill-once").touch()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "another one continues its shard" in done.stderr
    check_all_seen_once(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_or_interrupted_continues_from_its_shards(command, tmp_path, number):
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    while len(list(tmp_path.glob("seen-*"))) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.7)
    process.send_signal(number)
    errors = process.communicate(timeout=60)[1]
    run = latest_run(tmp_path / "results", "many")
    if number == signal.SIGKILL:
        assert (run / SHARDS).is_dir()
    else:
        assert process.returncode == 130, errors
        assert not (run / SHARDS).exists()
    subprocess.run([*command, "--resume"], cwd=tmp_path, capture_output=True, check=True)
    check_all_seen_once(tmp_path)


def test_a_script_without_a_guard_is_not_run_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import answerkey\n"
        "open('begun.txt', 'a').write('x')\n"
        "rows = [{'question': f'{n}?', 'answer': str(n), 'expected': '1'} for n in range(1200)]\n"
        "run = answerkey.evaluate(rows, ['exact_match'], jobs=2, progress=False)\n"
        "print(len(run), run.summary.mean['exact_match'] * 1200)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1200", "1.0"]
    assert (tmp_path / "begun.txt").read_text() == "x"


def test_rows_from_python_keep_their_values():
    rows = [
        {"question": f"{n}?", "answer": str(n), "expected": "1", "when": (n, {"deep": None})}
        for n in range(600)
    ]
    one, two = (
        answerkey.evaluate(rows, ["exact_match"], jobs=jobs, progress=False) for jobs in (1, 2)
    )
    assert two.outcomes == one.outcomes


BOT = """
import os
HERE = os.path.dirname(os.path.abspath(__file__))
def answer(question):
    with open(os.path.join(HERE, "asked.log"), "a") as log:
        log.write(question + "\\n")
    if question == "bad?" and not os.path.exists(os.path.join(HERE, "repaired")):
        raise ValueError("no idea")
    return "the answer"
"""


@pytest.fixture
def live(write, monkeypatch):
    """Runs a suite with a live bot in shards, in this process; returns the run and its pool."""
    write("shard_bot.py", BOT)
    rows = [
        {"id": str(n), "question": "bad?" if n == 4 else f"q{n}?", "expected": "the answer"}
        for n in range(20)
    ]
    write("cases.jsonl", rows)
    settings = 'metrics = ["exact_match"]\n[target]\ncall = "shard_bot:answer"\n'
    suite = load_suite(write("live.toml", f'name = "live"\ncases = ["cases.jsonl"]\n{settings}'))

    def run(losses=(), **options):
        pool = InlinePool(ShardTask(suite, live=True), losses)
        pools = iter([pool])  # the shards themselves are not divided
        monkeypatch.setattr("answerkey.runs.execute.open_pool", lambda *_: next(pools, None))
        return execute_suite(suite, Options(**options)), pool

    return run


def test_a_live_run_in_shards_asks_only_errors_again(live, tmp_path):
    finished, pool = live()
    assert finished.partial == "1 case ended in an error"
    assert len(pool.started) == 7  # of three questions each, the last of two
    log = tmp_path / "asked.log"
    assert len(log.read_text().split()) == 20
    log.unlink()
    (tmp_path / "repaired").touch()
    finished, _ = live(resume=finished.folder)
    assert finished.partial == ""
    assert log.read_text().split() == ["bad?"]
    outcomes = list(read_outcomes(finished.folder))
    assert [outcome.case.id for outcome in outcomes] == [str(n) for n in range(20)]
    assert all(outcome.scores["exact_match"].value == 1 for outcome in outcomes)


def test_a_shard_whose_process_was_lost_after_its_end_is_not_asked_again(live, tmp_path):
    (tmp_path / "repaired").touch()
    finished, pool = live(losses=(0, 2))
    assert finished.partial == ""
    assert len(pool.started) == 9
    assert len((tmp_path / "asked.log").read_text().split()) == 20
    assert len(list(read_outcomes(finished.folder))) == 20


def test_a_damaged_shard_of_a_killed_run_loses_only_itself(live, tmp_path):
    (tmp_path / "repaired").touch()
    finished, _ = live()
    manifest = read_manifest(finished.folder)
    for n, damaged in ((0, False), (1, True)):
        shard = finished.folder / SHARDS / f"{n:06d}"
        shard.mkdir(parents=True)
        write_manifest(shard, replace(manifest, count=3).as_begun())
        shutil.copy(finished.folder / "run.sqlite", shard)
        (shard / CASES).touch()
        if damaged:
            (shard / "run.sqlite").write_bytes(b"SQLite format 3\0" + b"torn" * 5000)
    (finished.folder / "run.sqlite").unlink()
    write_manifest(finished.folder, manifest.as_begun())
    with pytest.raises(AlreadyFinished):
        live(resume=finished.folder)
    assert len(list(read_outcomes(finished.folder))) == 20
    assert not (finished.folder / SHARDS).exists()


def test_a_damaged_shard_keeps_what_can_be_read(live, tmp_path):
    (tmp_path / "repaired").touch()
    finished, _ = live()
    manifest = read_manifest(finished.folder)
    first = next(read_outcomes(finished.folder))
    shard = finished.folder / SHARDS / "000000"
    shard.mkdir(parents=True)
    write_manifest(shard, replace(manifest, count=3).as_begun())
    late = [
        Scored(place, replace(first, case=Case(f"c{place}", "?"))) for place in range(1000, 1003)
    ]
    lines = [json_line({"place": each.n, "case": to_json(each.outcome.case)}) for each in late]
    (shard / CASES).write_bytes(b"\n".join(lines))
    with closing(FolderStore(shard, manifest)) as store:
        store.add_scores(late, with_answers=True)
    query(shard, "DELETE FROM answers WHERE place = 1001")
    take_over_shards(finished.folder, manifest)
    ids = [outcome.case.id for outcome in read_outcomes(finished.folder)]
    assert ids[20:] == ["c1000", "c1002"]


def places(*numbers):
    return [(n, Case(str(n), "?")) for n in numbers]


def test_repeats_and_live_conversations_are_not_cut():
    assert [len(part) for part in cut(places(*range(7)), 3, 1, live=True)] == [3, 3, 1]
    assert [len(part) for part in cut(places(*range(10)), 3, 5, live=False)] == [5, 5]
    turns = [(n, Case(str(n), "?", extra={"conversation": n // 4})) for n in range(8)]
    assert [len(part) for part in cut(turns, 3, 1, live=True)] == [4, 4]
    assert [len(part) for part in cut(turns, 3, 1, live=False)] == [3, 3, 2]


@pytest.mark.parametrize(
    ("answers", "processes", "size"), [(1_800, 2, 256), (10_000, 2, 1_280), (10**6, 2, 4_096)]
)
def test_shards_of_recorded_answers_are_whole_batches(answers, processes, size):
    assert shard_size(answers, processes, 256, live=False) == size


def test_shards_of_live_questions_are_small():
    assert shard_size(40, 2, 256, live=True) == 5
    assert shard_size(10**6, 2, 256, live=True) == 64
    assert shard_size(1, 2, 256, live=True) == 1


def test_a_mistake_in_a_module_is_one_line(cli, suite, write):
    write("own_metrics.py", METRICS + "\nimport no_such_package")
    assert "no_such_package" in cli("run", suite, "--jobs", 2).last_line
    assert cli("run", suite, "--jobs", 0).code == 2
