"""The judge's card: what it counts, what it warns of, and what is known about a judge from earlier."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from answerkey.llm.chat import Reply
from answerkey.llm.scripted import ScriptedChat
from answerkey.llm.verdict import flags_of
from answerkey.metrics.judge.card import JudgeTally, card_lines, judge_card
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.metrics.judge.track_record import (
    CalibrationResult,
    ExamResult,
    KindResult,
    remember,
    track_record,
)
from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Outcome, Response, Score, Verdict

RUBRIC = ("rubric.accuracy", "rubric.completeness")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path))


def grades(accuracy: float, **more: Any) -> Reply:
    text = {
        "reasoning": "r",
        "accuracy": accuracy,
        "completeness": 3,
        "citation_quality": 3,
        "coherence": 2,
    }
    return Reply(json.dumps(text), model="m", **more)


def tally(judge: Any, answers: list[str]) -> JudgeTally:
    pairs = [
        (Case(f"c{n}", "q", expected=("x",)), Response(answer)) for n, answer in enumerate(answers)
    ]
    found = JudgeTally()
    for (case, response), scores in zip(
        pairs, make_plan(RUBRIC, {"judge": judge}).score(pairs), strict=True
    ):
        found.add(Outcome(case, response, scores, Verdict("SCORED")))
    return found


def card(judge: Any, answers: list[str]) -> Any:
    made = judge_card(tally(judge, answers), judge.fingerprint())
    assert made is not None
    json.dumps(asdict(made), allow_nan=False)
    return made


def test_calls_tokens_and_cost_are_counted_once_per_call() -> None:
    reply = grades(4, prompt_tokens=100, completion_tokens=10, cost=0.5)
    made = card(ModelJudge(ScriptedChat([reply])), ["a", "b", "c"])
    assert (made.calls, made.scores, made.errors, made.reasks) == (3, 6, 0, 0)
    assert (made.prompt_tokens, made.completion_tokens, made.cost) == (300, 30, 1.5)


def test_unknown_figures_are_not_zero() -> None:
    made = card(ModelJudge(ScriptedChat([grades(4)])), ["a"])
    assert (made.prompt_tokens, made.cost) == (None, None)
    assert "cost unknown" in "\n".join(card_lines(made))


def test_errors_and_re_asks() -> None:
    made = card(ModelJudge(ScriptedChat(["?", grades(4), "?"]), concurrency=1), ["a", "b"])
    assert (made.calls, made.reasks, made.errors) == (4, 2, 2)
    assert any("2 of 4 judged scores are errors" in warning for warning in made.warnings)


def test_a_judge_that_prefers_length_is_shown() -> None:
    def by_length(messages: Any) -> Reply:
        answer = messages[-1]["content"].rsplit("ANSWER\n", 1)[1]
        return grades(min(5, len(answer) // 100))

    made = card(ModelJudge(ScriptedChat(by_length)), ["word " * n for n in range(5, 100, 5)])
    assert made.length_correlation["rubric.accuracy"].r > 0.8
    assert any("rises with the length" in warning for warning in made.warnings)
    assert "warning: rubric.accuracy rises with the length" in "\n".join(card_lines(made))


def test_a_fair_judge_is_not_suspected() -> None:
    rng = random.Random(1)
    made = card(
        ModelJudge(ScriptedChat(lambda m: grades(rng.randint(0, 5)))),
        ["word " * rng.randint(5, 90) for _ in range(60)],
    )
    assert not made.warnings


def test_the_local_judge_has_a_card_without_calls() -> None:
    made = card(load_judge("local"), ["x", "y is the answer"])
    assert (made.judge, made.calls, made.models) == ("local", 0, {"local": 4})
    assert "no model calls" in "\n".join(card_lines(made))


def test_nothing_judged_no_card() -> None:
    assert judge_card(JudgeTally(), "none") is None


def test_parts_can_be_merged_and_stored() -> None:
    judge = ModelJudge(ScriptedChat([grades(4), grades(1), grades(5)]), concurrency=1)
    first, second = tally(judge, ["a bc", "b"]), tally(judge, ["cccc"])
    whole = tally(
        ModelJudge(ScriptedChat([grades(4), grades(1), grades(5)]), concurrency=1),
        ["a bc", "b", "cccc"],
    )
    merged = msgspec.json.decode(msgspec.json.encode(first), type=JudgeTally)
    merged.merge(second)
    for name, moments in merged.lengths.items():
        assert moments.correlation == pytest.approx(whole.lengths[name].correlation)
    assert replace(merged, lengths={}) == replace(whole, lengths={})


def test_exam_and_calibration_are_shown_where_known() -> None:
    judge = ModelJudge(ScriptedChat([grades(4)]))
    remember(
        judge.fingerprint(),
        exam=ExamResult(judge.name, False, 30, 60, 0, 0.8, ["order"], {"order": KindResult(1, 6)}),
    )
    remember(
        judge.fingerprint(),
        calibration={"rubric.accuracy": CalibrationResult(50, auroc=0.9, kappa=0.6)},
    )
    text = "\n".join(card_lines(card(judge, ["a"])))
    assert "exam: failed, 30 of 60 right (order 1/6)" in text
    assert "calibration of rubric.accuracy: AUROC 0.90" in text
    assert "warning: the judge failed its exam" in text
    other = ModelJudge(ScriptedChat([grades(4)], model="another"))
    assert track_record(other.fingerprint()).exam is None


@pytest.mark.parametrize(
    ("reason", "share", "flags"),
    [("The answer is completely wrong.", 1.0, 1), ("It contradicts the passages.", 0.9, 1), ("The answer is fully correct.", 0.0, 1),
     ("Nothing in it is wrong.", 1.0, 0), ("It does not contradict the passages.", 1.0, 0), ("It is right, but fails to name the date.", 0.8, 0),
     ("The answer is fully correct.", 1.0, 0), ("The answer is wrong.", 0.0, 0), ("", 1.0, 0), ("reason", 1.0, 1), ("...", 0.5, 1), ("<string>", 0.5, 1)],
)  # fmt: skip
def test_reasons_that_contradict_or_say_nothing(reason: str, share: float, flags: int) -> None:
    assert len(flags_of(reason, share)) == flags


def test_a_reason_copied_from_the_prompt() -> None:
    prompt = "First say in one or two sentences what was difficult and how the answer coped, then give the score."
    assert flags_of(
        "Say in one or two sentences what was difficult and how the answer coped.", 0.5, prompt
    )


def test_a_flag_is_added_to_the_reason() -> None:
    chat = ScriptedChat(['{"reason": "The answer is completely wrong.", "score": 1}'])
    (score,) = ModelJudge(chat).judge("relevance", [(Case("c", "q"), Response("a"))])
    assert isinstance(score, Score)
    assert score.reason.endswith("[the reason contradicts the score]")
