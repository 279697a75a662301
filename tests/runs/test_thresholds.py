"""A profile in one line: each metric must reach its number."""

import pytest

import answerkey as ak
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


@pytest.mark.parametrize("number", ["high", None, True, float("nan"), float("inf")])
def test_only_a_number_is_a_threshold(number: object):
    with pytest.raises(SettingsError, match=r"token_f1: found .*expected a number"):
        read_thresholds({"token_f1": number})  # pyright: ignore[reportArgumentType]


def test_a_number_that_no_answer_can_reach_is_refused():
    with pytest.raises(SettingsError, match=r"found 70, .* its values go from 0 to 1"):
        read_thresholds(["groundedness>=70"])
    with pytest.raises(SettingsError, match=r"found -0\.1"):
        read_thresholds({"answer_hallucination": -0.1})


def test_an_upper_limit_is_read_in_a_list_from_python():
    run = ak.evaluate(ROWS, metrics=["answer_length<=10"], progress=False)
    assert [outcome.verdict.passed for outcome in run] == [True, True]
    run = ak.evaluate(ROWS, metrics=["answer_length<=6"], progress=False)
    assert [outcome.verdict.passed for outcome in run] == [False, True]


def test_a_metric_without_a_good_direction_needs_a_sign():
    with pytest.raises(SettingsError, match='write "answer_length>=…"'):
        read_thresholds({"answer_length": 10})


def test_an_answer_below_a_high_threshold_is_not_called_unsupported():
    row = {**ROWS[0], "contexts": ["It takes 30 days."], "answer": "You get it in 30 days."}
    row.pop("expected")
    verdict = ak.evaluate([row], metrics={"groundedness": 0.999}, progress=False)[0].verdict
    assert verdict.why is not None
    assert "no passage says so" not in verdict.why
    assert "below the profile's floor" in verdict.why


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
