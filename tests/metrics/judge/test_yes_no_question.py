"""Judging with yes or no: the score is the probability of yes where it is known."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.llm.chat import Reply
from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.model_judge import PROMPTS, ModelJudge
from answerkey.metrics.judge.prompt import default_frame, load_prompt
from answerkey.metrics.judge.yes_no_question import yes_no_question
from answerkey.types import Case, Pair, Passage, Requirement, Response

PAIR: Pair = (
    Case("c", "When did it open?", expected=("1932",)),
    Response("In 1932.", (Passage("It opened in 1932."),)),
)


class ProbabilityChat(ScriptedChat):
    """A scripted model that also reports the probability of yes."""

    def __init__(self, probability: float | None, text: str = "Yes") -> None:
        super().__init__([text])
        self._probability = probability

    def answer_yes_no(self, messages: Any, max_tokens: int | None = None) -> Reply:
        reply = self.complete(messages)
        return Reply(reply.text, model="scripted", yes_probability=self._probability)


@pytest.mark.parametrize("name", PROMPTS)
def test_every_criterion_of_every_prompt_has_a_question(name: str) -> None:
    prompt = load_prompt(name)
    for criterion in prompt.steps:
        question = yes_no_question(prompt, criterion, PAIR, default_frame())
        assert question.schema is None
        messages = question.messages("marker")
        assert "yes or no" in messages[0]["content"]
        assert "{ask}" not in messages[0]["content"]
        assert "In 1932." in messages[-1]["content"]


def test_the_score_is_the_probability_on_the_scale_of_the_criterion() -> None:
    chat = ProbabilityChat(0.8)
    judge = ModelJudge(chat, is_yes_no=True)
    (score,) = judge.judge("faithfulness", [PAIR])
    assert score.value == pytest.approx(0.8)
    assert score.details["probability"] == pytest.approx(0.8)
    assert score.reason == "yes with probability 0.80"
    (row,) = judge.rubric([PAIR])
    assert row["accuracy"].value == pytest.approx(4.0)
    assert row["coherence"].value == pytest.approx(2.4)
    assert len(chat.asked) == 1 + 4


@pytest.mark.parametrize(
    ("text", "value"),
    [("Yes", 1.0), ("**no**.", 0.0), ("<think>not no</think>\nYes, it is.", 1.0), (" NO", 0.0)],
)
def test_without_log_probabilities_the_word_decides(text: str, value: float) -> None:
    judge = ModelJudge(ScriptedChat([text]), is_yes_no=True)
    (score,) = judge.judge("relevance", [PAIR])
    assert score.value == value
    assert "no log-probabilities" in score.reason


def test_a_reply_that_is_neither_is_asked_for_once_more() -> None:
    chat = ScriptedChat(["It depends.", "no"])
    (score,) = ModelJudge(chat, is_yes_no=True).judge("relevance", [PAIR])
    assert score.value == 0.0
    assert "the single word yes or no" in chat.asked[1][-1]["content"]
    (score,) = ModelJudge(ScriptedChat(["It depends."]), is_yes_no=True).judge("relevance", [PAIR])
    assert "neither yes nor no" in (score.error or "")


def test_a_refusal_is_an_error() -> None:
    chat = ScriptedChat([Reply("", refusal="against the rules")])
    (score,) = ModelJudge(chat, is_yes_no=True).judge("safety", [PAIR])
    assert "the judge refused: against the rules" in (score.error or "")


@pytest.mark.parametrize(("probability", "value"), [(0.51, 1.0), (0.49, 0.0)])
def test_a_criterion_is_met_or_not_and_keeps_its_probability(
    probability: float, value: float
) -> None:
    chat = ProbabilityChat(probability)
    judge = ModelJudge(chat, is_yes_no=True)
    asked = (Requirement("It is polite.", "tone"), Requirement("It is short.", "short"))
    ((tone, short),) = judge.criteria([PAIR], [asked])
    assert tone.value == short.value == value
    assert tone.details["probability"] == probability
    assert len(chat.asked) == 2
    assert "It is polite." in chat.asked[0][0]["content"]


def test_scales_and_preferences_are_still_asked_for_as_json() -> None:
    chat = ScriptedChat(['{"c1": {"reason": "r", "quote": "no quote", "score": 3}}'])
    judge = ModelJudge(chat, is_yes_no=True)
    ((score,),) = judge.criteria([PAIR], [(Requirement("How friendly?", kind="0-5"),)])
    assert score.value == 3
    assert chat.schemas[0] is not None


def test_votes_take_the_median() -> None:
    chat = ScriptedChat(["yes", "no", "yes"])
    (score,) = ModelJudge(chat, votes=3, concurrency=1, is_yes_no=True).judge("safety", [PAIR])
    assert score.value == 1.0
    assert score.details["spread"] == 1.0


def test_the_mode_is_part_of_the_fingerprint() -> None:
    plain = load_judge({"preset": "ollama", "model": "m"})
    yes_no = load_judge({"preset": "ollama", "model": "m", "mode": "yes-no"})
    assert plain.fingerprint() != yes_no.fingerprint()
    assert (
        plain.fingerprint()
        == load_judge({"preset": "ollama", "model": "m", "mode": "json"}).fingerprint()
    )
    for judge in (plain, yes_no):
        judge.close()
