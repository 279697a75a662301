"""Grades of an earlier judge are used again; prompts of scripts keep their scale; report.txt has a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answerkey.metrics.judge.prompt import read_frame

Write = Callable[[str, object], Path]
Cli = Callable[..., Any]

GRADES = {"accuracy": 4.2, "completeness": 3.8, "citations": 4.5, "coherence": 2.9}
ROWS = [
    {
        "source_file": "qa/faq.md", "question_num": n, "question": f"How long is step {n}?",
        "expected_answer": f"{n} days", "answer": f"It takes {n} days [1].",
        "scores": GRADES, "response_time": 0.5 * n,
    }
    for n in (1, 2)
]  # fmt: skip


def results(folder: Path) -> list[dict[str, Any]]:
    (path,) = folder.glob("*/results.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("options", [(), ("--judge", "recorded")])
def test_recorded_grades_are_used_without_a_judge(
    cli: Cli, write: Write, tmp_path: Path, options: tuple[str, ...]
) -> None:
    file = write("detailed.json", {"results": ROWS})
    ended = cli("score", file, "--profile", "rubric", *options, "--out", tmp_path / "o")
    assert ended.code == 0, ended.err
    rows = results(tmp_path / "o")
    assert [round(row["verdict"]["score"], 1) for row in rows] == [83.5, 83.5]
    assert rows[0]["scores"]["rubric.citation_quality"]["value"] == 4.5
    assert "no judge was asked" in rows[0]["scores"]["rubric.accuracy"]["reason"]
    assert rows[0]["id"] == "faq#Q1"


def test_a_judge_that_is_given_is_asked(cli: Cli, write: Write, tmp_path: Path) -> None:
    file = write("detailed.json", {"results": ROWS})
    out = tmp_path / "o"
    assert cli("score", file, "--profile", "rubric", "--judge", "local", "--out", out).code == 0
    assert "local judge" in results(out)[0]["scores"]["rubric.accuracy"]["reason"]


def test_a_row_without_a_grade_is_not_applicable(cli: Cli, write: Write, tmp_path: Path) -> None:
    rows = [ROWS[0], {**ROWS[1], "scores": {"accuracy": 9}}]
    ended = cli("score", write("d.json", {"results": rows}), "--metrics", "rubric.accuracy,rubric.coherence", "--out", tmp_path / "o")  # fmt: skip
    assert ended.code == 0, ended.err
    scores = results(tmp_path / "o")[1]["scores"]
    assert scores["rubric.accuracy"]["value"] is None
    assert "outside our scale of 0 to 5" in scores["rubric.accuracy"]["reason"]
    assert scores["rubric.coherence"]["value"] is None


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("Rate the answer from 1 to 5.\n$generated_answer", (1, 5)),
        ("Score (1-5), where 5 is best: {answer}", (1, 5)),
        ("Give a score between 0 and 10.\n{answer}", (0, 10)),
        ("Refunds take 1 to 5 business days.\n{answer}", None),
        ("{instructions}\nRate it from 1 to 5: {answer}", None),
        ("Is it right?\n{answer}", None),
    ],
)
def test_the_scale_of_a_prompt(write: Write, text: str, scale: tuple[int, int] | None) -> None:
    assert read_frame(write("judge.txt", text)).scale == scale


def test_a_script_prompt_with_a_scale_of_1_to_5(cli: Cli, write: Write, tmp_path: Path) -> None:
    write("cases.json", [{"id": str(n), "question": f"q{n}", "expected": "a", "answer": f"a{n}"} for n in (1, 3, 5)])  # fmt: skip
    prompt = "Rate relevance on a scale of 1 to 5.\nQ: $question\nE: $expected_answer\nA: $generated_answer\n"
    write("prompt.txt", prompt)
    write(
        "team_judge.py",
        "import re\n"
        "def ask(prompt):\n"
        "    assert '0.25' not in prompt, 'our own scale must not contradict the prompt'\n"
        "    grade = re.search(r'^a([135])$', prompt, re.M)[1]\n"
        '    return \'{"reason": "r", "score": %s}\' % grade\n',
    )
    suite = (
        'cases = ["cases.json"]\nmetrics = ["judge.relevance"]\n[target]\nkind = "recorded"\n'
        '[judge]\ncall = "team_judge:ask"\nprompt = "prompt.txt"\n'
    )
    ended = cli("run", write("s.toml", suite), "-q", "--no-charts")
    assert ended.code == 0, ended.err
    values = [row["scores"]["judge.relevance"]["value"] for row in results(tmp_path / "results")]
    assert values == [0.0, 0.5, 1.0]


def test_the_report_has_a_time_and_the_response_times(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    file = write("detailed.json", {"results": ROWS})
    assert cli("score", file, "--profile", "rubric", "--out", tmp_path / "o").code == 0
    (report,) = (tmp_path / "o").glob("*/report.txt")
    text = report.read_text(encoding="utf-8")
    assert "Response time of 2 answers: average 0.750 s, min 0.500 s" in text
    assert re.fullmatch(r"written \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*", text.splitlines()[-1])
