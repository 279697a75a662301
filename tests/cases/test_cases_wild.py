"""Files of public projects, as they are: each loads, and gives the figures that its own project recorded."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answerkey.cases import read_cases

Cli = Callable[..., Any]
# The name of a file to the number of its cases.
CASES = {
    "kpi_results.json": 50, "kpi_model_comparison.json": 50, "kpi_results_a.csv": 94, "kpi_results_b.csv": 94, "kpi_mini.csv": 6,
    "faq.csv": 4, "faq_adversarial.csv": 8, "childcare_qa_a.md": 10, "childcare_qa_b.md": 3, "conv_eligibility.yaml": 4,
    "conv_topic_switch.yaml": 3, "health_queries.json": 133, "health_rankings.csv": 665,
}  # fmt: skip
RECORDED = {"precision_at_k": "precision@5", "recall_at_k": "recall@5", "f1_score": "f1@5", "mrr": "mrr",
            "hit_rate_at_k": "hit_rate@5", "ndcg_at_k": "ndcg@5"}  # fmt: skip


@pytest.fixture
def wild(shared_data: Path) -> Path:
    if not (shared_data / "wild").is_dir():
        pytest.skip("the files of public projects are not on this machine")
    return shared_data / "wild"


@pytest.mark.parametrize("name", CASES)
def test_every_file_loads(name: str, wild: Path) -> None:
    assert sum(1 for _ in read_cases([wild / name])) == CASES[name]


def test_every_recorded_ranking_metric_is_equal(cli: Cli, wild: Path) -> None:
    path = wild / "health_rankings.csv"
    shown = cli(
        "rank", "--run", path, "--unit", "chunk", "--metrics", ",".join(RECORDED.values()), "--json"
    )
    told = shown.json["configurations"]
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 665
    for row in rows:
        ours = told[row["config_name"]]["queries"][row["query_id"]]
        for theirs, name in RECORDED.items():
            assert ours[name] == pytest.approx(float(row[theirs]), abs=5e-4), (
                row["query_id"],
                name,
            )
    assert [result.get("places_without_id", 0) for result in told.values()] == [
        219,
        208,
        208,
        208,
        0,
    ]


@pytest.mark.parametrize("name", ["kpi_results_a.csv", "kpi_results_b.csv", "kpi_results.json"])
def test_routes_are_scored_as_recorded(name: str, cli: Cli, wild: Path, tmp_path: Path) -> None:
    shown = cli(
        "score",
        wild / name,
        "--metrics",
        "route_score",
        "--out",
        tmp_path,
        "--no-charts",
        "--quiet",
    )
    assert shown.code == 0, shown.err
    (path,) = tmp_path.glob("*/results.jsonl")
    ours = {
        line["id"]: line["scores"]["route_score"]["value"]
        for line in map(json.loads, path.read_text().splitlines())
    }
    if name.endswith(".csv"):
        with (wild / name).open(encoding="utf-8", newline="") as file:
            theirs = {
                row["test_id"]: float(row["route_match"] == "YES") for row in csv.DictReader(file)
            }
    else:
        theirs = {
            row["id"]: row["route_score"]
            for row in json.loads((wild / name).read_text())["results"]
        }
    assert ours == theirs


def test_the_route_aware_scores_equal_the_recorded_ones(
    cli: Cli, wild: Path, tmp_path: Path
) -> None:
    """All but completeness and the clarification that R01 expects: their criteria are not in this file of results."""
    metrics = {"factual_accuracy": "factual_accuracy", "presentation_quality": "presentation_quality", "executive_format": "executive_format",
               "semantic_similarity": "semantic_relevance"}  # fmt: skip
    cli(
        "score",
        wild / "kpi_results.json",
        "--profile",
        "route-aware",
        "--out",
        tmp_path,
        "--no-charts",
        "--quiet",
    )
    (path,) = tmp_path.glob("*/results.jsonl")
    ours = {line["id"]: line["scores"] for line in map(json.loads, path.read_text().splitlines())}
    rows = json.loads((wild / "kpi_results.json").read_text())["results"]
    unequal = [
        (row["id"], theirs)
        for row in rows
        for theirs, name in metrics.items()
        if theirs in row["quality_breakdown"]
        and ours[row["id"]][name]["value"]
        != pytest.approx(row["quality_breakdown"][theirs], abs=0.006)
    ]
    assert unequal == [("R01", "semantic_similarity")]


def test_the_faq_bot_answers_from_its_own_table(cli: Cli, wild: Path, tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(
        f'cases = ["{wild}/faq.csv"]\nmetrics = ["exact_match"]\n[target]\nkind = "faq"\nfaq = "{wild}/faq.csv"\n'
    )
    assert cli("run", suite, "--no-charts", "--quiet").code == 0
    (path,) = tmp_path.glob("results/*/results.jsonl")
    assert all(
        json.loads(line)["scores"]["exact_match"]["value"] == 1
        for line in path.read_text().splitlines()
    )


def test_a_table_of_figures_is_shown_as_recorded(cli: Cli, wild: Path) -> None:
    shown = cli("rank", "--run", wild / "health_summary.csv", "--json").json
    assert shown["recorded"] is True
    with (wild / "health_summary.csv").open(encoding="utf-8", newline="") as file:
        metrics, statistics, _, *rows = csv.reader(file)
    for name, *cells in rows:
        for metric, statistic, cell in zip(metrics[1:], statistics[1:], cells, strict=True):
            assert shown["configurations"][name][statistic][metric] == float(cell)
    refused = cli("cases", wild / "health_summary.csv")
    assert refused.code == 2
    assert "figures of 5 configurations" in refused.err
    assert "answerkey rank --run" in refused.err


def test_a_text_of_knowledge_is_what_a_bot_answers_from(
    cli: Cli, wild: Path, tmp_path: Path
) -> None:
    shown = cli(
        "run",
        wild / "domain_knowledge.txt",
        "--dataset",
        wild / "faq.csv",
        "--out",
        tmp_path,
        "--no-charts",
    )
    assert shown.code == 0, shown.err
    (path,) = tmp_path.glob("*/results.jsonl")
    answers = {
        line["question"]: line["answer"] for line in map(json.loads, path.read_text().splitlines())
    }
    assert "5 business days" in answers["How long do refunds take?"]
    refused = cli("cases", wild / "domain_knowledge.txt")
    assert refused.code == 2
    assert "--dataset cases.csv" in refused.err


def test_the_recorded_clarification_comes_out_with_its_criterion(
    cli: Cli, wild: Path, write: Any, tmp_path: Path
) -> None:
    """R01 was recorded with 0.9: its case expects a clarification, which the file of results does not repeat."""
    rows = json.loads((wild / "kpi_results.json").read_text())["results"]
    (row,) = (row for row in rows if row["id"] == "R01")
    truth = write(
        "truth.jsonl", [{"id": "R01", "answer_criteria": {"clarification_expected": True}}]
    )
    results = write("R01.json", {"results": [row]})
    assert (
        cli(
            "score",
            results,
            truth,
            "--profile",
            "route-aware",
            "--out",
            tmp_path / "o",
            "--no-charts",
        ).code
        == 0
    )
    (path,) = tmp_path.glob("o/*/results.jsonl")
    scores = json.loads(path.read_text())["scores"]
    assert (
        scores["semantic_relevance"]["value"]
        == row["quality_breakdown"]["semantic_similarity"]
        == 0.9
    )
