"""A chat endpoint over HTTP: requests until there is a reply or a reason why there is none."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from answerkey.cache import digest
from answerkey.coerce.values import is_list, table_of
from answerkey.config.tables import ChatTable
from answerkey.errors import EndpointError
from answerkey.llm.chat import CallFailed, Message, Reply, Schema
from answerkey.llm.dialects import choose_dialect
from answerkey.llm.failures import (
    ExchangeFailure,
    Fatal,
    Rejected,
    Throttled,
    TimedOut,
    Transient,
    endpoint_message,
    raise_for,
)
from answerkey.llm.limiter import Limiter, RetryLimits, log
from answerkey.llm.log_probabilities import (
    LogProbabilities,
    read_yes_probability,
    request_alternatives,
)
from answerkey.llm.structured_output import RUNGS, Ladder, limit_texts, request_fields
from answerkey.net import HttpClient, NoReply, TimedOutReply
from answerkey.secrets import Secrets, key_from_variable

# Tokens for yes or no. A model that thinks first is cut off, and asked again with its own limit.
SHORT_REPLY = 32
# How often one call is tried for each kind of failure; a hanging server costs a whole timeout each time.
MOST_TRIES = {Throttled: 14, TimedOut: 2, Transient: 4}
# Providers have no common code for "this model does not take that parameter"; their sentences have these words.
_UNSUPPORTED = re.compile(
    r"unsupported|not supported|deprecated|does not support|unrecognized|unknown (?:parameter|field|argument)|not permitted",
    re.IGNORECASE,
)
# A prompt that is too long is refused in every form, so a plainer one is not tried for it.
_TOO_LONG = re.compile(
    r"context.{0,12}(?:length|size|window)|maximum context|too many tokens|exceed_context",
    re.IGNORECASE,
)


class Endpoint:
    """A `Chat` over HTTP; one limiter and one pool of connections for all its calls."""

    def __init__(self, settings: ChatTable, limits: RetryLimits | None = None) -> None:
        self.settings = settings
        self.limiter = Limiter(settings.concurrency, settings.requests_per_minute, limits)
        self._dialect = choose_dialect(settings.api, settings.key_header)
        self._url = self._dialect.address(settings.base_url, settings.model)
        self._ladder = Ladder(settings.structured_output)
        self._last_schema: tuple[Schema, Schema] = {}, {}
        self._log_probabilities = LogProbabilities(settings.model)
        self._parameters: Mapping[str, object] = {
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
        }
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            # Bodies are read raw: a compressed one could grow past the size limit when it is unpacked.
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
        # The key, the concurrency and the timeout do not shape a reply: the cache serves them all.
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
        return self._complete(messages, schema, max_tokens)

    def answer_yes_no(self, messages: Sequence[Message], max_tokens: int | None = None) -> Reply:
        """A reply to a question of yes or no, with the probability of "yes" where the endpoint reports it."""
        limit = max_tokens or min(SHORT_REPLY, self.max_tokens)
        return self._complete(messages, None, limit, is_yes_no=True)

    def _complete(
        self,
        messages: Sequence[Message],
        schema: Schema | None,
        max_tokens: int | None,
        *,
        is_yes_no: bool = False,
    ) -> Reply:
        """Send until there is a reply: again after an outage, in a plainer form after a refusal."""
        rung = self._ladder.rung if schema else "prompt"
        tries: Counter[type[ExchangeFailure]] = Counter()
        while True:
            # Kept for this request: another thread may leave out a parameter meanwhile.
            parameters = self._parameters
            alternatives = self._log_probabilities.count if is_yes_no else 0
            sent = {**_with_limit(parameters, max_tokens), **request_alternatives(alternatives)}
            try:
                reply = self._once(messages, schema, rung, sent)
            except Fatal as failure:
                # No other call can succeed either: those that wait end with the same message.
                message = f"{self.model} at {self.settings.base_url}: {failure}"
                self.limiter.stop(message)
                raise EndpointError(message) from failure
            except Rejected as failure:
                if self._log_probabilities.lower(alternatives, failure.raw):
                    continue
                if self._without_parameter(failure, parameters):
                    continue
                rung = self._plainer_rung(rung, schema, failure)
            except (Throttled, Transient) as failure:
                kind = type(failure)
                tries[kind] += 1
                if tries[kind] >= MOST_TRIES[kind]:
                    self.limiter.check()
                    raise self._give_up(failure) from failure
                if isinstance(failure, Transient):
                    # A crash (500) may be the fault of the schema: a plainer form is tried.
                    if schema and failure.refused_form:
                        rung = self._ladder.below(rung, crashed=True) or rung
                    self.limiter.back_off(tries[kind])
            else:
                if schema:
                    self._ladder.settle_on(rung)
                self.limiter.note_success()
                return reply

    def _plainer_rung(self, rung: str, schema: Schema | None, failure: Rejected) -> str:
        """The next form of the request; raises an error if none is left or none would help."""
        plainer = None
        if schema and not _TOO_LONG.search(failure.raw):
            plainer = self._ladder.below(rung)
        if plainer is None:
            raise self._give_up(failure) from failure
        return plainer

    def _once(
        self,
        messages: Sequence[Message],
        schema: Schema | None,
        rung: str,
        parameters: Mapping[str, object],
    ) -> Reply:
        fields = request_fields(rung, messages, self._schema_of(schema, rung) if schema else None)
        request = self._dialect.request({"model": self.model, **parameters, **fields})
        try:
            content = msgspec.json.encode(request)
        except UnicodeEncodeError:
            # Half a surrogate pair in a bot's answer: it is replaced rather than left unjudged.
            content = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
        with self.limiter.slot() as wave:
            try:
                body = self._post(content)
            except Throttled as failure:
                self.limiter.note_refusal(wave, failure.wait)
                raise
        return self._read(body, rung)

    def _schema_of(self, schema: Schema, rung: str) -> Schema:
        """The schema as this rung asks for it; that of the last call is kept, as most calls have the same."""
        if rung != RUNGS[0]:
            return schema
        last, bounded = self._last_schema
        if last is not schema:
            # Half as many characters as tokens leaves space for the rest of the object in any language.
            bounded = limit_texts(schema, self.settings.max_tokens // 2)
            self._last_schema = schema, bounded
        return bounded

    def _post(self, content: bytes) -> str:
        """The body of a reply with status 200; any other outcome is a `ExchangeFailure`."""
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
            completion = self._dialect.reply(self._client.secrets.hide_in(json.loads(body)))
            # Gateways such as OpenRouter pass on an error of their provider with status 200.
            if completion.get("error") and not completion.get("choices"):
                raise Transient(f"HTTP 200 with an error: {endpoint_message(body)}", body)
            choice = completion["choices"][0]
            message = choice["message"]
            used = table_of(completion.get("usage"))
            read = _count(used.get("prompt_tokens"))
            written = _count(used.get("completion_tokens"))
            reply = Reply(
                text=_text(message),
                reasoning=str(message.get("reasoning_content") or message.get("reasoning") or ""),
                model=str(completion.get("model") or self.model),
                truncated=choice.get("finish_reason") == "length",
                refusal=_refusal(choice),
                rung=rung,
                yes_probability=read_yes_probability(choice.get("logprobs")),
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
                f"HTTP 200, but no chat completion: {endpoint_message(body) or 'an empty body'}",
                body,
            ) from None
        # Some servers accept tools and ignore them: the next form is tried.
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
        """Leave out the parameter that the endpoint refuses, if its message names one.

        Some models take no temperature, or call the token limit something else. Other calls may
        have found out in the meantime; then this one is simply sent again.
        """
        if not _UNSUPPORTED.search(failure.raw):
            return False
        for name in ("max_tokens", "temperature"):
            if name not in sent or not re.search(rf"\b{name}\b", failure.raw):
                continue
            if self._parameters is sent:
                log.warning("%s does not take %s: sent without it", self.model, name)
                parameters = {key: value for key, value in sent.items() if key != name}
                if name == "max_tokens":
                    parameters["max_completion_tokens"] = sent[name]
                self._parameters = parameters
            return True
        return False

    def _give_up(self, failure: ExchangeFailure) -> CallFailed:
        self.limiter.call_failed(str(failure))
        return CallFailed(str(failure), failure.raw)


def _text(message: dict[str, Any]) -> str:
    """The content, or the arguments of the first tool call where that is how the model replied."""
    content = message.get("content")
    if is_list(content):
        content = "".join(str(table_of(part).get("text") or "") for part in content)
    if not content and message.get("tool_calls"):
        content = message["tool_calls"][0]["function"]["arguments"]
        # OpenAI gives the arguments as a string, some servers as an object.
        if not isinstance(content, str):
            content = json.dumps(content)
    return str(content or "")


def _with_limit(parameters: Mapping[str, object], max_tokens: int | None) -> Mapping[str, object]:
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
