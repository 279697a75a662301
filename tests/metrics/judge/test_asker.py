"""Prompts that are longer than the model's window."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.llm.chat import CallFailed
from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Passage, Requirement, Response, Score

GOOD = '{"score": 0.75, "reason": "fine"}'
PAIR = (
    Case("c", "What?", expected=("x",)),
    Response("an answer", passages=(Passage("a passage"),)),
)
TONE = Requirement("It is polite.", "tone")


def relevance(judge: Any) -> Score:
    return make_plan(["judge.relevance"], {"judge": judge}).score([PAIR])[0]["judge.relevance"]


class TestWindow:
    def test_long_passages_are_cut_at_the_end_with_a_notice(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        chat = ScriptedChat([GOOD], window=2000, max_tokens=200)
        pair = (Case("c", "q"), Response("an answer", passages=(Passage("word " * 10_000),)))
        score = make_plan(["judge.faithfulness"], {"judge": ModelJudge(chat)}).score([pair])[0][
            "judge.faithfulness"
        ]
        text = chat.asked[0][-1]["content"]
        assert "the passages are cut here" in text
        assert "an answer" in text
        assert len(text) < 2000 * 4
        assert score.details["trimmed"] > 40_000
        assert "cut at the end to fit the model's window" in caplog.text

    def test_short_ones_are_not(self) -> None:
        chat = ScriptedChat([GOOD], window=8000)
        relevance(ModelJudge(chat))
        assert "cut here" not in chat.asked[0][-1]["content"]

    def test_a_prompt_that_the_endpoint_finds_too_long_is_asked_with_half_the_passages(
        self,
    ) -> None:
        def answer(messages: Any) -> Any:
            text = messages[-1]["content"]
            return (
                CallFailed("HTTP 400: maximum context length exceeded")
                if len(text) > 20_000
                else GOOD
            )

        chat = ScriptedChat(answer)
        pair = (Case("c", "q"), Response("an answer", passages=(Passage("word " * 10_000),)))
        score = make_plan(["judge.faithfulness"], {"judge": ModelJudge(chat)}).score([pair])[0][
            "judge.faithfulness"
        ]
        assert score.value == 0.75
        assert score.details["trimmed"] > 30_000

    def test_one_that_stays_too_long_is_an_error(self) -> None:
        chat = ScriptedChat([CallFailed("maximum context length exceeded")])
        pair = (Case("c", "q"), Response("an answer", passages=(Passage("word " * 10_000),)))
        score = make_plan(["judge.faithfulness"], {"judge": ModelJudge(chat)}).score([pair])[0][
            "judge.faithfulness"
        ]
        assert "longer than the model's window" in (score.error or "")
