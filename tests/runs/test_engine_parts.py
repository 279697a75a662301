"""Parts: what is stored comes back whole, and sketches of any parts merge to the figures of the whole."""

import duckdb
import pytest
from tests.support.engine_world import rows
from tests.support.results import latest_run

from answerkey.errors import StorageError
from answerkey.runs.control import Selection
from answerkey.runs.engines.parts import list_parts, outcomes_in, part_path, write_part
from answerkey.runs.engines.shards import Shard, parts_of
from answerkey.runs.engines.worker import Task, Worker
from answerkey.runs.format1 import PARTS
from answerkey.runs.store import open_reader
from answerkey.runs.suite import load_suite
from answerkey.types import Case, Outcome, Passage, Response, Score, Turn, Verdict

HARD = [
    Outcome(
        Case("ü", "half \ud800 a pair?", ("one", "two"), history=(Turn("hi", "ho"),), relevant={"3": 1.0}, tags=("x",), extra={"k": [1]}),
        Response("=cmd()\x1b[31m", (Passage("p", "3", 0.5, "3"),), "documents", ("s",), ("3", "4"), 0.25, extra={"m": {"deep": None}}),
        {"recall@5": Score(0.1 + 0.2, "why", details={"votes": [1.0, None]}), "judge.safety": Score.failed("no", raw="{")},
        Verdict("FAILED", 0.3, 0.4, 0.7, "failed", "low", ("recall@5",)),
    ),
    Outcome(Case("b", "q?"), Response(error="timeout"), {}, Verdict("ERROR", justification="No response: timeout")),
    Outcome(Case("c", "q?", ("e",), "kpi"), Response("a"), {"recall@5": Score(1.0), "judge.safety": Score()}, Verdict("PASSED", 0.9, 0.9, passed=True)),
]  # fmt: skip
NAMES = ("recall@5", "judge.safety")


@pytest.fixture
def stored(tmp_path):
    (tmp_path / PARTS).mkdir()
    for chunk, outcome in enumerate(HARD):
        write_part(part_path(tmp_path, 0, chunk), (0, chunk), NAMES, [(chunk * 10, outcome)])
    return tmp_path


def test_outcomes_come_back_whole(stored):
    assert outcomes_of(stored) == HARD


def outcomes_of(folder):
    return [outcome for path in list_parts(folder) for _, outcome in outcomes_in(path)]


def test_other_programs_read_the_columns_of_results_jsonl(stored):
    query = 'SELECT id, expected_answer, scores."recall@5".value, verdict.status, response_time FROM read_parquet(?) ORDER BY n'
    found = duckdb.execute(query, [str(stored / PARTS / "*.parquet")]).fetchall()
    assert found[0] == ("ü", '["one", "two"]', 0.1 + 0.2, "FAILED", 0.25)
    assert found[1] == ("b", None, None, "ERROR", None)
    assert found[2] == ("c", "e", 1.0, "PASSED", None)


def test_a_damaged_part_says_what_to_do(stored):
    part_path(stored, 0, 1).write_bytes(b"PAR1 torn")
    with pytest.raises(StorageError, match=r"chunk-00001.*remove it, then continue with --resume"):
        parts_of(stored)


BOT = """
import os
def answer(question):
    with open(os.path.join(os.path.dirname(__file__), "asked.log"), "a") as log:
        log.write(question + "\\n")
    if question == "bad?" and not os.path.exists(os.path.join(os.path.dirname(__file__), "mended")):
        raise ValueError("no idea")
    return "the answer"
"""


def test_a_worker_writes_chunks_passes_over_those_done_and_tries_errors_again(write):
    write("engine_bot.py", BOT)
    write(
        "cases.jsonl",
        [
            {"id": str(n), "question": "bad?" if n == 4 else f"q{n}?", "expected": "the answer"}
            for n in range(6)
        ],
    )
    suite = load_suite(
        write(
            "suite.toml",
            'cases = ["cases.jsonl"]\nmetrics = ["exact_match"]\n[target]\ncall = "engine_bot:answer"\n',
        )
    )
    folder = suite.folder / "run"
    (folder / PARTS).mkdir(parents=True)
    (folder / "run.json").write_text('{"name": "run"}')
    shard = Shard(
        0, suite.folder / "cases.jsonl", "cases.jsonl", "lines", stop=10_000, count=6, end=6
    )
    log = suite.folder / "asked.log"

    def work(done=(), again=()):
        log.unlink(missing_ok=True)
        worker = Worker(Task(suite, Selection(), folder, chunk=3, asking=2))
        reports = list(worker.score(shard, frozenset(done), frozenset(again)))
        worker.close()
        return reports, sorted(log.read_text().split()) if log.exists() else []

    reports, asked = work()
    assert [report.new for report in reports] == [3, 3]
    assert len(asked) == 6
    assert [part.errors for part in parts_of(folder)] == [0, 1]
    assert work(done=[0, 1]) == ([], [])
    (suite.folder / "mended").touch()
    assert work(done=[0, 1], again=[1])[1] == ["bad?"], "only what ended in an error is asked again"
    assert [outcome.case.id for outcome in outcomes_of(folder)] == list("012345")
    assert all(outcome.scores["exact_match"].value == 1 for outcome in outcomes_of(folder))
    part_path(folder, 0, 0).unlink()
    assert work(done=[1])[1] == ["q0?", "q1?", "q2?"]


@pytest.mark.parametrize("engine", ["parts", "database"])
def test_summary_by_a_column_is_counted_where_the_rows_lie(cli, write, tmp_path, engine):
    write("log.jsonl", rows(60))
    suite = write(
        "suite.toml",
        'name = "log"\ncases = ["log.jsonl"]\nprofile = "route-aware"\nembedding = "none"\n',
    )
    assert cli("run", suite, "--quiet", "--no-charts").code == 0
    run = latest_run(tmp_path / "results", "log")
    summary = cli("summary", run, "--json").json
    if engine == "parts":
        (run / "results.jsonl").unlink()
        numbered = list(open_reader(run).numbered())
        (run / PARTS).mkdir()
        write_part(part_path(run, 0, 0), (0, 0), tuple(numbered[0][1].scores), numbered)
        (run / "run.sqlite").unlink()
    table = cli("summary", run, "--by", "route", "--json").json
    assert {row["name"]: (row["cases"], row["passed"]) for row in table} == {
        name: (part["count"], part["passed"]) for name, part in summary["by_route"].items()
    }
    for row in table:
        assert row["mean_score"] == pytest.approx(summary["by_route"][row["name"]]["score"]["mean"])
    told = cli("summary", run, "--by", "route").out.splitlines()
    assert "documents" in "".join(told)
    assert len({len(line) for line in told}) == 1, "the columns stand under one another"
    wrong = cli("summary", run, "--by", "rout")
    assert wrong.code == 2
    assert 'did you mean "route"' in wrong.err
