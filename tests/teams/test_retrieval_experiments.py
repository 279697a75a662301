"""The hybrid-retrieval team's list: one sweep and recorded rankings with everything they ask for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
Write = Callable[[str, object], Path]
TOPICS = ("refund", "warranty", "opening", "parking", "leave")


@pytest.fixture
def suite(write: Write) -> Path:
    """Forty pages and questions of two types, without an embedding model."""
    pages = [
        {"id": f"p{n}", "text": f"The {TOPICS[n % 5]} rule number {n} says that code{n} applies."}
        for n in range(40)
    ]
    kinds = ("billing", "access")
    cases = [
        {
            "id": f"q{n}",
            "question": f"What does the {TOPICS[n % 5]} rule say about code{n}?",
            "relevant": [f"p{n}"],
            "type": kinds[n % 2],
        }
        for n in range(40)
    ]
    write("docs.json", pages)
    write("cases.json", cases)
    text = 'cases = ["cases.json"]\n[embedding]\nmodel = "none"\n[retrieval]\ndocuments = "docs.json"\n'
    return write("s.toml", text + 'rewriter = "spell"\n')


def test_one_sweep_answers_the_list(suite: Path, cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "o"
    ended = cli("sweep", suite, "--select", "f1@5", "--ks", "1,3,5", "--no-plots", "--out", out)
    assert ended.code == 0, ended.err
    shown = ended.out
    # `--select f1@5` chooses the method at 5, and each K by its own F1 in the top-K section.
    assert "chosen by f1@5" in shown
    assert "K is compared by f1@K" in shown
    # Readings with their limits, time per setting, ± sd in every table.
    assert re.search(r"f1@1 +1\.0000 +0\.5 +enough", shown)
    assert re.search(r"hit_rate@1 +1\.0000 +0\.8 +enough", shown)
    assert re.search(r"ms mean ± sd +p95", shown)
    assert "1.0000 ± 0.00" in shown
    # Types of one's own are kept; K per type is compared with one K for all.
    assert "a K per question type is not measurably better" in shown
    assert "billing" in shown
    assert "access" in shown
    # A built-in rewriter is a method of its own.
    assert "+rewrite" in shown
    report = next(out.glob("*/report.md"))
    assert "± 0.00" in report.read_text(encoding="utf-8")


def test_recorded_rankings_get_types_deviations_and_the_five_charts(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    lines = ["config_name,alpha,query_id,query_type,retrieved_pages,relevant_pages"]
    for alpha in (0.0, 0.5, 1.0):
        for n in range(24):
            first = n if n % 3 or alpha == 0.5 else n + 1
            kind = ("billing", "access")[n % 2]
            lines.append(f"C{alpha},{alpha},{n},{kind},\"['{first}', '99', 'N/A']\",['{n}']")
    path = write("rankings.csv", "\n".join(lines) + "\n")
    shown = cli("rank", "--run", path, "--out", tmp_path / "o")
    assert shown.code == 0, shown.err
    assert "±" in shown.out
    assert "billing" in shown.out
    charts = list((tmp_path / "o").rglob("*.png"))
    assert len(charts) >= 5, charts


def test_pages_that_no_configuration_retrieved_are_named(cli: Cli, write: Write) -> None:
    lines = ["config_name,query_id,retrieved_pages,relevant_pages"]
    lines += [
        f"{name},{n},\"['{n}', '50']\",\"['{n}', '{n + 300}']\"" for name in "AB" for n in range(20)
    ]
    shown = cli("diagnose", "--run", write("rankings.csv", "\n".join(lines) + "\n"))
    assert "20 of 40 (50%) expected pages are in no ranking of the 2 configurations" in shown.out
    assert "never retrieved: 300, 301" in shown.out


@pytest.mark.parametrize(
    ("header", "rows", "best"),
    [
        ("alpha,metric,value", ["0.0,mrr,0.4", "0.5,mrr,0.6", "1.0,mrr,0.5"], "mrr 0.6000 at α = 0.5"),
        ("k,metric,value", ["3,recall@k,0.4", "10,recall@k,0.8"], "recall 0.8000 at K = 10"),
    ],
)  # fmt: skip
def test_long_tables_of_earlier_experiments(
    cli: Cli, write: Write, header: str, rows: list[str], best: str
) -> None:
    shown = cli("rank", "--run", write("long.csv", "\n".join([header, *rows]) + "\n"))
    assert shown.code == 0, shown.err
    assert best in shown.out


def test_a_table_of_models_may_have_texts(cli: Cli, write: Write) -> None:
    text = "model_key,model_name,description,avg_mrr,avg_f1\nmini,all-MiniLM-L6-v2,small,0.4,0.5\n"
    shown = cli("rank", "--run", write("models.csv", text))
    assert shown.code == 0, shown.err
    assert "0.4000" in shown.out
