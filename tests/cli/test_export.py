"""`answerkey export`: a run as a file for other programs; and the queries of docs/reference/run-file.md."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.stored_run import query, to_format1
from tests.support.viewer_world import hostile, make_run, plain

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "run-file.md"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return make_run(tmp_path / "runs" / "bot_1", map(plain, range(12)), "bot", reports=False)


def test_json_lines_and_csv_are_those_of_the_reports(cli: Any, run: Path) -> None:
    shown = cli("export", run, "--jsonl", "--json")
    assert shown.json == {"file": "bot_1.jsonl", "cases": 12}
    assert Path("bot_1.jsonl").read_bytes() == (run / "results.jsonl").read_bytes()
    assert cli("export", run, "--csv", "--out", "cases.csv").code == 0
    assert Path("cases.csv").read_bytes() == (run / "results.csv").read_bytes()
    assert len(list(csv.reader(Path("cases.csv").read_text().splitlines()))) == 13


def test_parquet_has_the_columns_of_results_jsonl(cli: Any, run: Path) -> None:
    assert cli("export", run, "--parquet").code == 0
    rows = duckdb.execute(
        "SELECT id, scores.keyword_recall.value, verdict.status FROM 'bot_1.parquet' ORDER BY n"
    ).fetchall()
    lines = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    recalls = [line["scores"].get("keyword_recall", {}).get("value") for line in lines]
    assert [row[0] for row in rows] == [line["id"] for line in lines]
    assert [row[1] for row in rows] == recalls
    assert [row[2] for row in rows] == [line["verdict"]["status"] for line in lines]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "sqlite"])
def test_hostile_texts_are_exported(cli: Any, tmp_path: Path, kind: str) -> None:
    run = make_run(tmp_path / "hostile", map(hostile, range(11)), "hostile", reports=None)
    shown = cli("export", run, f"--{kind}", "--out", tmp_path / f"cases.{kind}")
    assert shown.code == 0, shown.err
    assert shown.out.endswith(": 11 cases\n")


def test_a_database_of_a_run_of_format_1(cli: Any, run: Path, tmp_path: Path) -> None:
    before = query(run, "SELECT * FROM cases")
    to_format1(run)
    assert cli("export", run, "--sqlite").code == 0
    with closing(sqlite3.connect(tmp_path / "bot_1.sqlite")) as copy:
        assert copy.execute("SELECT * FROM cases").fetchall() == before


def test_a_file_is_never_overwritten_and_one_format_is_needed(cli: Any, run: Path) -> None:
    Path("bot_1.csv").write_text("mine")
    shown = cli("export", run, "--csv")
    assert shown.code == 2
    assert "exists already" in shown.last_line
    assert Path("bot_1.csv").read_text() == "mine"
    assert cli("export", run).code == 2
    assert cli("export", run, "--csv", "--jsonl").code == 2


def test_the_documented_queries_work(run: Path) -> None:
    blocks = re.findall(r'```sh\n(sqlite3|duckdb) run\.sqlite "(.*)"\n```', PAGE.read_text())
    assert len(blocks) == 3
    for _, statement in blocks:
        assert query(run, statement)
    counts = dict(query(run, blocks[0][1]))
    assert sum(counts.values()) == 12
    assert query(run, "SELECT id, response_json ->> '$.answer' FROM answers")[0][0] == "case-000"


def test_labels_are_in_the_database_after_a_report(cli: Any, run: Path) -> None:
    labels = [{"id": "case-001", "label": 1}, {"id": "case-002", "label": 0}]
    (run / "labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    assert cli("report", run, "--no-charts").code == 0
    assert query(run, "SELECT * FROM labels") == [("case-001", 1.0), ("case-002", 0.0)]
    assert [path.name for path in run.glob("run.sqlite*")] == ["run.sqlite"]


def test_inner_values_of_metrics_are_stored_only_with_debug(
    cli: Any, write: Any, tmp_path: Path
) -> None:
    rows = [
        {"question": "When does it open?", "expected": "At nine.", "answer": "It opens at nine."}
    ]
    write("cases.jsonl", rows)
    suite = write("suite.toml", 'cases = ["cases.jsonl"]\nmetrics = ["answer_agreement"]\n')
    stored = []
    for more in ([], ["--debug"]):
        out = tmp_path / f"out{len(more)}"
        assert cli("run", suite, "--quiet", "--no-charts", "--out", out, *more).code == 0
        (folder,) = out.iterdir()
        stored.append(query(folder, "SELECT scored_json FROM verdicts")[0][0])
    assert "features" not in stored[0]
    assert "features" in stored[1]
