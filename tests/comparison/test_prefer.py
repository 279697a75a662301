"""Two runs, a judge and both orders: flips, ties, win rates, bias, and what can't be compared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.comparison.prefer import NO_PREFERENCE, Preference, prefer_outcomes, preference_text
from answerkey.errors import InputError
from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.types import Case, Outcome, Response, Verdict


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path / "cache"))


def outcomes(answers: list[str | None]) -> list[Outcome]:
    return [
        Outcome(
            Case(f"c{n}", f"q{n}", expected=("right",)),
            Response(answer, error=None if answer is not None else "down"),
            {},
            Verdict("SCORED"),
        )
        for n, answer in enumerate(answers)
    ]


def compared(a: list[str | None], b: list[str | None], choose: Any) -> Preference:
    def reply(messages: Any) -> str:
        text = messages[1]["content"]
        first, second = re.findall(r"ANSWER [12]\n(.*)\n", text)
        return json.dumps({"reason": "because", "better": choose(first, second)})

    return prefer_outcomes(("a", outcomes(a)), ("b", outcomes(b)), ModelJudge(ScriptedChat(reply)))


def by_content(first: str, second: str) -> str:
    return "1" if "right" in first else "2" if "right" in second else "tie"


def by_length(first: str, second: str) -> str:
    return "1" if len(first) > len(second) else "2"


def test_a_judge_that_always_prefers_the_first_answer_has_no_preference() -> None:
    found = compared(["x"] * 20, ["y"] * 20, lambda first, second: "1")
    assert (found.flips, found.flip_rate, found.first_shown_rate) == (20, 1.0, 1.0)
    assert (found.count("A"), found.count("B"), found.count("tie")) == (0, 0, 20)
    assert (found.win_rate, found.verdict, found.p) == (0.5, NO_PREFERENCE, None)
    assert found.sentence.startswith("no preference")
    assert "100 % of the cases" in found.warnings[0]


def test_a_fair_judge_finds_the_better_run() -> None:
    found = compared(["wrong"] * 12 + ["is right"] * 2, ["is right"] * 14, by_content)
    assert (found.count("B"), found.count("A"), found.identical, found.flips) == (12, 0, 2, 0)
    assert found.verdict == "B"
    assert found.win_rate == pytest.approx(13 / 14)
    low, high = found.win_rate_ci95 or (0, 0)
    assert 0.7 < low <= found.win_rate <= high <= 1
    assert found.p == pytest.approx(2 / 2**12)


def test_swapping_the_runs_swaps_the_result() -> None:
    a, b = ["wrong"] * 9, ["is right"] * 9
    assert compared(a, b, by_content).win_rate == 1
    assert compared(b, a, by_content).win_rate == 0
    assert compared(b, a, by_content).verdict == "A"


def test_few_cases_are_no_preference() -> None:
    assert compared(["wrong"] * 3, ["right"] * 3, by_content).verdict == NO_PREFERENCE


def test_a_judge_that_prefers_length_is_shown() -> None:
    found = compared(["short"] * 15, ["a much longer answer"] * 15, by_length)
    assert found.longer_rate == 1.0
    assert any("may prefer length" in warning for warning in found.warnings)


def test_missing_answers_equal_answers_and_other_cases() -> None:
    found = compared([None, "same", "wrong"], ["x", " same ", "right", "more"], by_content)
    assert [case.winner for case in found.cases] == ["", "tie", "B"]
    assert found.cases[0].reason == "no answer in A: down"
    assert found.only_in_one == 1
    assert found.to_json()["not_applicable"] == 1


def test_a_judge_that_says_nothing_usable_is_an_error_not_a_tie() -> None:
    found = compared(["x"] * 2, ["y"] * 2, lambda first, second: "hm")
    assert (found.decided_cases, found.win_rate) == ([], None)
    assert found.to_json()["errors"] == 2
    assert "could not be judged" in found.warnings[0]


def test_runs_without_a_common_case() -> None:
    other = [Outcome(Case("z", "q"), Response("x"), {}, Verdict("SCORED"))]
    with pytest.raises(InputError, match="no case in common"):
        prefer_outcomes(("a", outcomes(["x"])), ("b", other), ModelJudge(ScriptedChat(["x"])))


def test_the_text_and_the_json() -> None:
    found = compared(["wrong"] * 12, ["is right"] * 11 + ["wrong too"], by_content)
    json.dumps(found.to_json(), allow_nan=False)
    text = preference_text(found, most=3)
    assert text.startswith("B is preferred: B wins 11 cases, A 0, 1 are ties")
    assert "and 8 more" in text


def test_from_python_with_the_local_judge_and_with_a_function() -> None:
    rows = [
        {"id": str(n), "question": f"Which city is number {n}?", "expected": f"City {n}"}
        for n in range(8)
    ]
    a = ak.evaluate(
        [{**row, "answer": "I like turtles."} for row in rows], ["exact_match"], progress=False
    )
    b = ak.evaluate(
        [{**row, "answer": row["expected"]} for row in rows], ["exact_match"], progress=False
    )
    assert ak.prefer(a, b).verdict == "B"
    found = ak.prefer(a, b, judge=lambda prompt: '{"better": "1"}')
    assert (found.flip_rate, found.verdict) == (1.0, NO_PREFERENCE)
