"""An OpenAI-compatible chat endpoint: one request after another until there is a reply or a reason."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from answerkey.cache import digest
from answerkey.errors import EndpointError
from answerkey.llm.chat import CallFailed, Message, Reply, Schema
from answerkey.llm.failures import (
    Failure,
    Fatal,
    Rejected,
    Throttled,
    TimedOut,
    Transient,
    raise_for,
    told,
    too_long,
)
from answerkey.llm.limiter import Limiter, RetryLimits, log
from answerkey.llm.settings import ChatSettings
from answerkey.llm.structured_output import Ladder, request_fields
from answerkey.llm.transport import Transport

# How often one call is tried for each kind of failure; a hanging server costs a whole timeout each time.
MOST_TRIES = {Throttled: 14, TimedOut: 2, Transient: 4}
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_UNSUPPORTED = re.compile(r"unsupported|not supported|does not support|unrecognized", re.IGNORECASE)


class Endpoint:
    """A `Chat` over HTTP; one limiter and one pool of connections for all its calls."""

    def __init__(self, settings: ChatSettings, patience: RetryLimits | None = None) -> None:
        self.settings = settings
        self.limiter = Limiter(settings.concurrency, settings.requests_per_minute, patience)
        self._transport = Transport(settings.url, settings.concurrency)
        self._ladder = Ladder()
        self._parameters: Mapping[str, Any] = {
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
        }
        self._headers = {"host": settings.url.split("/")[2], "content-type": "application/json"}
        self._headers |= {
            "accept": "application/json",
            "accept-encoding": "identity",
            "user-agent": "answerkey",
        }
        if settings.key:
            self._headers["authorization"] = f"Bearer {settings.key}"

    @property
    def model(self) -> str:
        return self.settings.model

    def fingerprint(self) -> str:
        s = self.settings
        return digest(s.base_url, s.model, s.temperature, s.max_tokens)

    def close(self) -> None:
        self._transport.close()

    def complete(self, messages: Sequence[Message], schema: Schema | None = None) -> Reply:
        rung = self._ladder.rung if schema else "prompt"
        tries: dict[type[Failure], int] = {}
        while True:
            parameters = self._parameters
            try:
                reply = self._once(messages, schema, rung, parameters)
            except Fatal as failure:
                self.limiter.stop(f"{self.model} at {self.settings.base_url}: {failure}")
                raise EndpointError(f"{self.model} at {self.settings.base_url}: {failure}") from failure
            except Rejected as failure:
                if self._without_parameter(failure, parameters):
                    continue
                lower = self._ladder.below(rung) if schema and not too_long(failure) else None
                if lower is None:
                    raise self._failed(failure) from failure
                rung = lower
            except (Throttled, Transient) as failure:
                kind = type(failure)
                tries[kind] = tries.get(kind, 0) + 1
                if tries[kind] >= MOST_TRIES[kind]:
                    self.limiter.check()
                    raise self._failed(failure) from failure
                if isinstance(failure, Transient):
                    if schema and failure.refused_form:
                        rung = self._ladder.below(rung, crashed=True) or rung
                    self.limiter.back_off(tries[kind])
            else:
                if schema:
                    self._ladder.worked(rung)
                self.limiter.succeeded()
                return reply

    def _once(
        self, messages: Sequence[Message], schema: Schema | None, rung: str, parameters: Mapping[str, Any]
    ) -> Reply:
        # Half as many characters as tokens: room for the rest of the object in any language.
        asked = request_fields(rung, messages, schema, self.settings.max_tokens // 2)
        fields = {"model": self.model, **parameters, **asked}
        content = _JSON.encode(fields).encode("utf-8", "replace")
        with self.limiter.slot() as wave:
            try:
                status, headers, body = self._transport.post(content, self._headers, self.settings.timeout)
                raise_for(status, headers, self._hide_key(body))
            except Throttled as failure:
                self.limiter.refused(wave, failure.retry_after)
                raise
        return self._read(self._hide_key(body), rung)

    def _read(self, body: str, rung: str) -> Reply:
        try:
            given = json.loads(body)
            if given.get("error") and not given.get("choices"):
                raise Transient(f"HTTP 200 with an error: {told(body)}", body)
            choice = given["choices"][0]
            message = choice["message"]
            reply = Reply(
                text=_text(message),
                reasoning=str(message.get("reasoning_content") or message.get("reasoning") or ""),
                model=str(given.get("model") or self.model),
                truncated=choice.get("finish_reason") == "length",
                refusal=_refusal(choice),
                rung=rung,
                **self._tokens(given.get("usage")),
            )
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            raise Transient(
                f"HTTP 200, but no chat completion: {told(body) or 'an empty body'}", body
            ) from None
        if rung == "tool" and not reply.text:
            raise Rejected("no tool call in the reply", body)
        return reply

    def _tokens(self, usage: Any) -> dict[str, Any]:
        """Tokens as the endpoint reports them, and their cost where both prices are known."""
        found = usage if isinstance(usage, dict) else {}
        read, written = (_count(found.get(name)) for name in ("prompt_tokens", "completion_tokens"))
        price_in, price_out = self.settings.price_in, self.settings.price_out
        cost = None
        if read is not None and written is not None and price_in is not None and price_out is not None:
            cost = (read * price_in + written * price_out) / 1e6
        return {"prompt_tokens": read, "completion_tokens": written, "cost": cost}

    def _without_parameter(self, failure: Rejected, sent: Mapping[str, Any]) -> bool:
        """Some models take no temperature, or call the token limit something else: leave out what they refuse.

        Other calls may have found out meanwhile; then this one is simply asked again.
        """
        if not _UNSUPPORTED.search(failure.raw):
            return False
        for name in ("max_tokens", "temperature"):
            if name in sent and re.search(rf"\b{name}\b", failure.raw):
                if self._parameters is sent:
                    log.warning("%s does not take %s: asked without it", self.model, name)
                    left = {key: value for key, value in sent.items() if key != name}
                    renamed = {"max_completion_tokens": sent[name]} if name == "max_tokens" else {}
                    self._parameters = left | renamed
                return True
        return False

    def _failed(self, failure: Failure) -> CallFailed:
        self.limiter.call_failed(str(failure))
        return CallFailed(str(failure), failure.raw)

    def _hide_key(self, text: str) -> str:
        return text.replace(self.settings.key, "***") if self.settings.key else text


def _text(message: dict[str, Any]) -> str:
    """The content, or the arguments of the first tool call where that is how the model replied."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content)
    if not content and message.get("tool_calls"):
        content = message["tool_calls"][0]["function"]["arguments"]
        content = content if isinstance(content, str) else json.dumps(content)
    return str(content or "")


def _refusal(choice: dict[str, Any]) -> str:
    if choice.get("finish_reason") == "content_filter":
        return "stopped by the endpoint's content filter"
    return str(choice["message"].get("refusal") or "")


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
