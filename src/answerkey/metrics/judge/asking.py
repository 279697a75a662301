"""One question to a judge model: from the cache, or asked now, with the re-asks that it takes to get a verdict."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from answerkey.cache import digest
from answerkey.llm.chat import CallFailed, Chat, Message, Reply, ReplyCache, Schema, Usage
from answerkey.llm.verdict import Read
from answerkey.metrics.judge.prompt import new_marker

log = logging.getLogger("answerkey.judge")

_AGAIN = (
    "Your reply could not be used: {problem}. Judge again, and reply with one complete JSON object only, with {wanted}."
)
_TOO_LONG = re.compile(
    r"context.{0,12}(?:length|size|window)|maximum context|too many tokens|exceed_context|too long", re.IGNORECASE
)
_MOST_CALLS = 4  # a re-ask, one with twice the token limit, and two with shorter passages at most
# Tokens that a model reads, by the beginning of its name, where that is documented; a suite can set context_window.
_WINDOWS = {
    "llama-3.3-70b": 131_072, "llama-3.1-8b": 131_072, "gpt-4.1": 1_000_000, "gpt-4o": 128_000, "gpt-3.5-turbo": 16_385,
    "smollm2": 8_192, "llama3.2": 131_072, "llama-3.2": 131_072, "qwen2.5": 32_768, "mixtral-8x7b": 32_768, "gemma2": 8_192,
}  # fmt: skip


class JudgeQuestion(Protocol):
    """What a judge is asked about one answer: the texts, the form of the reply, and how it is read."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def schema(self) -> Schema: ...

    @property
    def digest(self) -> str:
        """A hash of everything in the question that is not in its last message."""
        ...

    @property
    def instructions(self) -> str: ...

    def messages(self, marker: str, longest: int | None = None) -> list[Message]: ...

    def read(self, reply: Reply, marker: str) -> Read: ...

    def wanted(self) -> str:
        """What the reply must have, for the re-ask."""
        ...

    def share(self, name: str, value: float) -> float:
        """The value as a share of its scale, 0 to 1."""
        ...


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote: what was read from the last reply, and all the replies that it took."""

    read: Read
    replies: tuple[Reply, ...]
    call: str
    raw: str = ""
    cached: bool = False
    trimmed: int = 0


class Asker:
    """Asks one model; `usage` counts its calls."""

    def __init__(self, chat: Chat, cache: ReplyCache | None = None, window: int | None = None) -> None:
        self.chat = chat
        self.usage = Usage()
        self.fingerprint = chat.fingerprint()
        self._cache = cache
        self._window = window or getattr(chat, "window", None) or known_window(chat.model)
        self._announced = False

    def ask(self, question: JudgeQuestion, vote: int) -> Vote:
        """From the cache, or asked now. Only a reply with a complete verdict is cached."""
        blank = question.messages("")[-1]["content"]  # the key must not depend on the random marker
        call = digest(self.fingerprint, question.digest, blank, vote)
        known = self._cache.get(call) if self._cache else None
        if self._cache and known:
            read = question.read(known, "")
            if not read.problems:
                self.usage.add_cached()
                return Vote(read, (known,), call, known.text, cached=True)
            self._cache.drop(call)
        asked = replace(self._asked(question), call=call)
        if self._cache and not asked.read.problems:
            self._cache.put(call, asked.replies[-1])
        return asked

    def _asked(self, question: JudgeQuestion) -> Vote:
        """One call, and further ones where the prompt was too long, or the reply was cut or has no verdict."""
        marker = new_marker()
        longest = self._room(question, marker)
        trimmed = self._cut(question, marker, longest)
        messages = question.messages(marker, longest)
        replies: list[Reply] = []
        read = Read({}, {})
        limit: int | None = None
        asked_again = False
        for _ in range(_MOST_CALLS):
            try:
                reply = self._complete(messages, question.schema, limit)
            except CallFailed as failure:
                self.usage.add_failed()
                shorter = self._shorter(question, marker, longest, failure)
                if shorter is not None and not replies:
                    longest = shorter
                    read = Read({}, dict.fromkeys(question.names, "the prompt is longer than the model's window"))
                    trimmed = self._cut(question, marker, longest)
                    messages = question.messages(marker, longest)
                    continue
                problem = "; ".join([*_distinct(read), str(failure)])
                raw = replies[-1].text if replies else failure.raw
                return Vote(Read({}, dict.fromkeys(question.names, problem)), tuple(replies), "", raw)
            self.usage.add(reply)
            replies.append(reply)
            read = question.read(reply, marker)
            if not read.problems:
                break
            most: int | None = getattr(self.chat, "max_tokens", None)
            if reply.truncated and most and limit is None:
                limit = 2 * most
                continue
            if asked_again:
                break
            asked_again = True
            messages = _asked_again(question.messages(marker, longest), reply, read, question)
        return Vote(read, tuple(replies), "", replies[-1].text if replies else "", trimmed=trimmed)

    def _complete(self, messages: Sequence[Message], schema: Schema, limit: int | None) -> Reply:
        if limit is None:
            return self.chat.complete(messages, schema)
        chat: Any = self.chat  # only a chat that names its limit is asked with another one
        return chat.complete(messages, schema, max_tokens=limit)

    def _room(self, question: JudgeQuestion, marker: str) -> int | None:
        """How many characters of passages fit the model's window; None for all, or where no window is known."""
        if not self._window:
            return None
        reply: int = getattr(self.chat, "max_tokens", None) or 1024
        allowed = self._window - min(reply, self._window // 2)
        whole = question.messages(marker)
        over = sum(tokens_of(message["content"]) for message in whole) - allowed
        if over <= 0:
            return None
        passages = _size(whole) - _size(question.messages(marker, 0))
        per_character = tokens_of(whole[-1]["content"]) / max(len(whole[-1]["content"]), 1)
        return max(0, int(passages - over / per_character) - 80)

    def _shorter(self, question: JudgeQuestion, marker: str, longest: int | None, failure: CallFailed) -> int | None:
        """Half of the passages, where the endpoint rejected the prompt for its length and there are some to cut."""
        if not _TOO_LONG.search(f"{failure} {failure.raw[:2000]}"):
            return None
        passages = _size(question.messages(marker, longest)) - _size(question.messages(marker, 0))
        return passages // 2 if passages > 200 else None

    def _cut(self, question: JudgeQuestion, marker: str, longest: int | None) -> int:
        """How many characters of the passages are left out; the first time it is announced."""
        if longest is None:
            return 0
        cut = max(0, _size(question.messages(marker)) - _size(question.messages(marker, longest)))
        if cut and not self._announced:
            self._announced = True
            log.warning("%s: long passages are cut at the end to fit the model's window", self.chat.model)
        return cut


def known_window(model: str) -> int | None:
    """The context window of a well-known model, in tokens."""
    plain = model.lower().rpartition("/")[2]
    return next((size for name, size in _WINDOWS.items() if plain.startswith(name)), None)


def tokens_of(text: str) -> int:
    """A cautious estimate: a token has about three ASCII characters, or one of another script."""
    ascii_only = len(text.encode("ascii", "ignore"))
    return ascii_only // 3 + (len(text) - ascii_only) + 8


def _asked_again(messages: Sequence[Message], reply: Reply, read: Read, question: JudgeQuestion) -> list[Message]:
    rule = _AGAIN.format(problem="; ".join(_distinct(read)), wanted=question.wanted())
    earlier = {"role": "assistant", "content": reply.text[:2000] or "(nothing)"}
    return [*messages, earlier, {"role": "user", "content": rule}]


def _distinct(read: Read) -> list[str]:
    return list(dict.fromkeys(read.problems.values()))


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message["content"]) for message in messages)
