"""Every preset against an endpoint on loopback that answers as the provider documents it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.loopback import Bot

from answerkey.config.tables import PRESETS, ChatTable
from answerkey.errors import EndpointError
from answerkey.llm.chat import Reply
from answerkey.llm.chat_settings import read_chat
from answerkey.llm.dialects import without_limits
from answerkey.llm.endpoint import Endpoint
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.types import Case, Response

pytestmark = pytest.mark.network

VERDICT = json.dumps({"reason": "it is right", "score": 0.8})
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["score"],
    "additionalProperties": False,
}
MESSAGES = [
    {"role": "system", "content": "You judge."},
    {"role": "user", "content": "Is it right?"},
    {"role": "assistant", "content": "Which?"},
    {"role": "user", "content": "This."},
]


def openai_reply(text: str, finish: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "served",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def anthropic_reply(text: str, stop: str = "end_turn") -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}],
        "stop_reason": stop,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }


def gemini_reply(text: str, finish: str = "STOP") -> dict[str, Any]:
    parts = [{"text": "hm", "thought": True}, {"text": text}]
    return {
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": finish}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7},
        "modelVersion": "served",
    }


REPLIES: dict[str, Callable[..., dict[str, Any]]] = {
    "openai": openai_reply,
    "anthropic": anthropic_reply,
    "gemini": gemini_reply,
}


def make_settings(preset: str, bot: Bot, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    facts = PRESETS[preset]
    if variable := facts.get("api_key_env"):
        monkeypatch.setenv(variable, "secret-key")
    return {"preset": preset, "base_url": f"{bot.url}/v1", "model": facts.get("model", "m")}


def open_endpoint(preset: str, bot: Bot, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    settings = make_settings(preset, bot, monkeypatch)
    return Endpoint(read_chat(settings, ChatTable, "[judge]"))


def dialect_of(preset: str) -> str:
    return PRESETS[preset].get("api", "openai")


@pytest.mark.parametrize("preset", PRESETS)
def test_a_judge_by_preset_gets_its_verdict(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Bot(lambda _: REPLIES[dialect_of(preset)](VERDICT)) as bot:
        judge = load_judge({**make_settings(preset, bot, monkeypatch), "cache": False})
        pair = (Case("1", "When?"), Response("In 1932."))
        (score,) = judge.judge("relevance", [pair])
        judge.close()
        assert score.value == 0.8
        assert score.details["prompt_tokens"] == 11
        assert score.details["completion_tokens"] == 7
        (request,) = bot.requests
    headers = {name.lower(): value for name, value in request["headers"].items()}
    key_header = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}.get(dialect_of(preset))
    key_header = key_header or PRESETS[preset].get("key_header")
    if key_header:
        assert headers[key_header] == "secret-key"
        assert "authorization" not in headers
    elif PRESETS[preset].get("api_key_env"):
        assert headers["authorization"] == "Bearer secret-key"
    assert "secret-key" not in request["path"]


def test_the_request_of_anthropic(monkeypatch: pytest.MonkeyPatch) -> None:
    with Bot(lambda _: anthropic_reply(VERDICT)) as bot:
        endpoint = open_endpoint("anthropic", bot, monkeypatch)
        reply = endpoint.complete(MESSAGES, SCHEMA)
        endpoint.close()
        (request,) = bot.requests
    assert request["path"] == "/v1/messages"
    assert request["headers"]["anthropic-version"] == "2023-06-01"
    body = request["body"]
    assert body["system"] == "You judge."
    assert [each["role"] for each in body["messages"]] == ["user", "assistant", "user"]
    form = body["output_config"]["format"]
    assert form == {"type": "json_schema", "schema": without_limits(SCHEMA)}
    assert "maximum" not in json.dumps(form)
    assert body["max_tokens"] == 2048
    assert (reply.text, reply.reasoning, reply.model) == (VERDICT, "hm", "served")


def test_the_request_of_gemini(monkeypatch: pytest.MonkeyPatch) -> None:
    with Bot(lambda _: gemini_reply(VERDICT)) as bot:
        endpoint = open_endpoint("gemini", bot, monkeypatch)
        reply = endpoint.complete(MESSAGES, SCHEMA)
        endpoint.close()
        (request,) = bot.requests
    assert request["path"] == "/v1/models/gemini-2.5-flash:generateContent"
    body = request["body"]
    assert body["systemInstruction"] == {"parts": [{"text": "You judge."}]}
    assert [each["role"] for each in body["contents"]] == ["user", "model", "user"]
    config = body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["required"] == ["score"]
    assert config["maxOutputTokens"] == 2048
    assert (reply.text, reply.reasoning) == (VERDICT, "hm")


@pytest.mark.parametrize(
    ("preset", "body"),
    [
        ("openai", openai_reply("", "content_filter")),
        ("anthropic", anthropic_reply("", "refusal")),
        ("gemini", gemini_reply("", "SAFETY")),
        ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}}),
    ],
)
def test_a_refusal_is_a_refusal(
    preset: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(preset, body, monkeypatch).refusal


@pytest.mark.parametrize(
    ("preset", "body"),
    [
        ("openai", openai_reply("{", "length")),
        ("anthropic", anthropic_reply("{", "max_tokens")),
        ("gemini", gemini_reply("{", "MAX_TOKENS")),
    ],
)
def test_a_reply_that_was_cut_is_marked(
    preset: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(preset, body, monkeypatch).truncated


def ask(preset: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Reply:
    with Bot(lambda _: body) as bot:
        endpoint = open_endpoint(preset, bot, monkeypatch)
        reply = endpoint.complete(MESSAGES[:2], SCHEMA)
        endpoint.close()
    return reply


ERRORS = {
    "openai": {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error"}},
    "anthropic": {
        "type": "error",
        "error": {"type": "authentication_error", "message": "invalid x-api-key"},
    },
    "gemini": {"error": {"code": 401, "message": "API key not valid", "status": "UNAUTHENTICATED"}},
}


@pytest.mark.parametrize("preset", REPLIES)
def test_a_wrong_key_stops_at_once(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = (401, "application/json", json.dumps(ERRORS[preset]).encode())
    with Bot(lambda _: reply) as bot:
        endpoint = open_endpoint(preset, bot, monkeypatch)
        with pytest.raises(EndpointError):
            endpoint.complete(MESSAGES[:2])
        endpoint.close()
        assert len(bot.requests) == 1


@pytest.mark.parametrize("preset", REPLIES)
def test_a_busy_endpoint_is_asked_again(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = {"openai": 429, "anthropic": 529, "gemini": 503}[preset]
    answers = [
        (busy, "application/json", b'{"error": {"message": "Overloaded"}}'),
        REPLIES[preset](VERDICT),
    ]
    with Bot(lambda _: answers.pop(0)) as bot:
        endpoint = open_endpoint(preset, bot, monkeypatch)
        assert endpoint.complete(MESSAGES[:2], SCHEMA).text == VERDICT
        endpoint.close()


def test_a_schema_that_is_refused_is_asked_for_as_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older model of Anthropic: no output_config, but tools."""

    def answer(body: dict[str, Any]) -> Any:
        if "tools" not in body:
            message = {"type": "invalid_request_error", "message": "output_config: not allowed"}
            content = json.dumps({"type": "error", "error": message}).encode()
            return (
                (400, "application/json", content)
                if "output_config" in body
                else anthropic_reply("no json")
            )
        call = {"type": "tool_use", "id": "t", "name": "verdict", "input": {"score": 1}}
        return {**anthropic_reply("", "tool_use"), "content": [call]}

    with Bot(answer) as bot:
        settings = {**make_settings("anthropic", bot, monkeypatch), "structured_output": "tool"}
        endpoint = Endpoint(read_chat(settings, ChatTable, "[judge]"))
        assert endpoint.complete(MESSAGES[:2], SCHEMA).text == '{"score": 1}'
        endpoint.close()
        assert bot.requests[0]["body"]["tool_choice"] == {"type": "tool", "name": "verdict"}


def test_settings_of_the_default_model_do_not_count_for_another() -> None:
    settings = read_chat({"preset": "groq", "model": "other"}, ChatTable, "[judge]")
    assert settings.structured_output is None
    assert read_chat("groq", ChatTable, "[judge]").structured_output == "json_object"
