"""The pages under docs/how-to/migrate: every command that they show runs on files of that shape, and the figures come out."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
Write = Callable[..., Path]
PAGES = Path(__file__).parents[2] / "docs" / "how-to" / "migrate"
ROWS = [
    {"id": "S1", "query": "Sales of June?", "expected_route": "docs", "preferred_route": "sales_kpi", "acceptable_routes": ["docs"],
     "actual_route": "sales_kpi", "answer": "Sales were RM 99,852.83, compared to RM 90,000 in May.", "quality_score": 0.6, "status": "ACCEPTABLE"},
    {"id": "D1", "query": "Who is the chair?", "preferred_route": "docs", "actual_route": "sales_kpi", "acceptable_routes": ["sales_kpi"],
     "answer": "Please specify which committee you mean.", "status": "FAILED"},
]  # fmt: skip
RANKINGS = """config_name,query_id,query,min_score,retrieved_pages,relevant_pages
Dense,0,When?,0.9,"['340', '34', '34', 'N/A', '7']",['34']
Dense,1,Who?,0.9,"['1', '2', '3', '4', '5']",['6']
Sparse,0,When?,0.9,"['34', '2', '3', '4', '5']",['34']
Sparse,1,Who?,0.9,"['6', 'N/A', 'N/A', '4', '5']",['6']
"""
SUMMARY = ",mrr,mrr\n,mean,std\nconfig_name,,\nDense,0.25,0.1\nSparse,1.0,0.0\n"
QA = "# Questions\n\n## Q1: How long do refunds take?\n**A1:** Refunds take 5 business days.\n\n## Q2: When does it open?\n**A2:** At nine.\n"
GRADED = {
    "source_file": "a.md", "question_num": 1, "question": "How long?", "expected_answer": "5 days",
    "chatbot_answer": "5 days", "scores": {"accuracy": 4.2, "completeness": 3.8, "citation_quality": 4.5, "coherence": 2.9},
}  # fmt: skip
JUDGE = """
import json
def judge(prompt):
    return json.dumps({"reasoning": "r", "accuracy": 4.2, "completeness": 3.8, "citation_quality": 4.5, "coherence": 2.9})
"""


def commands_of(page: str) -> list[str]:
    """The commands on the page, with its placeholders filled in; a command without arguments is only named."""
    found = re.findall(r"`(answerkey [^`]+)`", (PAGES / page).read_text(encoding="utf-8"))
    names = {"RUN_A": "runs/a", "RUN_B": "runs/b", "QUERY": "refunds"}
    kept = [
        " ".join(names.get(word, word) for word in command.split())
        for command in found
        if len(command.split()) > 2
    ]
    return list(dict.fromkeys(kept))


@pytest.fixture
def world(write: Write, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All files that the pages name, and a suite that every page's commands can run."""
    monkeypatch.chdir(tmp_path)
    write("results.json", {"timestamp": "x", "results": ROWS})
    write("criteria.json", [{"id": "D1", "answer_criteria": {"clarification_expected": True}}])
    write(
        "results.csv",
        "test_id,question,expected_route,actual_route,response_time_sec,answer_preview\nU1,Sales?,sales_kpi,sales_kpi,0.1,RM 3\n",
    )
    write(
        "rows.jsonl",
        [
            {
                "question": "How long?",
                "answer": "30 days.",
                "reference": "It is 30 days.",
                "contexts": ["You have 30 days."],
            }
        ],
    )
    write("rankings.csv", RANKINGS)
    write("summary.csv", SUMMARY)
    write("alpha.csv", "alpha,metric,value\n0.0,mrr,0.4\n0.5,mrr,0.6\n")
    write("detailed_results.json", {"results": [GRADED]})
    write(
        "faq.csv",
        "question,expected_answer\nHow long do refunds take?,Refunds take 5 business days.\n",
    )
    write("domain_knowledge.txt", "Refunds take 5 business days.\n\nThe shop opens at nine.\n")
    (tmp_path / "qa").mkdir()
    write("qa/a.md", QA)
    (tmp_path / "docs").mkdir()
    write("docs/refunds.md", "# Refunds\nRefunds take 5 business days.\n")
    write("docs/hours.md", "# Hours\nThe shop opens at nine.\n")
    write(
        "labels.jsonl",
        [{"id": "a", "question": "How long do refunds take?", "relevant": ["refunds.md"]}],
    )
    write("my_judge.py", JUDGE)
    write("bot.py", "def answer(question): return 'Refunds take 5 business days [1].'\n")
    return tmp_path


SUITES = {
    "judged-qa.md": 'cases = ["qa/*.md"]\nprofile = "rubric"\njudge = "my_judge:judge"\n[target]\ncall = "bot:answer"\n',
    "route-aware.md": 'cases = ["results.json"]\nprofile = "route-aware"\nembedding = "none"\n',
    "hybrid-retrieval.md": 'cases = ["labels.jsonl"]\n[retrieval]\ndocuments = "docs"\n',
}


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*-*.md")))
def test_every_command_of_the_page_runs(page: str, world: Path, write: Write, cli: Cli) -> None:
    if page in SUITES:
        write("suite.toml", SUITES[page])
    for name in "ab":
        made = cli(
            "score",
            "results.json",
            "--metrics",
            "route_score",
            "--out",
            f"made{name}",
            "--no-charts",
            "--quiet",
        )
        assert made.code == 0, made.err
        (world / "runs").mkdir(exist_ok=True)
        next((world / f"made{name}").iterdir()).rename(world / "runs" / name)
    commands = commands_of(page)
    assert commands, "the page shows no command"
    for command in commands:
        shown = cli(*shlex.split(command)[1:])
        assert shown.code in ((0, 1) if "--stop-on-fail" in command else (0,)), (command, shown.err)


def results(folder: Path) -> list[dict[str, Any]]:
    (path,) = folder.glob("*/results.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.usefixtures("world")
def test_the_composite_is_835_not_379(write: Write, cli: Cli) -> None:
    assert round(10 * (0.5 * 4.2 + 0.3 * 3.8 + 0.1 * 4.5 + 0.1 * 2.9 / 3), 1) == 37.9
    shown = cli("run", write("suite.toml", SUITES["judged-qa.md"]), "--no-charts", "--json")
    assert shown.code == 0, shown.err
    lines = results(Path("results"))
    assert [round(line["verdict"]["score"], 1) for line in lines] == [83.5, 83.5]
    assert {line["verdict"]["band"] for line in lines} == {"good"}
    report = next(Path("results").glob("*/report.txt")).read_text()
    assert "4.20/5" in report
    assert "≥85" in report


@pytest.mark.usefixtures("world")
def test_page_34_is_not_page_340_and_places_without_an_id_keep_their_rank(cli: Cli) -> None:
    shown = cli(
        "rank",
        "--run",
        "rankings.csv",
        "--unit",
        "chunk",
        "--metrics",
        "mrr,precision@5,recall@5",
        "--json",
    )
    dense, sparse = (shown.json["configurations"][name] for name in ("Dense", "Sparse"))
    assert dense["queries"]["0"] == {"mrr": 0.5, "precision@5": 0.4, "recall@5": 1.0}
    assert dense["mean"]["mrr"] == 0.25
    assert sparse["mean"] == {"mrr": 1.0, "precision@5": 0.2, "recall@5": 1.0}
    assert (dense["places_without_id"], sparse["places_without_id"]) == (1, 2)


def test_f1_over_shifted_pages_is_explained(write: Write, cli: Cli) -> None:
    rows = "".join(f"{n},\"['{n}', '{n + 50}']\",['{n + 1}']\n" for n in range(20, 40))
    shown = cli(
        "diagnose",
        "--run",
        write("shifted.csv", f"query_id,retrieved_pages,relevant_pages\n{rows}"),
    )
    assert "ndcg@5 is 0.000" in shown.out
    assert re.search(r"gain: +ndcg@5 0\.000 → 1\.000", shown.out), shown.out


@pytest.mark.usefixtures("world")
def test_the_preferred_route_wins_and_a_joined_criterion_counts(cli: Cli) -> None:
    options = ("--profile", "route-aware", "--model", "none", "--no-charts", "--quiet", "--out")
    assert cli("score", "results.json", *options, "plain").code == 0
    assert cli("score", "results.json", "criteria.json", *options, "joined").code == 0
    plain, joined = results(Path("plain")), results(Path("joined"))
    assert [line["scores"]["route_score"]["value"] for line in plain] == [1.0, 0.7]
    assert plain[1]["scores"]["semantic_relevance"]["value"] < 0.9
    assert joined[1]["scores"]["semantic_relevance"]["value"] == 0.9
