"""The judge without a language model: the same rubric from the local metrics, and it says so."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.local_judge import LABEL, LocalJudge
from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Passage, Response, Score

PASSAGES = (
    Passage("The warranty lasts 24 months from the day of purchase."),
    Passage("Returns are free within 30 days."),
)
RUBRIC = ("accuracy", "completeness", "citation_quality", "coherence")


@pytest.fixture(scope="module")
def judge() -> LocalJudge:
    return LocalJudge()


def rubric(
    judge: LocalJudge, answer: str, *expected: str, passages: tuple[Passage, ...] = PASSAGES
) -> Mapping[str, Score]:
    pair = (
        Case("1", "How long is the warranty?", expected=expected),
        Response(answer=answer, passages=passages),
    )
    return judge.rubric([pair])[0]


def test_right_is_above_wrong_and_every_reason_says_who_judged(judge: LocalJudge) -> None:
    right = rubric(judge, "The warranty lasts 24 months [1].", "24 months from purchase")
    wrong = rubric(judge, "The warranty lasts 12 years [7].", "24 months from purchase")
    for name in ("accuracy", "completeness", "citation_quality"):
        assert (right[name].value or 0) > (wrong[name].value or 0)
    for scores in (right, wrong):
        assert all(LABEL in scores[name].reason for name in RUBRIC)
        assert all(
            0 <= (scores[name].value or 0) <= (3 if name == "coherence" else 5) for name in RUBRIC
        )


def test_without_an_expected_answer_accuracy_goes_by_the_passages(judge: LocalJudge) -> None:
    supported, invented = (
        rubric(judge, text)["accuracy"]
        for text in ("The warranty lasts 24 months.", "Elvis sings on Mars in 1950.")
    )
    assert (supported.value or 0) > (invented.value or 0)
    assert "supported by the passages" in supported.reason
    assert not rubric(judge, "The warranty lasts 24 months.")["completeness"].applies
    assert not rubric(judge, "The warranty lasts 24 months.", passages=())["accuracy"].applies


@pytest.mark.parametrize(
    "answer", [" ", "?", "´"]
)  # the accent alone is a word to Unicode, but no sentence
def test_an_empty_answer_is_worth_nothing(judge: LocalJudge, answer: str) -> None:
    assert [rubric(judge, answer, "24 months")[name].value for name in RUBRIC] == [0, 0, 0, 0]


def test_saying_it_twice_is_less_coherent(judge: LocalJudge) -> None:
    once, twice = "It lasts two years. It is free.", "It lasts two years. It lasts two years."
    assert (rubric(judge, once)["coherence"].value or 0) > (
        rubric(judge, twice)["coherence"].value or 0
    )


def test_single_questions(judge: LocalJudge) -> None:
    pairs = [
        (Case("1", "How long is the warranty?"), Response(answer=text, passages=PASSAGES))
        for text in ("It lasts 24 months.", "Elvis sings on Mars.")
    ]
    good, bad = judge.judge("faithfulness", pairs)
    assert (good.value or 0) > (bad.value or 0)
    assert LABEL in good.reason
    assert not judge.judge("safety", pairs)[0].applies


def test_it_is_deterministic(judge: LocalJudge) -> None:
    first, second = (
        rubric(judge, "The warranty lasts 24 months [1].", "24 months") for _ in range(2)
    )
    assert first == second


def test_completeness_of_a_long_answer_is_its_share_of_the_expected_facts(
    judge: LocalJudge,
) -> None:
    expected = (
        "The bridge is 1,149 metres long. It was opened in 1932. It carries eight lanes of traffic. "
        "It was designed by John Bradfield."
    )
    answers = (
        "It was opened in 1932.",
        "It was opened in 1932. It was designed by John Bradfield.",
        expected,
    )
    case = Case("1", "What should I know about the bridge?", expected=(expected,))
    found = [
        row["completeness"]
        for row in judge.rubric([(case, Response(answer)) for answer in answers])
    ]
    assert [round(score.value or 0, 2) for score in found] == [1.25, 2.5, 5.0]
    assert "1 of 4 facts found" in found[0].reason


def test_it_fills_the_rubric_metrics_and_names_itself() -> None:
    judge = load_judge("local")
    names = [f"rubric.{name}" for name in RUBRIC]
    case = Case("0", "What is 2 + 2?", expected=("4",))
    pairs = [(case, Response(answer)) for answer in ("2 + 2 is 4.", "Our office is closed.")]
    right, wrong = make_plan(names, {"judge": judge}).score(pairs)
    assert (right["rubric.accuracy"].value or 0) > (wrong["rubric.accuracy"].value or 0)
    assert "local judge" in right["rubric.accuracy"].reason
    assert judge.fingerprint().startswith("local ")
    judge.close()


def test_questions_that_it_cannot_judge_are_not_applicable() -> None:
    pair = (Case("0", "What is 2 + 2?"), Response("It is 4."))
    (scores,) = make_plan(["judge.safety"], {"judge": load_judge("local")}).score([pair])
    assert not scores["judge.safety"].applies
