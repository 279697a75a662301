"""A folder in which the commands of the documentation run: the files that its pages name."""

from __future__ import annotations

import csv
import json
import shutil
from contextlib import chdir
from pathlib import Path

import pandas
from click.testing import CliRunner

import answerkey as ak
from answerkey.cli.main import command_line

WORLD = Path(ak.__file__).parent / "demo" / "world"
SUITE = """\
name = "support-bot"
cases = ["cases/handbook.csv"]
profile = "rag"

[target]
kind = "rag"
documents = "handbook"

[retrieval]
documents = "handbook"

[retrieval.sweep]
alphas = [0.0, 0.5]
ks = [1, 3]
"""
ANSWERS = [
    ("q17", "How long can I return goods?", "30 days", "Within 30 days."),
    ("q18", "What does delivery cost?", "RM 8", "Delivery costs RM 12."),
    ("q19", "Who approves travel?", "Ana Silva", "Ana Silva approves travel."),
    ("q20", "When is lunch?", "At noon", "Lunch is at noon."),
]
RUNS = ("bot_20260102_030405", "bot_20260103_030405")


def make_world(folder: Path) -> None:
    """Write everything; runs are in results/, two of one suite."""
    shutil.copytree(WORLD, folder, dirs_exist_ok=True)
    shutil.copytree(WORLD / "documents", folder / "docs")
    shutil.copytree(WORLD / "handbook", folder / "manuals")
    (folder / "suite.toml").write_text(SUITE, encoding="utf-8")
    _keep_few_cases(folder / "cases" / "handbook.csv")
    _write_tables(folder)
    _write_rankings(folder)
    _write_runs(folder)
    (folder / "my_metrics.py").write_text("", encoding="utf-8")
    (folder / "ours.toml").write_text('base = "rag"\npass = 0.5\n', encoding="utf-8")


def _keep_few_cases(path: Path) -> None:
    """Six cases, two of them with the names that pages use."""
    lines = path.read_text(encoding="utf-8").splitlines()[:7]
    lines[5] = lines[5].replace("p05", "S1")
    lines[6] = lines[6].replace("p06", "Q17")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_tables(folder: Path) -> None:
    rows = [
        {
            "id": name,
            "question": question,
            "expected": expected,
            "answer": answer,
            "contexts": [f"{expected}. {question}"],
            "label": int(name != "q18"),
            "type": "stock" if name < "q19" else "staff",
        }
        for name, question, expected, answer in ANSWERS
    ]
    ragas = [
        {
            "user_input": row["question"],
            "response": row["answer"],
            "reference": row["expected"],
            "retrieved_contexts": row["contexts"],
            "faithfulness": 0.5,
        }
        for row in rows
    ]
    routed = [{**row, "route": "docs", "expected_route": "docs"} for row in rows]
    logged = [
        {
            **{key: row[key] for key in ("question", "answer", "contexts")},
            "timestamp": f"2026-01-0{number}T10:00:00Z",
            "feedback": "down" if number == 2 else "up",
            "latency": 3 * number,
            "tools": [{"name": "get_weather"}],
        }
        for number, row in enumerate(rows, start=1)
    ]
    for name in ("answers", "rows", "answered", "recent", "last-month", "corrected"):
        _write_lines(folder / f"{name}.jsonl", rows)
    _write_lines(folder / "data.jsonl", rows)
    labelled = [{**row, "id": f"{row['id']}-{turn}"} for turn in range(15) for row in rows]
    _write_lines(folder / "labelled.jsonl", labelled)
    pandas.DataFrame(rows).to_parquet(folder / "data.parquet")
    _write_lines(folder / "traces.jsonl", logged)
    (folder / "logs").mkdir()
    _write_lines(folder / "logs" / "monday.jsonl", logged)
    (folder / "results.json").write_text(json.dumps(routed), encoding="utf-8")
    criteria = [{"id": row["id"], "answer_criteria": {"must_contain": ["a"]}} for row in rows]
    (folder / "criteria.json").write_text(json.dumps(criteria), encoding="utf-8")
    (folder / "interaction.json").write_text(json.dumps(rows[0]), encoding="utf-8")
    _write_csv(folder / "answers.csv", rows)
    unclear = {**rows[0], "question": "How long is it?"}  # `audit` finds that it names nothing
    _write_csv(folder / "cases.csv", [{**row, "answer": ""} for row in (unclear, *rows[1:])])
    _write_csv(folder / "results.csv", routed)
    _write_csv(folder / "ragas_result.csv", ragas)
    _write_csv(folder / "real.csv", [{"question": row["question"]} for row in rows])
    questions = [{key: row[key] for key in ("id", "question", "expected")} for row in rows]
    _write_csv(folder / "questions.csv", questions)
    (folder / "qa").mkdir()
    shutil.copyfile(WORLD / "cases" / "faq.md", folder / "qa" / "faq.md")
    text = "\n".join(f"{expected}. {question}" for _, question, expected, _ in ANSWERS)
    for name in ("domain_knowledge.txt", "manual.txt"):
        (folder / name).write_text(text, encoding="utf-8")


def _write_rankings(folder: Path) -> None:
    labels = {"q1": ["a"], "q2": ["b"]}
    ranking = {"q1": ["a", "b"], "q2": ["a", "b"]}
    rows = [
        {"query_id": query, "retrieved": json.dumps(ids), "relevant": json.dumps(labels[query])}
        for query, ids in ranking.items()
    ]
    (folder / "labels.json").write_text(json.dumps(labels), encoding="utf-8")
    (folder / "ranking.json").write_text(json.dumps(ranking), encoding="utf-8")
    for name in ("rankings.csv", "summary.csv", "alpha.csv"):
        _write_csv(folder / name, rows)
    (folder / "ids.txt").write_text("a\nb\n", encoding="utf-8")


def _write_runs(folder: Path) -> None:
    """The two runs of one bot, a baseline, and each name that a page gives to a run."""
    results = folder / "results"
    for name in (*RUNS, "large_20260102_030405", "small_20260102_030405", "tiny_20260102_030405"):
        run = ak.evaluate(
            folder / "labelled.jsonl",
            profile="rubric",
            judge="local",
            name=name.partition("_")[0],
            progress=False,
        )
        shutil.move(run.save(results), results / name)
    for name in ("support-bot", "baseline", "score"):
        shutil.copytree(results / RUNS[0], results / f"{name}_20260102_030405")
    labels = [
        {"id": outcome.case.id, "label": int("q18" not in outcome.case.id)} for outcome in run
    ]
    _write_lines(results / RUNS[0] / "labels.jsonl", labels)
    with chdir(folder):
        done = CliRunner().invoke(command_line, ["baseline", "set", f"results/{RUNS[0]}"])
        assert done.exit_code == 0, done.output


def _write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _write_csv(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {
                    key: json.dumps(value) if isinstance(value, list) else value
                    for key, value in row.items()
                }
            )
