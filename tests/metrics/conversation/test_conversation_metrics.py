"""Conversation metrics on written conversations: failures are found, good ones are not accused.

Each set of 60 in more_conversations.jsonl was written after the methods that it was first measured with,
and then used to improve them. Failures found at first sight: third-* 21 of 30, fourth-* 22, fifth-* 23,
sixth-* 24, seventh-* 21, each with at most 3 false alarms per metric. `tools/fit_conversations.py` fits the weights
with them and with the eighth-* and ninth-* conversations. Nothing was fitted on, or changed for, tenth-*:
FIRST_SIGHT has what was found there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Response, Score, Turn

CONVERSATIONS = [
    json.loads(line)
    for name in (
        "conversations.jsonl",
        "later_conversations.jsonl",
        "more_conversations.jsonl",
        "fitted_conversations.jsonl",
    )
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines()
]
LATER_SETS = ("second-", "third-", "fourth-", "fifth-", "sixth-", "seventh-")
HARD_SETS = ("eighth-", "ninth-")
UNSEEN = [
    json.loads(line)
    for line in Path(__file__)
    .with_name("tenth_conversations.jsonl")
    .read_text("utf-8")
    .splitlines()
]
# Share of the failures found, and of the other conversations accused.
FIRST_SIGHT = {
    "resolved": (8 / 8, 4 / 52),
    "asked_again": (7 / 8, 0 / 52),
    "contradicts_itself": (6 / 8, 5 / 52),
    "language_kept": (6 / 6, 0 / 54),
}
SLACK = 0.02
METRICS = ("resolved", "asked_again", "contradicts_itself", "language_kept")


def _score(row: dict[str, Any]) -> dict[str, Score]:
    turns = tuple(Turn(user, answer) for user, answer in row["turns"])
    case = Case(row["id"], turns[0].user)
    pair = (case, Response(turns[-1].answer, turns=turns))
    return make_plan([*METRICS, "turns_to_resolution"], {}).score([pair])[0]


def _failures(scores: dict[str, Score]) -> set[str]:
    failing = {"resolved": 0.0, "asked_again": 1.0, "contradicts_itself": 1.0}
    names = {name for name, value in failing.items() if scores[name].value == value}
    kept = scores["language_kept"].value
    return names | ({"language_kept"} if kept is not None and kept < 1 else set())


@pytest.fixture(scope="module")
def measured() -> dict[str, set[str]]:
    return {row["id"]: _failures(_score(row)) for row in CONVERSATIONS}


def _missed_share(name: str, ids: Sequence[str], measured: dict[str, set[str]]) -> float:
    rows = [row["id"] for row in CONVERSATIONS if name in row["fails"] and row["id"] in ids]
    return sum(name not in measured[row] for row in rows) / len(rows)


def test_each_failure_is_found(measured: dict[str, set[str]]) -> None:
    ids = [row["id"] for row in CONVERSATIONS]
    for name in METRICS:
        first_sets = [each for each in ids if not each.startswith(LATER_SETS + HARD_SETS)]
        assert _missed_share(name, first_sets, measured) <= 0.15, name
        # The small entailment model misses contradictions that need knowledge of the world.
        most = 0.25 if name == "contradicts_itself" else 0.15
        written_earlier = [each for each in ids if not each.startswith(HARD_SETS)]
        assert _missed_share(name, written_earlier, measured) <= most, name


def test_about_half_of_the_hard_contradictions_are_found(measured: dict[str, set[str]]) -> None:
    hard = [row["id"] for row in CONVERSATIONS if row["id"].startswith(HARD_SETS)]
    assert _missed_share("contradicts_itself", hard, measured) <= 0.5
    assert _missed_share("resolved", hard, measured) <= 0.25


def test_there_are_few_false_alarms(measured: dict[str, set[str]]) -> None:
    alarms: Counter[str] = Counter()
    for row in CONVERSATIONS:
        alarms.update(measured[row["id"]] - set(row["fails"]))
    for name in METRICS:
        count = sum(name not in row["fails"] for row in CONVERSATIONS)
        assert alarms[name] / count <= 0.1, (name, alarms)


@pytest.mark.parametrize("name", METRICS)
def test_the_figures_of_an_unseen_set_hold(name: str) -> None:
    found: list[bool] = []
    accused: list[bool] = []
    for row in UNSEEN:
        is_reported = name in _failures(_score(row))
        if name in row["fails"]:
            found.append(is_reported)
        else:
            accused.append(is_reported)
    found_share, accused_share = FIRST_SIGHT[name]
    assert sum(found) / len(found) >= found_share - SLACK
    assert sum(accused) / len(accused) <= accused_share + SLACK


def test_turns_until_the_thanks_are_counted() -> None:
    row = {
        "id": "x",
        "turns": [["Open?", "From 9 to 5."], ["On Sunday?", "No."], ["Thanks", "Bye"]],
    }
    assert _score(row)["turns_to_resolution"].value == 2.0


def test_other_languages_are_not_judged_by_english_phrases() -> None:
    turns = [
        ["Wo ist meine Bestellung und wann kommt sie an?", "Die Bestellung kommt morgen an."],
        ["Das hilft mir nicht, ich will mit einem Menschen reden.", "Das tut mir leid."],
    ]
    scores = _score({"id": "x", "turns": turns})
    assert scores["resolved"].value is None
    assert "English only" in scores["resolved"].reason
    assert scores["language_kept"].value == 1.0


def test_a_single_question_is_no_conversation() -> None:
    pair = (Case("q1", "Open?"), Response("Yes."))
    scores = make_plan(METRICS, {}).score([pair])[0]
    assert {score.value for score in scores.values()} == {None}


def test_a_turn_is_judged_by_its_own_answer_only() -> None:
    history = (
        Turn("My order number is 99123, where is it?", "What is your order number?"),
        Turn("99123", "It arrives on Tuesday."),
    )
    case = Case("q1", "And when on Tuesday?", history=history)
    scores = make_plan(METRICS, {}).score([(case, Response("At ten."))])[0]
    assert scores["asked_again"].value == 0.0
