"""A run on Ray: the same figures as without, whatever is killed on the way. One small Ray serves all of these tests."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.engine_world import figures, rows, write_parquet
from tests.support.fake_endpoint import FakeEndpoint, Request, Said, grades
from tests.support.results import latest_run
from tests.support.stored_run import stored_answers

from answerkey.errors import MissingPackage, SettingsError
from answerkey.runs.control import Cluster, Options, Selection, Watch
from answerkey.runs.execute import execute_suite
from answerkey.runs.manifest import write_manifest
from answerkey.runs.shards import SHARDS
from answerkey.runs.store import read_manifest, read_outcomes
from answerkey.runs.suite import load_suite

ray = pytest.importorskip("ray", reason="the extra [ray] is not installed")

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.xdist_group("ray")]

SUITE = """
name = "log"
cases = ["{cases}"]
profile = "route-aware"
metrics = ["exact_match", "keyword_recall", "token_f1"]
embedding = "none"
"""
BATCH = 256


def on_ray(workers, **options):
    return Options(cluster=Cluster(workers=workers), **options)


def _start_ray() -> None:
    """Start a small Ray. It gives its node 30 seconds, fixed in its code: a loaded machine may need a second try."""
    try:
        _init_ray()
    except Exception as error:  # Ray raises a plain Exception
        if "timed out" not in str(error):
            raise
        # Ray leaves the processes of its failed node behind.
        with warnings.catch_warnings(action="ignore"):
            ray.shutdown()
            gc.collect()
        _init_ray()


def _init_ray() -> None:
    ray.init(
        num_cpus=2, object_store_memory=100 << 20, include_dashboard=False, log_to_driver=False,
        logging_level="ERROR", _node_ip_address="127.0.0.1",
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _ray(tmp_path_factory):
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    before = os.environ.get("ANSWERKEY_CACHE")
    os.environ["ANSWERKEY_CACHE"] = str(tmp_path_factory.mktemp("ray-cache"))
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    _start_ray()
    yield
    ray.shutdown()
    os.environ.pop("ANSWERKEY_CACHE")
    if before is not None:
        os.environ["ANSWERKEY_CACHE"] = before


@pytest.fixture
def log(write, tmp_path):
    """A suite over 1,000 interactions, as JSON lines or as Parquet."""

    def make(kind="jsonl", count=1000, suite=SUITE):
        made = rows(count)
        path = (
            write("log.jsonl", made)
            if kind == "jsonl"
            else write_parquet(tmp_path / "log.parquet", made)
        )
        return write("suite.toml", suite.format(cases=path.name))

    return make


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_the_same_figures_as_a_local_run_to_the_last_digit(cli, log, tmp_path, kind):
    path = log(kind)
    local = cli("run", path, "--no-charts", "--quiet", "--out", tmp_path / "local")
    assert local.code == 0, local.err
    finished = execute_suite(load_suite(path), on_ray(2))
    told = cli("report", finished.folder)
    assert told.code == 0, told.err
    here = latest_run(tmp_path / "local", "log")
    assert figures(finished.folder) == figures(here)
    assert list(read_outcomes(finished.folder)) == list(read_outcomes(here))


def test_everything_else_reads_such_a_run(cli, log, tmp_path):
    path = log()
    ended = cli("run", path, "--engine", "ray", "--workers", 2, "--gate", "errors == 0", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["totals"]["cases"] == 1000
    run = latest_run(tmp_path / "results", "log")
    assert (run / "report.html").is_file()
    assert len((run / "results.jsonl").read_text().splitlines()) == 1000
    failed = ended.json["totals"]["failed"]
    assert (run / "failures.txt").read_text().startswith(f"{failed} failed, worst first\n")
    assert ended.json == cli("summary", run, "--json").json | {
        "ending": ended.last_line,
        "exit_code": 0,
    }
    again = cli("rescore", run, "--profile", "uniform", "--quiet", "--out", tmp_path / "again")
    assert again.code == 0, again.err
    compared = cli("compare", run, latest_run(tmp_path / "again", "log"), "--json")
    assert compared.code in (0, 1), compared.err
    assert compared.json["identical_answers"]
    same = cli("run", path, "--engine", "ray", "--resume")
    assert same.code == 0
    assert "nothing to resume" in same.err
    local = cli("run", path, "--resume")
    assert local.code == 0
    assert "nothing to resume" in local.err


DEADLY = """
import os, signal
from answerkey import metric
HERE = os.path.dirname(os.path.abspath(__file__))

@metric("deadly", needs=("answer",))
def deadly(case, response):
    '''1, and now and then the end of the process.'''
    number = int(case.id[1:])
    with open(os.path.join(HERE, f"seen-{os.getpid()}"), "a") as seen:
        seen.write(f"{number}\\n")
    flag = os.path.join(HERE, f"killed-{number}")
    if number in (300, 700) and not os.path.exists(flag):
        open(flag, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return 1.0
"""


def test_a_killed_worker_repeats_at_most_its_chunk(log, write, tmp_path):
    write("deadly.py", DEADLY)
    head = 'modules = ["deadly"]\n' + SUITE.replace('"token_f1"', '"deadly"')
    suite = load_suite(log(suite=head))
    notes, watch = [], Watch()
    watch.note = notes.append
    finished = execute_suite(suite, on_ray(2), watch)
    assert finished.partial == ""
    assert len(notes) == 2, notes
    seen = [int(n) for path in tmp_path.glob("seen-*") for n in path.read_text().split()]
    assert set(seen) == set(range(1000))
    assert len(seen) - 1000 <= 2 * BATCH
    assert [outcome.case.id for outcome in read_outcomes(finished.folder)] == [
        f"i{n}" for n in range(1000)
    ]


# Workers of a Ray that is running keep their modules: another name is another module.
def test_a_chunk_that_always_kills_ends_the_run_which_can_go_on(log, write, tmp_path):
    # A name of its own: a metric of another test may be registered in the same process.
    always = DEADLY.replace('open(flag, "w").close()', "pass").replace(
        '"deadly"', '"always_deadly"'
    )
    write("always_deadly.py", always)
    head = 'modules = ["always_deadly"]\n' + SUITE.replace('"token_f1"', '"always_deadly"')
    suite = load_suite(log(suite=head))
    finished = execute_suite(suite, on_ray(2))
    assert "3 processes ended unexpectedly in the shard" in finished.partial
    for number in (300, 700):
        (tmp_path / f"killed-{number}").touch()
    ended = execute_suite(suite, on_ray(2, resume=finished.folder))
    assert ended.partial == ""
    assert len(list(read_outcomes(ended.folder))) == 1000


def test_a_run_killed_after_its_last_part_is_finished_by_resume(cli, log):
    path = log(count=300)
    finished = execute_suite(load_suite(path), on_ray(1))
    kept = read_manifest(finished.folder)
    write_manifest(finished.folder, replace(kept, records=None, partial="in progress"))
    ended = cli("run", path, "--engine", "ray", "--resume", "--no-charts")
    assert (ended.code, ended.err.strip().splitlines()[-1].split(":")[0]) == (0, "DONE"), ended.err
    now = read_manifest(finished.folder)
    assert (now.partial, now.records) == ("", kept.records), (
        "else it would be resumed again and again"
    )
    assert json.loads((finished.folder / "summary.json").read_text())["totals"]["cases"] == 300


def test_a_changed_suite_is_refused(log, write):
    path = log(count=300)
    finished = execute_suite(load_suite(path), on_ray(1, selection=Selection(limit=200)))
    assert read_manifest(finished.folder).count == 200
    with pytest.raises(SettingsError, match="metrics changed since this run began"):
        execute_suite(
            load_suite(path, {"metrics": ["chrf"]}),
            on_ray(1, selection=Selection(limit=200), resume=finished.folder),
        )
    made = (path.parent / "log.jsonl").read_text().splitlines()
    (path.parent / "log.jsonl").write_text("\n".join([*made[:200][::-1], *made[200:]]))
    with pytest.raises(SettingsError, match="order of the cases changed"):
        execute_suite(
            load_suite(path), on_ray(1, selection=Selection(limit=200), resume=finished.folder)
        )


def test_one_limiter_for_the_whole_cluster(write):
    now, most, lock = 0, 0, threading.Lock()

    def answer(request: Request) -> Said:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.05)
        with lock:
            now -= 1
        return grades()

    write("log.jsonl", rows(24))
    with FakeEndpoint(answer) as endpoint:
        suite = f'cases = ["log.jsonl"]\nprofile = "rubric"\n[judge]\nbase_url = "{endpoint.base_url}"\nmodel = "m"\nconcurrency = 2\n'
        path = write("suite.toml", suite)
        finished = execute_suite(load_suite(path), on_ray(2))
        assert finished.partial == ""
        assert len(endpoint.requests) == 24
    assert most == 2
    assert all(
        outcome.scores["rubric.accuracy"].value is not None
        for outcome in read_outcomes(finished.folder)
    )


def test_a_judge_that_refuses_for_good_stops_the_run(write):
    write("log.jsonl", rows(6))
    with FakeEndpoint(lambda request: Said(401, '{"error": {"message": "bad key"}}')) as endpoint:
        suite = f'cases = ["log.jsonl"]\nprofile = "rubric"\n[judge]\nbase_url = "{endpoint.base_url}"\nmodel = "m"\n'
        finished = execute_suite(load_suite(write("suite.toml", suite)), on_ray(1))
    assert "401" in finished.partial
    assert list(read_outcomes(finished.folder)) == []


def test_embeddings_and_a_live_bot(cli, write, tmp_path):
    write(
        "raybot.py",
        'def answer(question):\n    return {"answer": "It is " + question, "contexts": ["a passage", question]}\n',
    )
    write(
        "log.jsonl",
        [{"id": f"i{n}", "question": f"What is {n}?", "expected": f"It is {n}"} for n in range(40)],
    )
    path = write(
        "suite.toml",
        'name = "live"\ncases = ["log.jsonl"]\nprofile = "rag"\n[target]\ncall = "raybot:answer"\n',
    )
    ended = cli("run", path, "--engine", "ray", "--workers", 2, "--quiet", "--no-charts", "--json")
    assert ended.code in (0, 1), ended.err
    local = cli("run", path, "--quiet", "--no-charts", "--json", "--out", tmp_path / "local")
    ours, theirs = ended.json["average_scores"], local.json["average_scores"]
    assert {name: about["mean"] for name, about in ours.items()} == pytest.approx(
        {name: about["mean"] for name, about in theirs.items()}, abs=1e-6
    )
    assert ours["answer_agreement"]["n"] == 40


def test_what_is_only_for_one_machine_is_refused(cli, log):
    path = log(count=5)
    for option in (["--stop-on-fail"], ["--test"], ["--set", "run.stop_below=0.5"]):
        shown = cli("run", path, "--engine", "ray", *option)
        assert shown.code == 2
        assert "--engine local" in shown.err


def test_without_the_package_it_says_what_to_install(log, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackage, match=r"pip install 'answerkey\[ray\]'"):
        execute_suite(load_suite(log(count=5)), on_ray(1))


SLOW = '''
import os, time
from answerkey import metric
HERE = os.path.dirname(os.path.abspath(__file__))
@metric("slow", needs=("answer",))
def slow(case, response):
    """Takes its time."""
    with open(os.path.join(HERE, f"seen-{os.getpid()}"), "a") as seen:
        seen.write(f"{case.id[1:]}\\n")
    time.sleep(0.001)
    return 1.0
'''


def test_the_driver_is_killed_then_interrupted_and_resume_goes_on(write, tmp_path):
    """Ray of its own, as a user has it: each command takes over what those before have stored."""
    write("slow_metric.py", SLOW)
    write("log.jsonl", rows(10_000))
    path = write(
        "suite.toml",
        'name = "log"\nmodules = ["slow_metric"]\ncases = ["log.jsonl"]\nmetrics = ["slow"]\n',
    )
    options = ["--engine", "ray", "--workers", "1", "--quiet", "--no-charts", "--json"]
    command = [sys.executable, "-m", "answerkey", "run", str(path), *options]

    def stop_at(number, count, *more):
        """Send a signal when so many cases are stored; returns how many are stored then."""
        process = subprocess.Popen(
            [*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        run = wait_for_answers(process, tmp_path / "results", count)
        process.send_signal(number)
        errors = process.communicate()[1]
        return run, process.returncode, errors

    run, _, _ = stop_at(signal.SIGKILL, 2_000)
    before = stored_count(run)
    assert before >= 2_000
    _, code, errors = stop_at(signal.SIGINT, before + 1_000, "--resume")
    assert code == 130, errors
    assert "to continue: answerkey run" in errors
    assert errors.strip().splitlines()[-1].startswith("INTERRUPTED: ")
    assert not (run / SHARDS).exists()
    between = stored_count(run)
    assert before + 1_000 <= between < 10_000
    ended = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=400)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["totals"]["cases"] == 10_000, (
        "standard output is one JSON value"
    )
    seen = [int(n) for file in tmp_path.glob("seen-*") for n in file.read_text().split()]
    assert set(seen) == set(range(10_000))
    assert len(seen) <= 10_000 + 2 * BATCH, "a stored case was scored again"


def stored_count(run: Path) -> int:
    """The stored answers of a run with its shards; while shards are merged, an answer is in both."""
    folders = [run, *(run / SHARDS).glob("*")]
    return len({case_id for folder in folders for case_id in stored_answers(folder)})


def wait_for_answers(process: subprocess.Popen[str], results: Path, count: int) -> Path:
    for _ in range(4000):
        run = latest_run(results, "log")
        if run is not None and stored_count(run) >= count:
            return run
        if process.poll() is not None:
            pytest.fail(process.communicate()[1])
        time.sleep(0.05)
    pytest.fail("nothing was stored")
