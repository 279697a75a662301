"""Judges without passages, prompts of scripts, bands per route group, names of word lists."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answerkey.metrics.judge.prompt import read_frame

Write = Callable[[str, object], Path]
Cli = Callable[..., Any]


def test_faithfulness_without_passages_goes_by_the_expected_answer(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    rows = [
        {"id": "with", "question": "Where?", "answer": "Paris", "contexts": ["It is in Paris."]},
        {"id": "without", "question": "Where?", "answer": "Paris", "expected": "In Paris."},
        {"id": "neither", "question": "Where is it?", "answer": "Paris"},
    ]
    write("cases.jsonl", rows)
    write(
        "team_judge.py",
        "def ask(prompt):\n"
        "    score = 0.75 if 'EXPECTED ANSWER' in prompt and 'In Paris.' in prompt else 1.0\n"
        '    return \'{"reason": "r", "score": %s}\' % score\n',
    )
    suite = 'cases = ["cases.jsonl"]\nmetrics = ["judge.faithfulness"]\njudge = "team_judge:ask"\n'
    ended = cli(
        "run", write("s.toml", suite + '[target]\nkind = "recorded"\n'), "-q", "--no-charts"
    )
    assert ended.code == 0, ended.err
    (path,) = tmp_path.glob("results/*/results.jsonl")
    values = {
        row["id"]: row["scores"]["judge.faithfulness"]["value"]
        for row in map(json.loads, path.read_text().splitlines())
    }
    assert values == {"with": 1.0, "without": 0.75, "neither": None}


def test_a_prompt_of_a_script_is_understood(write: Write) -> None:
    text = "Q: $question\nExpected: ${expected_answer}\nAnswer: $generated_answer\nCosts: $5, $HOME"
    frame = read_frame(write("judge.txt", text))
    assert frame.text == "Q: {question}\nExpected: {expected}\nAnswer: {answer}\nCosts: $5, $HOME"


def test_the_report_has_the_bands_of_each_route_group(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    row = {
        "id": "1", "question": "Sales?", "expected_route": "sales_kpi", "route": "sales_kpi",
        "answer": "RM 5, above the average.", "answer_criteria": {"must_contain": ["RM"]},
    }  # fmt: skip
    ended = cli("score", write("r.json", [row]), "--profile", "route-aware", "--out", tmp_path / "o", "--no-charts")  # fmt: skip
    assert "excellent (≥0.8; kpi ≥0.75)" in ended.out
    assert "acceptable (≥0.7; kpi ≥0.65)" in ended.out


@pytest.mark.parametrize("name", ["route-aware", "rag"])
def test_profiles_show_names_the_word_lists(cli: Cli, name: str) -> None:
    shown = cli("profiles", "show", name).out
    last = shown.strip().splitlines()[-1]
    assert "report_benchmark" in last
    assert "insight" in last
    assert tomllib.loads(shown)["name"] == name
