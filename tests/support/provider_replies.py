"""Replies and errors in the forms that the providers of the presets document, and endpoints that get them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.chats import QUICK
from tests.support.loopback import Bot

from answerkey.config.tables import PRESETS, ChatTable
from answerkey.llm.chat_settings import read_chat
from answerkey.llm.endpoint import Endpoint

HttpReply = tuple[int, str, bytes]


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
    return Endpoint(read_chat(settings, ChatTable, "[judge]"), QUICK)


def dialect_of(preset: str) -> str:
    return PRESETS[preset].get("api", "openai")


def make_error(preset: str, status: int, message: str) -> HttpReply:
    """An error of this provider: the same facts in a different body."""
    return status, "application/json", json.dumps(_error_body(preset, status, message)).encode()


def _error_body(preset: str, status: int, message: str) -> dict[str, Any]:
    if preset == "anthropic":
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    if preset == "gemini":
        return {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
    if preset == "azure":
        return {"error": {"code": str(status), "message": message}}
    if preset == "openrouter":
        return {"error": {"code": status, "message": message, "metadata": {}}, "user_id": "u"}
    if preset == "mistral":
        return {"object": "error", "message": message, "type": "invalid_request", "code": "3000"}
    if preset == "vllm":
        return {"object": "error", "message": message, "type": "BadRequestError", "code": status}
    if preset == "llama-cpp":
        return {"error": {"code": status, "message": message, "type": "invalid_request_error"}}
    if preset == "lm-studio":
        return {"error": message}
    return {"error": {"message": message, "type": "invalid_request_error", "code": None}}


def make_refusal(preset: str) -> dict[str, Any]:
    """A reply that the provider's filter stopped."""
    if preset == "anthropic":
        return anthropic_reply("", "refusal")
    if preset == "gemini":
        return gemini_reply("", "SAFETY")
    return openai_reply("", "content_filter")


def make_cut(preset: str) -> dict[str, Any]:
    """A reply that ends at the token limit."""
    endings = {"anthropic": "max_tokens", "gemini": "MAX_TOKENS"}
    return REPLIES[dialect_of(preset)]("{", endings.get(preset, "length"))
