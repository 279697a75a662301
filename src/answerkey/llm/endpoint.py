"""A chat endpoint over HTTP: requests until there is a reply or a reason why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from answerkey.cache import digest
from answerkey.coerce.values import is_list, table_of
from answerkey.config.declare import read_table
from answerkey.config.tables import PRESETS, ChatTable
from answerkey.errors import EndpointError, SettingsError, did_you_mean
from answerkey.llm.chat import CallFailed, Message, Reply, Schema
from answerkey.llm.dialects import choose_dialect
from answerkey.llm.limiter import (
    Failure,
    Fatal,
    Limiter,
    Rejected,
    RetryLimits,
    Throttled,
    TimedOut,
    Transient,
    error_message,
    log,
    raise_for,
)
from answerkey.net import HttpClient, NoReply, TimedOutReply
from answerkey.secrets import Secrets, key_from_variable

ChatSettings = TypeVar("ChatSettings", bound=ChatTable)


# How often one call is tried for each kind of failure; a hanging server costs a whole timeout each time.
MOST_TRIES = {Throttled: 14, TimedOut: 2, Transient: 4}
# How structured output is asked for, best first: json_schema, json_object with the schema, a tool call, the prompt alone.
RUNGS = ("json_schema, bounded", "json_schema", "json_object", "tool", "prompt")
NAME = "verdict"
_OF_MODEL = ("context_window", "structured_output")  # settings that another model may not share
_UNSUPPORTED = re.compile(
    r"unsupported|not supported|deprecated|does not support|unrecognized|unknown (?:parameter|field|argument)|not permitted",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context.{0,12}(?:length|size|window)|maximum context|too many tokens|exceed_context",
    re.IGNORECASE,
)


def read_chat(
    given: Mapping[str, object] | str,
    kind: type[ChatSettings],
    where: str,
    known: Iterable[str] = PRESETS,
) -> ChatSettings:
    """The settings of a language model, from a table or the name of a preset; `known` are the names to suggest."""
    table: dict[str, object]
    if isinstance(given, str):
        table = {"preset": given}
    else:
        table = dict(given)
    if "api_key" in table:
        raise SettingsError(
            f"{where} api_key: a key does not belong in a suite; name a variable with api_key_env"
        )
    preset = table.get("preset")
    if isinstance(preset, str) and preset not in PRESETS:
        hint = did_you_mean(preset, known) or f"; expected {', '.join(known)}"
        raise SettingsError(f'{where} has no preset "{preset}"{hint}')
    settings = read_table(kind, {**_preset_table(str(preset), kind, table), **table}, where)
    for name in ("base_url", "model"):
        if not getattr(settings, name):
            if preset:
                with_preset = f' with the preset "{preset}"'
            else:
                with_preset = ""
            raise SettingsError(f'{where} needs {name}{with_preset}: add {name} = "…"')
    return msgspec.structs.replace(
        settings, base_url=settings.base_url.removesuffix("/chat/completions").rstrip("/")
    )


def _preset_table(
    preset: str, kind: type[ChatTable], table: Mapping[str, object]
) -> dict[str, object]:
    """The preset's settings that the table can have; those of its default model only with that model."""
    stated = PRESETS.get(preset, {})
    values = {key: value for key, value in stated.items() if key in kind.__struct_fields__}
    if table.get("model", stated.get("model")) != stated.get("model"):
        for key in _OF_MODEL:
            values.pop(key, None)
    return values


class Endpoint:
    """A `Chat` over HTTP; one limiter and one pool of connections for all its calls."""

    def __init__(self, settings: ChatTable, limits: RetryLimits | None = None) -> None:
        self.settings = settings
        self.limiter = Limiter(settings.concurrency, settings.requests_per_minute, limits)
        self._dialect = choose_dialect(settings.api, settings.key_header)
        self._url = self._dialect.address(settings.base_url, settings.model)
        self._ladder = Ladder(settings.structured_output)
        self._last_schema: tuple[Schema, Schema] = {}, {}
        self._parameters: Mapping[str, object] = {
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
        }
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",
            "user-agent": "answerkey",
        }
        key = key_from_variable(settings.api_key_env)
        if key:
            headers |= self._dialect.headers(key)
        self._client = HttpClient(
            self._url, headers, timeout=settings.timeout, secrets=Secrets([key])
        )

    @property
    def model(self) -> str:
        return self.settings.model

    def fingerprint(self) -> str:
        s = self.settings
        return digest(s.base_url, s.model, s.temperature, s.max_tokens)

    def close(self) -> None:
        self._client.close()

    @property
    def max_tokens(self) -> int:
        return self.settings.max_tokens

    def complete(
        self,
        messages: Sequence[Message],
        schema: Schema | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        rung = self._ladder.rung if schema else "prompt"
        tries: dict[type[Failure], int] = {}
        while True:
            parameters = self._parameters
            try:
                reply = self._once(messages, schema, rung, _limited(parameters, max_tokens))
            except Fatal as failure:
                self.limiter.stop(f"{self.model} at {self.settings.base_url}: {failure}")
                raise EndpointError(
                    f"{self.model} at {self.settings.base_url}: {failure}"
                ) from failure
            except Rejected as failure:
                if self._without_parameter(failure, parameters):
                    continue
                if schema and not _TOO_LONG.search(failure.raw):
                    lower = self._ladder.below(rung)
                else:
                    lower = None
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
        self,
        messages: Sequence[Message],
        schema: Schema | None,
        rung: str,
        parameters: Mapping[str, object],
    ) -> Reply:
        asked = request_fields(rung, messages, self._schema_of(schema, rung) if schema else None)
        request = self._dialect.request({"model": self.model, **parameters, **asked})
        try:
            content = msgspec.json.encode(request)
        except UnicodeEncodeError:  # half a surrogate pair
            content = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
        with self.limiter.slot() as wave:
            try:
                body = self._post(content)
            except Throttled as failure:
                self.limiter.refused(wave, failure.wait)
                raise
        return self._read(body, rung)

    def _schema_of(self, schema: Schema, rung: str) -> Schema:
        """The schema as this rung asks for it; that of the last call is kept, as most calls have the same."""
        if rung != RUNGS[0]:
            return schema
        known, bounded = self._last_schema
        if known is not schema:
            # Half as many characters as tokens leaves space for the rest of the object in any language.
            bounded = _bounded(schema, self.settings.max_tokens // 2)
            self._last_schema = schema, bounded
        return bounded

    def _post(self, content: bytes) -> str:
        """The body of a reply with status 200; any other outcome is a `Failure`."""
        self._client.begin()
        try:
            reply = self._client.request("POST", self._url, content)
        except TimedOutReply as error:
            raise TimedOut(str(error)) from None
        except NoReply as error:
            raise Transient(str(error)) from None
        hide = self._client.secrets.hide
        body = hide(reply.body.decode("utf-8", "replace"))
        if reply.status != 200:
            raise_for(
                reply.status, {name: hide(value) for name, value in reply.headers.items()}, body
            )
        return body

    def _read(self, body: str, rung: str) -> Reply:
        try:
            given = self._dialect.reply(self._client.secrets.hide_in(json.loads(body)))
            if given.get("error") and not given.get("choices"):
                raise Transient(f"HTTP 200 with an error: {error_message(body)}", body)
            choice = given["choices"][0]
            message = choice["message"]
            used = table_of(given.get("usage"))
            read = _count(used.get("prompt_tokens"))
            written = _count(used.get("completion_tokens"))
            reply = Reply(
                text=_text(message),
                reasoning=str(message.get("reasoning_content") or message.get("reasoning") or ""),
                model=str(given.get("model") or self.model),
                truncated=choice.get("finish_reason") == "length",
                refusal=_refusal(choice),
                rung=rung,
                prompt_tokens=read,
                completion_tokens=written,
                cost=self._cost(read, written),
            )
        except (
            ValueError,
            KeyError,
            IndexError,
            TypeError,
            AttributeError,
            RecursionError,
            OverflowError,
        ):
            raise Transient(
                f"HTTP 200, but no chat completion: {error_message(body) or 'an empty body'}", body
            ) from None
        if rung == "tool" and not reply.text:
            raise Rejected("no tool call in the reply", body)
        return reply

    def _cost(self, read: int | None, written: int | None) -> float | None:
        """The cost of these tokens where both prices are known."""
        price_in = self.settings.price_in
        price_out = self.settings.price_out
        if read is None or written is None or price_in is None or price_out is None:
            return None
        return (read * price_in + written * price_out) / 1e6

    def _without_parameter(self, failure: Rejected, sent: Mapping[str, object]) -> bool:
        """Some models take no temperature, or call the token limit something else: leave out what they refuse.

        Other calls may have found out in the meantime; then this one is simply sent again.
        """
        if not _UNSUPPORTED.search(failure.raw):
            return False
        for name in ("max_tokens", "temperature"):
            if name in sent and re.search(rf"\b{name}\b", failure.raw):
                if self._parameters is sent:
                    log.warning("%s does not take %s: sent without it", self.model, name)
                    left = {key: value for key, value in sent.items() if key != name}
                    if name == "max_tokens":
                        renamed = {"max_completion_tokens": sent[name]}
                    else:
                        renamed = {}
                    self._parameters = left | renamed
                return True
        return False

    def _failed(self, failure: Failure) -> CallFailed:
        self.limiter.call_failed(str(failure))
        return CallFailed(str(failure), failure.raw)


def _text(message: dict[str, Any]) -> str:
    """The content, or the arguments of the first tool call where that is how the model replied."""
    content = message.get("content")
    if is_list(content):
        content = "".join(str(table_of(part).get("text") or "") for part in content)
    if not content and message.get("tool_calls"):
        content = message["tool_calls"][0]["function"]["arguments"]
        if isinstance(content, str):
            content = content
        else:
            content = json.dumps(content)
    return str(content or "")


def _limited(parameters: Mapping[str, object], max_tokens: int | None) -> Mapping[str, object]:
    """The parameters with another token limit, under the name that the endpoint takes."""
    if max_tokens is None:
        return parameters
    names = ("max_tokens", "max_completion_tokens")
    return {key: max_tokens if key in names else value for key, value in parameters.items()}


def _refusal(choice: dict[str, Any]) -> str:
    if choice.get("finish_reason") == "content_filter":
        return "stopped by the endpoint's content filter"
    return str(choice["message"].get("refusal") or "")


def _count(value: object) -> int | None:
    """A count of tokens; None for what is none, and for one that no float can hold."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
        return value
    return None


class Ladder:
    """The rung to ask on. A rung counts as known once a reply came on it; then no other is tried."""

    def __init__(self, first: str | None = None) -> None:
        self._rung = RUNGS[0] if first in (None, "json_schema") else first
        self.known = False

    @property
    def rung(self) -> str:
        return self._rung

    def below(self, rung: str, crashed: bool = False) -> str | None:
        """The rung to try after `rung` was refused: the known one, or the next; None when there is none.

        An endpoint that crashed over a schema is not asked with one again.
        """
        if self.known:
            return self._rung if self._rung != rung else None
        after = max(RUNGS.index(rung) + 1, RUNGS.index("json_object") if crashed else 0)
        return RUNGS[after] if after < len(RUNGS) else None

    def worked(self, rung: str) -> None:
        if not self.known:
            self._rung = rung
            self.known = True


def request_fields(
    rung: str, messages: Sequence[Message], schema: Schema | None
) -> dict[str, object]:
    """The fields of the request that this rung needs, the messages among them."""
    if schema is None:
        return {"messages": list(messages)}
    if rung in RUNGS[:2]:
        form = {
            "type": "json_schema",
            "json_schema": {"name": NAME, "strict": True, "schema": schema},
        }
        return {"messages": list(messages), "response_format": form}
    explained = _with_schema(messages, schema)
    if rung == "json_object":
        return {"messages": explained, "response_format": {"type": "json_object", "schema": schema}}
    if rung == "tool":
        tool = {"name": NAME, "description": "Record the verdict.", "parameters": schema}
        return {
            "messages": explained,
            "tools": [{"type": "function", "function": tool}],
            "tool_choice": {"type": "function", "function": {"name": NAME}},
        }
    return {"messages": explained}


def _bounded(schema: Schema, longest_text: int) -> Schema:
    """The schema with a limit on each text; texts in nested objects share it."""
    properties = {name: table_of(value) for name, value in table_of(schema["properties"]).items()}
    nested = sum(value.get("type") == "object" for value in properties.values())
    share = max(longest_text // max(nested, 1), 40)
    bounded: dict[str, object] = {}
    for name, value in properties.items():
        if value.get("type") == "object":
            bounded[name] = _bounded(value, share)
        else:
            bounded[name] = (
                {**value, "maxLength": longest_text} if value == {"type": "string"} else value
            )
    return {**schema, "properties": bounded}


def _with_schema(messages: Sequence[Message], schema: Schema) -> list[Message]:
    """The schema comes last: a model without constrained output follows it best there."""
    rule = f"\n\nReply with one JSON object and nothing else. It must fit this JSON schema:\n{json.dumps(schema)}"
    last = messages[-1]
    return [*messages[:-1], {**last, "content": last["content"] + rule}]
