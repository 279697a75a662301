"""The probability of yes from the tokens of a reply, and what is asked for after a refusal."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from tests.support.loopback import Bot
from tests.support.provider_replies import (
    anthropic_reply,
    gemini_reply,
    open_endpoint,
    openai_reply,
)

from answerkey.llm.log_probabilities import LogProbabilities, read_yes_probability

pytestmark = pytest.mark.network
QUESTION = [{"role": "user", "content": "Is it right?"}]


def token(text: str, *top: tuple[str, float]) -> dict[str, Any]:
    """One token with its alternatives, given as probabilities."""
    alternatives = [{"token": each, "logprob": math.log(share)} for each, share in top]
    return {"token": text, "logprob": -0.1, "top_logprobs": alternatives}


def test_all_spellings_of_yes_and_no_count() -> None:
    entry = token("Yes", ("Yes", 0.5), (" yes", 0.1), ("▁YES", 0.1), ("No", 0.2), ("maybe", 0.1))
    assert read_yes_probability({"content": [entry]}) == pytest.approx(0.7 / 0.9)


def test_tokens_before_the_word_are_skipped() -> None:
    entries = [token("\n"), token("**"), token("No", ("No", 0.9), ("Yes", 0.1))]
    assert read_yes_probability({"content": entries}) == pytest.approx(0.1)


@pytest.mark.parametrize(
    "logprobs",
    [
        None, {}, [], "x", {"content": None}, {"content": [1, None, "yes"]},
        {"content": [token("Maybe", ("Yes", 0.5))]}, {"content": [token("I")] * 20 + [token("yes")]},
        {"content": [{"token": "yes", "logprob": "high", "top_logprobs": []}]},
        {"content": [{"token": "yes", "logprob": 3.0}]},
    ],
)  # fmt: skip
def test_a_reply_without_usable_log_probabilities_has_none(logprobs: object) -> None:
    assert read_yes_probability(logprobs) is None


def test_fewer_alternatives_are_asked_for_after_a_refusal(
    caplog: pytest.LogCaptureFixture,
) -> None:
    state = LogProbabilities("m")
    assert state.count == 20
    assert not state.lower(20, "no such model")
    assert state.lower(20, "top_logprobs must be at most 5")
    assert state.count == 5
    assert state.lower(20, "top_logprobs must be at most 5")  # a call that was under way
    assert state.count == 5
    assert state.lower(5, "Logprobs are not supported")
    assert state.count == 0
    assert "reports no log-probabilities" in caplog.text
    assert not state.lower(0, "logprobs")


def test_the_form_of_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    reply = openai_reply("Yes")
    reply["choices"][0]["logprobs"] = {"content": [token("Yes", ("Yes", 0.8), ("No", 0.2))]}
    with Bot(lambda _: reply) as bot:
        endpoint = open_endpoint("openai", bot, monkeypatch)
        read = endpoint.answer_yes_no(QUESTION)
        endpoint.close()
        (request,) = bot.requests
    assert read.yes_probability == pytest.approx(0.8)
    assert (request["body"]["logprobs"], request["body"]["top_logprobs"]) == (True, 20)
    assert "response_format" not in request["body"]


def test_the_form_of_gemini(monkeypatch: pytest.MonkeyPatch) -> None:
    reply = gemini_reply("No")
    reply["candidates"][0]["logprobsResult"] = {
        "chosenCandidates": [{"token": "No", "logProbability": math.log(0.7)}],
        "topCandidates": [
            {
                "candidates": [
                    {"token": "No", "logProbability": math.log(0.7)},
                    {"token": "Yes", "logProbability": math.log(0.3)},
                ]
            }
        ],
    }
    with Bot(lambda _: reply) as bot:
        endpoint = open_endpoint("gemini", bot, monkeypatch)
        read = endpoint.answer_yes_no(QUESTION)
        endpoint.close()
        (request,) = bot.requests
    assert read.yes_probability == pytest.approx(0.3)
    config = request["body"]["generationConfig"]
    assert (config["responseLogprobs"], config["logprobs"]) == (True, 20)


def test_anthropic_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with Bot(lambda _: anthropic_reply("Yes")) as bot:
        endpoint = open_endpoint("anthropic", bot, monkeypatch)
        read = endpoint.answer_yes_no(QUESTION)
        endpoint.close()
        assert "logprobs" not in json.dumps(bot.requests[0]["body"])
    assert (read.text, read.yes_probability) == ("Yes", None)


def test_an_endpoint_that_refuses_them_is_asked_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if "logprobs" in body:
            error = {"error": {"message": "`logprobs` is not supported with this model"}}
            return 400, "application/json", json.dumps(error).encode()
        return openai_reply("yes")

    with Bot(answer) as bot:
        endpoint = open_endpoint("groq", bot, monkeypatch)
        assert [endpoint.answer_yes_no(QUESTION).text for _ in range(2)] == ["yes", "yes"]
        endpoint.close()
        assert [each["body"].get("top_logprobs") for each in bot.requests] == [20, 5, None, None]
