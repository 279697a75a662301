"""Refusals in ten languages, and answers that only look like one."""

import json
from pathlib import Path

import pytest

from answerkey.language.refusal import refusal
from answerkey.metrics.refusal import abstention
from answerkey.types import AnswerCriteria, Case, Response


def written(name):
    return [
        json.loads(line)
        for line in (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    ]


ROWS = written("refusal_answers.jsonl")
LATER = written(
    "refusal_later_answers.jsonl"
)  # found at first sight: 126 of 200, then 42 of 60, 33 of 39, and 87 of 120
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
WORDS = {"abstains": ()}


def texts(level):
    return [row["text"] for row in ROWS if row["level"] == level]


def test_the_written_answers_cover_ten_languages():
    assert len({row["language"] for row in ROWS}) == 10
    assert len(texts("full")) >= 200


def test_at_least_95_percent_of_the_written_refusals_are_found():
    found = sum(refusal(text) == "full" for text in texts("full"))
    assert found >= 0.95 * len(texts("full"))


def test_answers_written_later_are_told_from_refusals_in_ten_languages():
    ordinary = [refusal(row["text"]) for row in LATER if row["level"] == "none"]
    refusals = [refusal(row["text"]) for row in LATER if row["level"] != "none"]
    assert len(ordinary) >= 400
    assert len(refusals) >= 200
    assert ordinary.count("none") >= 0.99 * len(ordinary)
    assert refusals.count("none") <= 0.05 * len(refusals)


def test_refusals_that_nothing_was_fitted_on_are_found_in_five_of_six_cases():
    unseen = [row for row in LATER if row["set"] == "fifth"]
    ordinary = [refusal(row["text"]) for row in unseen if row["level"] == "none"]
    refusals = [refusal(row["text"]) for row in unseen if row["level"] != "none"]
    assert refusals.count("none") <= len(refusals) / 6
    assert ordinary.count("none") >= 0.99 * len(ordinary)


@pytest.mark.parametrize("text", texts("none"))
def test_an_ordinary_answer_is_no_refusal(text):
    assert refusal(text) == "none"


@pytest.mark.parametrize("text", texts("partial"))
def test_an_answer_that_declines_a_part_is_an_answer(text):
    assert refusal(text) != "full"


@pytest.mark.skipif(not DATA.exists(), reason="the labelled data is not beside the repository")
def test_at_most_one_percent_of_ordinary_answers_are_called_refusals():
    answers = [
        row["answer"]
        for name, good in (("ragtruth_qa", 0), ("evouna", 1))
        for row in map(
            json.loads, (DATA / name / "dev.jsonl").read_text(encoding="utf-8").splitlines()
        )
        if row["label"] == good
    ]
    sample = answers[:: max(1, len(answers) // 1000)]
    assert sum(refusal(text) == "full" for text in sample) <= 0.01 * len(sample)
    assert sum(refusal(text) == "partial" for text in sample) <= 0.03 * len(sample)


@pytest.mark.parametrize(
    "text", ["", "?!", "Iron", "...", "“I don't know,” said the king to the crowd outside."]
)
def test_short_and_quoted_texts_are_no_refusal(text):
    assert refusal(text) == "none"


@pytest.mark.parametrize(
    ("answer", "expected", "out_of_scope", "value"),
    [
        ("I can't help with that.", (), True, 1),
        ("Buy shares of Northwind.", (), True, 0),
        ("I can't help with that.", ("In Paris.",), False, 0),
        ("In Paris.", ("In Paris.",), False, 1),
        ("I could not find it in the documents.", ("The documents do not say.",), False, 1),
        ("The salary is not mentioned in the documents. The director started in 2015.", ("The documents do not say.",), False, 1),
    ],
)  # fmt: skip
def test_abstention_is_right_when_the_bot_declines_exactly_when_it_should(
    answer, expected, out_of_scope, value
):
    case = Case("c", "q", expected=expected, criteria=AnswerCriteria(out_of_scope=out_of_scope))
    assert abstention(case, Response(answer=answer), words=WORDS).value == value
