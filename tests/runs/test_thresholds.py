"""A profile in one line: each metric must reach its number."""

import pytest

from answerkey.errors import SettingsError
from answerkey.runs.thresholds import Threshold, read_thresholds, threshold_profile


def test_names_and_thresholds_are_told_apart():
    names, thresholds = read_thresholds(
        ["token_f1", "groundedness >= 0.7", "answer_hallucination<=0.2"]
    )
    assert names == ("token_f1",)
    assert thresholds == (
        Threshold("groundedness", 0.7, lower_is_better=False),
        Threshold("answer_hallucination", 0.2, lower_is_better=True),
    )


def test_a_table_takes_the_direction_from_the_metric():
    _, thresholds = read_thresholds({"token_f1": 0.5, "answer_hallucination": 0.2})
    assert [each.lower_is_better for each in thresholds] == [False, True]


def test_a_sign_against_the_direction_of_the_metric_is_refused():
    with pytest.raises(SettingsError, match="higher is better; write token_f1>="):
        read_thresholds(["token_f1<=0.5"])


def test_only_the_numbers_decide():
    profile = threshold_profile([Threshold("token_f1", 0.5, lower_is_better=False)])
    assert profile["pass"] == 0.0
    assert [line["required"] for line in profile["criteria"]] == [True]


ROWS = [
    {"id": "good", "question": "How long?", "answer": "30 days", "expected": "30 days"},
    {"id": "bad", "question": "How long?", "answer": "a year", "expected": "30 days"},
]


def test_metrics_with_a_number_decide_on_the_command_line(cli, write, tmp_path):
    shown = cli(
        "score", write("a.jsonl", ROWS), "--metrics", "token_f1>=0.5", "--out", tmp_path / "o"
    )
    assert "1 of 2 cases passed; failing: bad" in shown.last_line


def test_metrics_with_a_number_and_a_profile_are_refused(cli, write, tmp_path):
    shown = cli("score", write("a.jsonl", ROWS), "--metrics", "token_f1>=0.5", "--profile", "rag")
    assert shown.code == 2
    assert "leave the numbers or the profile out" in shown.err
