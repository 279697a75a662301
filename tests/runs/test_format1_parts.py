"""Parquet parts, as runs on a cluster were stored before 0.3: they come back whole."""

import json

import duckdb
import pyarrow.parquet as parquet
import pytest
from tests.support.engine_world import rows
from tests.support.results import latest_run

from answerkey.errors import StorageError
from answerkey.runs.format1 import PARTS
from answerkey.runs.outcome_table import outcome_table
from answerkey.runs.store import open_reader
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


def write_part(folder, chunk, names, outcomes):
    path = folder / PARTS / f"shard-00000-chunk-{chunk:05d}.parquet"
    path.parent.mkdir(exist_ok=True)
    parquet.write_table(outcome_table(names, outcomes), path, compression="zstd")
    return path


@pytest.fixture
def stored(tmp_path):
    manifest = {"name": "run", "fingerprint": {}, "settings": {}}
    (tmp_path / "run.json").write_text(json.dumps(manifest))
    for chunk, outcome in enumerate(HARD):
        write_part(tmp_path, chunk, NAMES, [(chunk * 10, outcome)])
    return tmp_path


def test_outcomes_come_back_whole(stored):
    assert list(open_reader(stored).outcomes()) == HARD


def test_other_programs_read_the_columns_of_results_jsonl(stored):
    query = 'SELECT id, expected_answer, scores."recall@5".value, verdict.status, response_time FROM read_parquet(?) ORDER BY n'
    found = duckdb.execute(query, [str(stored / PARTS / "*.parquet")]).fetchall()
    assert found[0] == ("ü", '["one", "two"]', 0.1 + 0.2, "FAILED", 0.25)
    assert found[1] == ("b", None, None, "ERROR", None)
    assert found[2] == ("c", "e", 1.0, "PASSED", None)


def test_a_damaged_part_is_named(stored):
    (stored / PARTS / "shard-00000-chunk-00001.parquet").write_bytes(b"PAR1 torn")
    with pytest.raises(StorageError, match=r"chunk-00001.*damaged"):
        open_reader(stored)


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
        numbered = list(open_reader(run).numbered_outcomes())
        write_part(run, 0, tuple(numbered[0][1].scores), numbered)
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
