"""How providers want a request and give a reply: that of OpenAI, which most take, and the native ones of two others.

The native ones exist because the OpenAI-compatible endpoint of Anthropic ignores `response_format`, and that of Gemini takes
fewer schemas. A dialect turns a request in OpenAI's form into its own, and its reply back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, cast
from urllib.parse import quote

from answerkey.coerce.values import is_list, is_mapping, table_of

Body = dict[str, Any]
DialectName = Literal["openai", "anthropic", "gemini"]
# Anthropic's structured output takes no limits of numbers and lengths.
_LIMITS = frozenset({"minimum", "maximum", "minLength", "maxLength", "multipleOf", "maxItems"})
_ANTHROPIC_VERSION = "2023-06-01"  # the header is required
_ANTHROPIC_ENDINGS = {"max_tokens": "length", "refusal": "content_filter"}
_GEMINI_ENDINGS = {
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "BLOCKLIST": "content_filter",
    "SPII": "content_filter",
}


class Dialect(Protocol):
    """The address, the headers, the request and the reply of one kind of endpoint."""

    def address(self, base_url: str, model: str) -> str: ...

    def headers(self, key: str) -> dict[str, str]: ...

    def request(self, body: Body) -> Body: ...

    def reply(self, body: Body) -> Body: ...


class OpenAiDialect:
    """`/chat/completions`; Azure wants the key in a header of its own."""

    def __init__(self, key_header: str = "") -> None:
        self._key_header = key_header

    def address(self, base_url: str, model: str) -> str:
        return f"{base_url}/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        if self._key_header:
            return {self._key_header: key}
        return {"authorization": f"Bearer {key}"}

    def request(self, body: Body) -> Body:
        return body

    def reply(self, body: Body) -> Body:
        return body


class AnthropicDialect:
    """`/messages`, with `output_config` for structured output."""

    def address(self, base_url: str, model: str) -> str:
        return f"{base_url}/messages"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": _ANTHROPIC_VERSION}

    def request(self, body: Body) -> Body:
        system, messages = _split_system(body["messages"])
        native: Body = {
            "model": body["model"],
            "max_tokens": body.get("max_tokens") or body.get("max_completion_tokens") or 1024,
            "messages": messages,
        }
        if system:
            native["system"] = system
        if "temperature" in body:
            native["temperature"] = body["temperature"]
        form = table_of(body.get("response_format"))
        if form.get("type") == "json_schema":
            schema = without_limits(table_of(form["json_schema"])["schema"])
            native["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        if body.get("tools"):
            tool = cast("Body", table_of(body["tools"][0])["function"])
            native["tools"] = [
                {
                    "name": tool["name"],
                    "description": tool["description"],
                    "input_schema": tool["parameters"],
                }
            ]
            native["tool_choice"] = {"type": "tool", "name": tool["name"]}
        return native

    def reply(self, body: Body) -> Body:
        if "content" not in body:
            return body
        blocks = [table_of(block) for block in body["content"]]
        calls = [block for block in blocks if block.get("type") == "tool_use"]
        content = "".join(str(block.get("text") or "") for block in blocks)
        if calls and not content:
            content = json.dumps(calls[0].get("input"))
        usage = table_of(body.get("usage"))
        reasoning = "".join(str(block.get("thinking") or "") for block in blocks)
        return _completion(
            body.get("model"),
            content,
            reasoning,
            _ANTHROPIC_ENDINGS.get(str(body.get("stop_reason")), "stop"),
            (usage.get("input_tokens"), usage.get("output_tokens")),
        )


class GeminiDialect:
    """`models/NAME:generateContent`, with `responseJsonSchema` for structured output."""

    def address(self, base_url: str, model: str) -> str:
        return f"{base_url}/models/{quote(model, safe='')}:generateContent"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def request(self, body: Body) -> Body:
        system, messages = _split_system(body["messages"])
        roles = {"assistant": "model"}
        contents = [
            {
                "role": roles.get(message["role"], "user"),
                "parts": [{"text": message["content"]}],
            }
            for message in messages
        ]
        config: Body = {}
        if "temperature" in body:
            config["temperature"] = body["temperature"]
        limit = body.get("max_tokens") or body.get("max_completion_tokens")
        if limit:
            config["maxOutputTokens"] = limit
        if body.get("logprobs"):
            config["responseLogprobs"] = True
            config["logprobs"] = body["top_logprobs"]
        form = table_of(body.get("response_format"))
        if form:
            config["responseMimeType"] = "application/json"
        if form.get("type") == "json_schema":
            config["responseJsonSchema"] = table_of(form["json_schema"])["schema"]
        native: Body = {"contents": contents, "generationConfig": config}
        if system:
            native["systemInstruction"] = {"parts": [{"text": system}]}
        return native

    def reply(self, body: Body) -> Body:
        usage = table_of(body.get("usageMetadata"))
        read = usage.get("promptTokenCount")
        written = usage.get("candidatesTokenCount")
        blocked = table_of(body.get("promptFeedback")).get("blockReason")
        if blocked:
            return _completion(body.get("modelVersion"), "", "", "content_filter", (read, written))
        if "candidates" not in body:
            return body
        candidate = table_of(body["candidates"][0])
        content = cast("list[object]", table_of(candidate.get("content")).get("parts") or [])
        parts = [table_of(part) for part in content]
        text = "".join(str(part.get("text") or "") for part in parts if not part.get("thought"))
        thoughts = "".join(str(part.get("text") or "") for part in parts if part.get("thought"))
        ending = _GEMINI_ENDINGS.get(str(candidate.get("finishReason")), "stop")
        completion = _completion(body.get("modelVersion"), text, thoughts, ending, (read, written))
        completion["choices"][0]["logprobs"] = _gemini_logprobs(candidate.get("logprobsResult"))
        return completion


def _gemini_logprobs(result: object) -> Body:
    """The chosen tokens and their alternatives in the form of OpenAI."""
    table = table_of(result)
    chosen = cast("list[object]", table.get("chosenCandidates") or [])
    steps = cast("list[object]", table.get("topCandidates") or [])
    alternatives = [
        [
            _gemini_token(each)
            for each in cast("list[object]", table_of(step).get("candidates") or [])
        ]
        for step in steps
    ]
    content = [
        {**_gemini_token(token), "top_logprobs": alternatives[n] if n < len(alternatives) else []}
        for n, token in enumerate(chosen)
    ]
    return {"content": content}


def _gemini_token(candidate: object) -> Body:
    table = table_of(candidate)
    return {"token": table.get("token"), "logprob": table.get("logProbability")}


def choose_dialect(name: DialectName, key_header: str = "") -> Dialect:
    if name == "anthropic":
        return AnthropicDialect()
    if name == "gemini":
        return GeminiDialect()
    return OpenAiDialect(key_header)


def _completion(
    model: object, text: str, reasoning: str, ending: str, tokens: tuple[object, object]
) -> Body:
    """A reply in the form of OpenAI."""
    message = {"role": "assistant", "content": text, "reasoning_content": reasoning}
    return {
        "model": model,
        "choices": [{"index": 0, "finish_reason": ending, "message": message}],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]},
    }


def _split_system(messages: Sequence[Mapping[str, str]]) -> tuple[str, list[dict[str, str]]]:
    """The system message apart, as both native forms want it."""
    system = "\n\n".join(each["content"] for each in messages if each["role"] == "system")
    return system, [dict(each) for each in messages if each["role"] != "system"]


def without_limits(schema: object) -> Any:
    """The schema without limits of numbers and lengths; replies are checked against them here."""
    if is_mapping(schema):
        return {key: without_limits(value) for key, value in schema.items() if key not in _LIMITS}
    if is_list(schema):
        return [without_limits(item) for item in schema]
    return schema
