"""Every preset against an endpoint on loopback that answers as the provider documents it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.loopback import Bot
from tests.support.provider_replies import (
    REPLIES,
    anthropic_reply,
    dialect_of,
    gemini_reply,
    make_cut,
    make_error,
    make_refusal,
    make_settings,
    open_endpoint,
)

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
    assert request["path"] == "/v1/models/gemini-3.5-flash-lite:generateContent"
    body = request["body"]
    assert body["systemInstruction"] == {"parts": [{"text": "You judge."}]}
    assert [each["role"] for each in body["contents"]] == ["user", "model", "user"]
    config = body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["required"] == ["score"]
    assert config["maxOutputTokens"] == 2048
    assert (reply.text, reply.reasoning) == (VERDICT, "hm")


def ask(preset: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Reply:
    with Bot(lambda _: body) as bot:
        endpoint = open_endpoint(preset, bot, monkeypatch)
        reply = endpoint.complete(MESSAGES[:2], SCHEMA)
        endpoint.close()
    return reply


@pytest.mark.parametrize("preset", PRESETS)
def test_a_refusal_is_a_refusal(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(preset, make_refusal(preset), monkeypatch).refusal


def test_a_prompt_that_gemini_blocks_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}}
    assert ask("gemini", body, monkeypatch).refusal


@pytest.mark.parametrize("preset", PRESETS)
def test_a_reply_that_was_cut_is_marked(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(preset, make_cut(preset), monkeypatch).truncated


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_stops_at_once(
    preset: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Bot(lambda _: make_error(preset, status, "no such thing")) as bot:
        endpoint = open_endpoint(preset, bot, monkeypatch)
        with pytest.raises(EndpointError, match="no such thing"):
            endpoint.complete(MESSAGES[:2])
        endpoint.close()
        assert len(bot.requests) == 1


@pytest.mark.parametrize("preset", PRESETS)
def test_a_used_up_quota_stops_at_once(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # DeepSeek and OpenRouter answer 402, the others 429 with a message about the quota.
    status = 402 if preset in ("deepseek", "openrouter") else 429
    with Bot(lambda _: make_error(preset, status, "You exceeded your current quota")) as bot:
        endpoint = open_endpoint(preset, bot, monkeypatch)
        with pytest.raises(EndpointError):
            endpoint.complete(MESSAGES[:2])
        endpoint.close()
        assert len(bot.requests) == 1


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again(
    preset: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if preset == "anthropic" and status == 503:
        status = 529  # its "overloaded_error"
    answers = [make_error(preset, status, "Overloaded"), REPLIES[dialect_of(preset)](VERDICT)]
    with Bot(lambda _: answers.pop(0)) as bot:
        endpoint = open_endpoint(preset, bot, monkeypatch)
        assert endpoint.complete(MESSAGES[:2], SCHEMA).text == VERDICT
        endpoint.close()
        assert len(bot.requests) == 2


@pytest.mark.parametrize("preset", PRESETS)
def test_structured_output_is_asked_for_as_the_provider_documents_it(
    preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Bot(lambda _: REPLIES[dialect_of(preset)](VERDICT)) as bot:
        endpoint = open_endpoint(preset, bot, monkeypatch)
        endpoint.complete(MESSAGES[:2], SCHEMA)
        endpoint.close()
        (request,) = bot.requests
    body = request["body"]
    if preset == "anthropic":
        form = body["output_config"]["format"]["type"]
    elif preset == "gemini":
        form = "json_schema" if "responseJsonSchema" in body["generationConfig"] else ""
    else:
        form = body["response_format"]["type"]
    assert form == PRESETS[preset]["structured_output"]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_form_that_is_refused_is_asked_for_in_another_way(
    preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each endpoint refuses every form but the prompt; the verdict comes all the same, and the form is remembered."""

    def answer(body: dict[str, Any]) -> Any:
        config = body.get("generationConfig", {})
        forms = ("response_format", "output_config", "tools")
        if any(name in body for name in forms) or "responseMimeType" in config:
            return make_error(preset, 400, "this form is not supported")
        return REPLIES[dialect_of(preset)](VERDICT)

    with Bot(answer) as bot:
        endpoint = open_endpoint(preset, bot, monkeypatch)
        assert endpoint.complete(MESSAGES[:2], SCHEMA).text == VERDICT
        tried = len(bot.requests)
        assert endpoint.complete(MESSAGES[:2], SCHEMA).text == VERDICT
        endpoint.close()
        assert len(bot.requests) == tried + 1


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
    settings = read_chat({"preset": "deepseek", "model": "other"}, ChatTable, "[judge]")
    assert settings.structured_output is None
    assert read_chat("deepseek", ChatTable, "[judge]").structured_output == "json_object"
