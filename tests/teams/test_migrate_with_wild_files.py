"""The five pages under docs/how-to/migrate, followed with files of real projects.

Every command of a page runs on the project's own files, and the numbers that the page promises
appear. The files are not in the repository; tests/cli/test_migrate.py follows the same pages with
small invented files.
"""

from __future__ import annotations

import csv
import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from tests.cli.test_migrate import JUDGE, commands_of

import answerkey as ak
from answerkey.embed import load_embedder
from answerkey.percentages import format_percent

Cli = Callable[..., Any]
Write = Callable[[str, object], Path]

# The names that the pages use for the reader's files, and the files of the projects.
NAMES = {
    "results.json": "kpi_results.json",
    "results.csv": "kpi_results_b.csv",
    "rankings.csv": "health_rankings.csv",
    "summary.csv": "health_summary.csv",
    "alpha.csv": "health_alpha.csv",
    "faq.csv": "faq.csv",
    "domain_knowledge.txt": "domain_knowledge.txt",
}
# A bot that answers as the recorded run did.
REPLAY = """
import json, pathlib
ROWS = {row["query"]: row for row in json.loads(pathlib.Path("results.json").read_text())["results"]}
def answer(question):
    row = ROWS[question]
    return {"answer": row["answer"], "route": row["actual_route"]}
"""
SUITES = {
    "route-aware.md": (
        'cases = ["results.json", "criteria.json"]\nprofile = "route-aware"\nembedding = "none"\n'
        '[target]\ncall = "replay:answer"\n'
    ),
    "judged-qa.md": (
        'cases = ["qa/*.md", "conv_*.yaml"]\nprofile = "rubric"\njudge = "my_judge:judge"\n'
        '[target]\ncall = "bot:answer"\n'
    ),
    "hybrid-retrieval.md": (
        'cases = ["faq_pages.json"]\n[embedding]\nmodel = "none"\n[retrieval]\n'
        'documents = "domain_knowledge.txt"\nids = "document"\n'
    ),
}


@pytest.fixture
def project(
    shared_data: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with the projects' files under the names that the pages use."""
    wild = shared_data / "wild"
    if not wild.is_dir():
        pytest.skip("the files of real projects are not beside this clone")
    monkeypatch.chdir(tmp_path)
    for name, source in NAMES.items():
        shutil.copyfile(wild / source, tmp_path / name)
    (tmp_path / "qa").mkdir()
    for source in wild.glob("*.md"):
        if source.name != "README.md":
            shutil.copyfile(source, tmp_path / "qa" / source.name)
    for source in wild.glob("conv_*.yaml"):
        shutil.copyfile(source, tmp_path / source.name)
    rows = json.loads((tmp_path / "results.json").read_text())["results"]
    criteria = [{"id": row["id"], "answer_criteria": {"must_contain": ["RM"]}} for row in rows]
    write("criteria.json", criteria)
    with (wild / "health_answers.csv").open(newline="") as file:
        answers = list(csv.DictReader(file))[:6]
    write("rows.jsonl", [{**row, "reference": row["ground_truth"]} for row in answers])
    graded = [{"source_file": "a.md", "question_num": 1, "question": "Who?", "expected_answer": "Jo",
               "chatbot_answer": "Jo", "scores": {"accuracy": 4.2, "completeness": 3.8,
               "citation_quality": 4.5, "coherence": 2.9}}]  # fmt: skip
    write("detailed_results.json", {"results": graded})
    question = {"id": "a", "question": "When are refunds reviewed?", "relevant": ["domain_knowledge.txt"]}  # fmt: skip
    write("faq_pages.json", [question])
    write("my_judge.py", JUDGE)
    write("replay.py", REPLAY)
    write("bot.py", "def answer(question): return 'It is a sliding fee scale [1].'\n")
    return tmp_path


def run_command(cli: Cli, command: str) -> Any:
    shown = cli(*shlex.split(command)[1:])
    allowed = (0, 1) if "--stop-on-fail" in command else (0,)
    assert shown.code in allowed, (command, shown.err)
    return shown


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        "deterministic-and-judges.md",
        "embedding-metrics.md",
        "hybrid-retrieval.md",
        "judged-qa.md",
        "route-aware.md",
    ],
)
def test_every_command_of_the_page_runs_on_the_files(
    page: str, project: Path, write: Write, cli: Cli
) -> None:
    if page in SUITES:
        write("suite.toml", SUITES[page])
    for name in "ab":
        run_command(
            cli,
            f"answerkey score results.json --metrics route_score --out made{name} --no-charts -q",
        )
        (project / "runs").mkdir(exist_ok=True)
        next((project / f"made{name}").iterdir()).rename(project / "runs" / name)
    commands = commands_of(page)
    assert commands, "the page shows no command"
    for command in commands:
        # Hybrid search of the page needs the packaged model; BM25 alone has one α.
        run_command(cli, command.replace("--alphas 0,0.3,0.5,0.7,1", "--alphas 0"))


def summary_of(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("*/summary.json")
    return json.loads(path.read_text(encoding="utf-8"))


def test_route_aware_recorded_figures_stand_beside_ours(project: Path, cli: Cli) -> None:
    rows = json.loads((project / "results.json").read_text())["results"]
    shown = run_command(
        cli, "answerkey score results.json --profile route-aware --model none --out o --no-charts"
    )
    averages = summary_of(project / "o")["average_scores"]
    passed = fmean(row["status"] in ("PERFECT", "ACCEPTABLE") for row in rows)
    assert f"recorded in the file: {format_percent(passed)} of {len(rows)} passed" in shown.out
    assert averages["recorded.passed"]["mean"] == pytest.approx(passed)
    quality = fmean(row["quality_score"] for row in rows)
    assert averages["recorded.quality_score"]["mean"] == pytest.approx(quality)
    routes = [float(row["actual_route"] == row["preferred_route"]) or 0.7 * (row["actual_route"] in row["acceptable_routes"]) for row in rows]  # fmt: skip
    assert averages["route_score"]["mean"] == pytest.approx(fmean(routes))
    # No dummies of 1.0 from other routes.
    kpi = sum(row["actual_route"] in ("sales_kpi", "hr_kpi") for row in rows)
    assert averages["executive_format"]["n"] == kpi
    ours = averages["executive_format"]["mean"]
    assert ours == pytest.approx(averages["recorded.executive_format"]["mean"], abs=0.001)


def test_route_aware_routes_need_no_answer(project: Path, cli: Cli) -> None:
    with (project / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    run_command(cli, "answerkey score results.csv --metrics route_score --out o --no-charts -q")
    share = fmean(row["expected_route"] == row["actual_route"] for row in rows)
    assert summary_of(project / "o")["average_scores"]["route_score"]["mean"] == pytest.approx(
        share
    )


def test_embedding_metrics_are_the_cosines_of_the_script(project: Path) -> None:
    embed = load_embedder()
    for line in (project / "rows.jsonl").read_text().splitlines()[:3]:
        row = json.loads(line)
        contexts = ak.load_cases(project / "rows.jsonl")[0].recorded
        assert contexts is not None
        values = ak.evaluate_all(
            row["question"], row["answer"], row["reference"], contexts.contexts
        )
        answer, reference = embed.embed([row["answer"], row["reference"]])
        expected = max(0.0, float(answer @ reference))
        assert values["answer_correctness"] == pytest.approx(expected, abs=0.001)


def test_deterministic_figures_of_the_faq_bot(project: Path, write: Write, cli: Cli) -> None:
    suite = (
        'cases = ["faq.csv"]\nmetrics = ["exact_match", "keyword_recall", "politeness", '
        '"answer_length", "latency_ms"]\n[target]\nkind = "faq"\nfaq = "faq.csv"\n'
    )
    write("faq.toml", suite)
    run_command(cli, "answerkey run faq.toml --out o --no-charts -q")
    averages = summary_of(project / "o")["average_scores"]
    assert averages["exact_match"]["mean"] == 1.0
    assert averages["keyword_recall"]["mean"] == 1.0
    assert averages["latency_ms"]["n"] == 4


def test_judged_composite_and_files(project: Path, write: Write, cli: Cli) -> None:
    write("suite.toml", SUITES["judged-qa.md"])
    run_command(cli, "answerkey run suite.toml --out o --no-charts -q")
    (folder,) = (project / "o").iterdir()
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    scores = {round(row["verdict"]["score"], 1) for row in rows if row["verdict"]["score"]}
    assert scores == {83.5}
    assert {row["id"] for row in rows} >= {"childcare_qa_a#Q1", "childcare_qa_b#Q1"}
    report = (folder / "report.txt").read_text()
    assert "4.20/5" in report
    assert "≥85" in report
    assert "Response time of" in report
    assert report.splitlines()[-1].startswith("written 20")


def test_hybrid_figures_are_those_of_the_script(project: Path, cli: Cli) -> None:
    names = {"precision_at_k": "precision@5", "recall_at_k": "recall@5", "f1_score": "f1@5", "mrr": "mrr", "hit_rate_at_k": "hit_rate@5", "ndcg_at_k": "ndcg@5"}  # fmt: skip
    with (project / "rankings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    shown = run_command(cli, "answerkey rank --run rankings.csv --unit chunk --json")
    for configuration in {row["config_name"] for row in rows}:
        own = [row for row in rows if row["config_name"] == configuration]
        mean = shown.json["configurations"][configuration]["mean"]
        for theirs, ours in names.items():
            expected = fmean(float(row[theirs]) for row in own)
            assert mean[ours] == pytest.approx(expected, abs=0.001), (configuration, theirs)


def test_hybrid_long_tables_are_read(shared_data: Path, project: Path, cli: Cli) -> None:
    for name in ("health_alpha.csv", "health_topk.csv", "health_embeddings.csv"):
        shown = run_command(cli, f"answerkey rank --run {shared_data / 'wild' / name}")
        assert "recorded" in shown.out + shown.err, name
