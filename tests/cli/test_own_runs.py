"""Suites, bots and options as people use them, through the command line."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import pytest
from tests.support.own_files import Cli, Write, bot, results, score


def test_test_with_a_limit_asks_that_many(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("cases.jsonl", [{"id": str(n), "question": f"q{n}"} for n in range(5)])
    suite = bot(tmp_path, "def answer(q): return 'x'\n")
    assert cli("run", suite, "--test", "--limit", "3", "--no-charts").code == 0
    assert len(results(tmp_path / "results")) == 3


def test_resume_without_a_run_starts_one(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("other.jsonl", [{"id": "a", "question": "q"}])
    suite = bot(tmp_path, "def answer(q): return 'a fine answer'\n")
    shown = cli("run", suite, "--resume", "--dataset", tmp_path / "other.jsonl", "--no-charts")
    assert shown.code == 0
    assert "to resume; starting a new one" in shown.err
    assert results(tmp_path / "results")[0]["answer"] == "a fine answer"


def test_debug_shows_the_case_that_was_asked_again(cli: Cli, write: Write, tmp_path: Path) -> None:
    write(
        "cases.jsonl",
        [
            {"id": "a", "question": "first", "expected": "x"},
            {"id": "b", "question": "second", "expected": "x"},
        ],
    )
    suite = bot(tmp_path, "def answer(q): return 'x'\n")
    cli("run", suite, "--limit", "2", "--max-minutes", "0", "--no-charts", "--quiet")
    shown = cli("run", suite, "--resume", "--resume-limit", "1", "--debug", "--no-charts")
    assert shown.out.splitlines()[1] in ("SCORED: a (cases.jsonl)", "SCORED: b (cases.jsonl)")


@pytest.mark.parametrize("model", ["all-mpnet-base-v2", "bge-small-en-v1.5"])
def test_models_by_their_short_names(
    model: str, cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    path = write("a.jsonl", [{"question": "q", "answer": "a", "expected": "b"}])
    shown = cli("score", path, "--metrics", "answer_correctness", "--model", model)
    assert shown.code == 2
    # With the extra installed the way out is to fetch the model, otherwise to install the extra.
    fixes = ("answerkey models fetch", "pip install 'answerkey[")
    assert any(fix in shown.err for fix in fixes)


def test_a_live_check_never_raises() -> None:
    from answerkey import assess_answer, improve_answer

    class Message:
        content = "It is 30 days [1]."

    class Document:
        page_content, metadata = "Return within 30 days.", {"page": 3}

    for contexts in (
        [(Document(), 0.8)],
        (Document(),),
        iter([Document()]),
        [object(), Document()],
        Document(),
        {"document": "x"},
        5,
    ):
        for answer in (
            Message(),
            {"answer": "It is 30 days [1]."},
            "It is 30 days [1].",
            None,
            object(),
            5,
        ):
            assess_answer("How long?", answer, contexts=contexts)
    found = assess_answer("How long?", Message(), contexts=[(Document(), 0.8)])
    assert found.passed
    improved = improve_answer(
        "How long?", "", contexts=[(Document(), 0.8)], model=lambda prompt: "It is 30 days [1]."
    )
    assert improved.answer == "It is 30 days [1]."
    failing = improve_answer("How long?", "", contexts=[Document()], model=lambda prompt: 1 / 0)
    assert failing.error == "ZeroDivisionError: division by zero"


def test_an_overlay_of_a_route_group_changes_one_key(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    rows = [
        {"id": "a", "query": "Total sales in June 2024?", "preferred_route": "sales_kpi", "route": "sales_kpi",
         "answer": "Sales in June 2024 were RM 99,852.83, a growth of 3 % compared to the previous month. Focus on Penang."},
        {"id": "b", "query": "What is the leave policy?", "preferred_route": "rag_docs", "route": "rag_docs", "answer": "No."},
    ]  # fmt: skip
    path = write("a.jsonl", rows)
    profile = write("p.toml", 'base = "route-aware"\n[on.kpi]\npass = 0.60\n')
    ours, plain = (
        score(cli, folder, path, "--profile", name)
        for folder, name in ((tmp_path / "x", profile), (tmp_path / "y", "route-aware"))
    )
    for one, other in zip(ours, plain, strict=True):
        assert one["verdict"]["quality"] == other["verdict"]["quality"], "the weights stay"
        assert one["verdict"]["passed"] is (one["verdict"]["status"] in {"PERFECT", "ACCEPTABLE"})


def test_stop_on_fail_is_a_setting_of_the_suite_that_init_writes(cli: Cli, tmp_path: Path) -> None:
    assert cli("init", tmp_path / "my").code == 0
    suite = tmp_path / "my" / "suite.toml"
    assert "# stop_on_fail = true" in suite.read_text()
    suite.write_text(suite.read_text().replace("# stop_on_fail", "stop_on_fail"))
    shown = cli("run", suite, "--no-charts", "--workers", "1")
    assert "--resume --resume-limit 1" in shown.out + shown.err
    assert 0 < len(results(tmp_path / "my" / "results")) < 15


def test_scales_limits_families_and_fields_of_the_target(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    rows = [{"id": "a", "question": "Where?", "expected": "In Paris.", "answer": "In Paris [Doc 1].", "contexts": ["It is in Paris."], "response_type": "short"},
            {"id": "b", "question": "Who?", "expected": "Jane Smith.", "answer": "Nobody knows.", "contexts": ["It was Jane Smith."]}]  # fmt: skip
    lines = score(
        cli,
        tmp_path,
        write("a.jsonl", rows),
        "--profile",
        "rubric",
        "--judge",
        "local",
        "--metrics",
        "exact_match,keyword_recall,latency_ms",
    )
    (report,) = (tmp_path / "out").glob("*/report.txt")
    text = report.read_text()
    assert "/5" in text
    assert "(≥85)" in text
    assert [family in text.lower() for family in ("correctness", "operations", "judged")] == [
        True
    ] * 3
    assert "response_type" in json.dumps(lines[0])


def test_words_and_any_judge_that_disagree_are_listed(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    rows = [
        {
            "id": "same",
            "question": "Where?",
            "expected": "Paris",
            "answer": "Paris",
            "contexts": ["Paris"],
        },
        {
            "id": "other",
            "question": "Where?",
            "expected": "Paris",
            "answer": "the capital of France",
            "contexts": ["Paris"],
        },
    ]
    write("cases.jsonl", rows)
    write(
        "judging.py",
        'def judge(prompt):\n    score = 1.0 if \'the capital of France\' in prompt else 0.0\n    return f\'{{"score": {score}, "reason": "r"}}\'\n',
    )
    suite = write(
        "suite.toml",
        'cases = ["cases.jsonl"]\nmetrics = ["exact_match", "keyword_recall", "judge.relevance"]\njudge = "judging:judge"\n[target]\nkind = "recorded"\n',
    )
    assert cli("run", suite, "--no-charts", "--quiet").code == 0
    (path,) = tmp_path.glob("results/*/summary.json")
    found = [
        (one["id"], one["what"], sorted(one["values"]))
        for one in json.loads(path.read_text())["disagreements"]
    ]
    assert (
        "same",
        "the words match but the judge is not satisfied",
        ["exact_match", "judge.relevance"],
    ) in found
    assert (
        "other",
        "the words differ but the judge is satisfied",
        ["judge.relevance", "keyword_recall"],
    ) in found


def test_citations_as_doc_count_in_the_local_judge(cli: Cli, write: Write, tmp_path: Path) -> None:
    row = {"question": "How long?", "expected": "30 days.", "contexts": ["Return within 30 days."]}
    rows = [
        {"id": mark, "answer": f"You have 30 days{mark}.", **row}
        for mark in (" [Doc 1]", " [1]", "")
    ]
    lines = score(cli, tmp_path, write("a.jsonl", rows), "--profile", "rubric", "--judge", "local")
    as_doc, plain, none = (line["scores"]["rubric.citation_quality"]["value"] for line in lines)
    assert as_doc == plain > (none or 0)


def test_the_python_functions_log_their_values(caplog: pytest.LogCaptureFixture) -> None:
    from answerkey import assess_answer, evaluate_all

    with caplog.at_level(logging.INFO, logger="answerkey"):
        evaluate_all("Where?", "In Paris.", "Paris", ["It is in Paris."])
        assess_answer(
            "How long?", "It is 30 days [1].", contexts=["Return within 30 days."], run_id="r7"
        )
    assert "evaluate_all: context_relevance=" in caplog.text
    assert "assess_answer r7: passed; not_empty=ok" in caplog.text


def test_a_document_or_a_case_file_stands_for_a_suite(
    cli: Cli, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write("manual.txt", "Refunds\n\nRefunds take 5 business days.\n")
    cases = write(
        "faq.csv",
        "question,expected_answer\nHow long do refunds take?,Refunds take 5 business days.\n",
    )
    options = ("--metrics", "exact_match", "--model", "none", "--no-charts", "--quiet")
    asked = cli(
        "run", tmp_path / "manual.txt", "--dataset", cases, "--profile", "uniform", *options
    )
    assert asked.code == 0, asked.err
    # Beside the documents, the next run would read the results as documents.
    (line,) = results(folder / "results")
    assert not (tmp_path / "results").exists()
    assert str(folder / "results") in asked.last_line
    assert "5 business days" in line["answer"]
    from_table = cli(
        "run",
        cases,
        "--set",
        "target.kind=faq",
        "--set",
        f"target.faq={cases}",
        *options,
        "--out",
        tmp_path / "o",
    )
    assert from_table.code == 0, from_table.err
    assert results(tmp_path / "o")[0]["scores"]["exact_match"]["value"] == 1.0
    alone = cli("run", tmp_path / "manual.txt")
    assert (alone.code, "--dataset cases.csv" in alone.err) == (2, True)
