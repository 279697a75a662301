"""Asks the model: takes the reply from the cache, or calls until a reply can be used."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from answerkey.cache import digest
from answerkey.llm.chat import CallFailed, Chat, Message, Reply, Schema
from answerkey.llm.cost_limit import CostLimit
from answerkey.llm.reply_cache import ReplyCache
from answerkey.llm.usage import Usage
from answerkey.llm.verdict import Read
from answerkey.metrics.judge.prompt import (
    JudgeQuestion,
    new_marker,
)

log = logging.getLogger("answerkey.judge")

_AGAIN = "Your reply could not be used: {problem}. Judge again, and reply with {wanted}."
# Wider than the endpoint's own pattern: functions of users pass on messages of all kinds.
_TOO_LONG = re.compile(
    r"context.{0,12}(?:length|size|window)|maximum context|too many tokens|exceed_context|too long",
    re.IGNORECASE,
)
_MOST_CALLS = 4  # a re-ask, one with twice the token limit, and two with shorter passages at most
# Tokens that a model reads, by the beginning of its name, where that is documented; a suite can set context_window.
_WINDOWS = {
    "llama-3.3-70b": 131_072,
    "llama-3.1-8b": 131_072,
    "gpt-oss-120b": 131_072,
    "gpt-oss-20b": 131_072,
    "gpt-6-luna": 922_000,
    "gpt-4.1": 1_000_000,
    "gpt-4o": 128_000,
    "gpt-3.5-turbo": 16_385,
    "smollm2": 8_192,
    "llama3.2": 131_072,
    "llama-3.2": 131_072,
    "qwen2.5": 32_768,
    "mixtral-8x7b": 32_768,
    "gemma2": 8_192,
}


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

    def __init__(
        self, chat: Chat, cache: ReplyCache | None = None, window: int | None = None
    ) -> None:
        self.chat = chat
        self.usage = Usage()
        self.fingerprint = chat.fingerprint()
        self.cost_limit: CostLimit | None = None
        self._cache = cache
        self._window = window or getattr(chat, "window", None) or window_of(chat.model)
        self._announced = False

    def ask(self, question: JudgeQuestion, vote: int) -> Vote:
        """A vote from the cache, or from the model. Only a reply with a complete verdict is cached."""
        blank = question.messages("")[-1]["content"]  # the key must not depend on the random marker
        call = digest(self.fingerprint, question.digest, blank, vote)
        if self._cache is None:
            return self._ask_model(question, call)
        reply = self._cache.get(call)
        if reply is not None:
            read = question.read(reply, "")
            if not read.problems:
                self.usage.add_cached()
                return Vote(read, (reply,), call, reply.text, cached=True)
            # A newer reader may refuse what an earlier one cached; it is asked again.
            self._cache.drop(call)
        answer = self._ask_model(question, call)
        # A failure must not be cached: the next run may succeed.
        if not answer.read.problems:
            self._cache.put(call, answer.replies[-1])
        return answer

    def _ask_model(self, question: JudgeQuestion, call: str) -> Vote:
        """One call, and further ones where the prompt was too long, or the reply was cut or has no verdict."""
        marker = new_marker()
        longest = self._room(question, marker)
        added: list[Message] = []
        replies: list[Reply] = []
        read = Read({}, {})
        limit: int | None = None
        for _ in range(_MOST_CALLS):
            # Only a chat that names its limit takes another one.
            more = {} if limit is None else {"max_tokens": limit}
            # Before each call, as re-asks cost money too.
            if self.cost_limit is not None and not self.cost_limit.begin():
                refused = _without_verdict(question, self.cost_limit.describe())
                return Vote(refused, tuple(replies), call)
            messages = [*question.messages(marker, longest), *added]
            try:
                reply = self._complete(messages, question.schema, more)
            except CallFailed as failure:
                self.usage.add_failed()
                # After a first reply the prompt is known to fit: the failure has another cause.
                shorter = None if replies else self._shorter(question, marker, longest, failure)
                if shorter is None:
                    problem = "; ".join([*_problems(read), str(failure)])
                    raw = replies[-1].text if replies else failure.raw
                    return Vote(_without_verdict(question, problem), tuple(replies), call, raw)
                longest = shorter
                read = _without_verdict(question, "the prompt is longer than the model's window")
                continue
            self.usage.add(reply)
            replies.append(reply)
            read = question.read(reply, marker)
            most: int | None = getattr(self.chat, "max_tokens", None)
            if read.problems and reply.truncated and most and limit is None:
                limit = 2 * most
            elif read.problems and not added:
                added = _ask_again(reply, read, question)
            else:
                break
        trimmed = self._cut(question, marker, longest)
        raw = replies[-1].text if replies else ""
        return Vote(read, tuple(replies), call, raw, trimmed=trimmed)

    def _complete(
        self, messages: Sequence[Message], schema: Schema | None, more: Mapping[str, int]
    ) -> Reply:
        """One call; its cost counts towards the limit that `begin` checked."""
        if self.cost_limit is None:
            return self._call(messages, schema, more)
        try:
            reply = self._call(messages, schema, more)
        # Also an interrupt: the call that `begin` counted must not stay under way.
        except BaseException:
            self.cost_limit.fail()
            raise
        self.cost_limit.end(reply.cost)
        return reply

    def _call(
        self, messages: Sequence[Message], schema: Schema | None, more: Mapping[str, int]
    ) -> Reply:
        # A user's function has no such method and gets a plain prompt.
        answer_yes_no = getattr(self.chat, "answer_yes_no", None)
        if schema is None and answer_yes_no is not None:
            return answer_yes_no(messages, **more)
        return self.chat.complete(messages, schema, **more)

    def _room(self, question: JudgeQuestion, marker: str) -> int | None:
        """How many characters of passages fit the model's window; None for all, or where no window is known."""
        if not self._window:
            return None
        reply: int = getattr(self.chat, "max_tokens", None) or 1024
        # A token limit above half the window would leave no room for the prompt.
        allowed = self._window - min(reply, self._window // 2)
        whole = question.messages(marker)
        over = sum(tokens_of(message["content"]) for message in whole) - allowed
        if over <= 0:
            return None
        # Measured by the messages themselves: the frame and the fences count as well.
        passages = _size(whole) - _size(question.messages(marker, 0))
        per_character = tokens_of(whole[-1]["content"]) / max(len(whole[-1]["content"]), 1)
        # 80 characters are for the note that says how much was cut.
        return max(0, int(passages - over / per_character) - 80)

    def _shorter(
        self, question: JudgeQuestion, marker: str, longest: int | None, failure: CallFailed
    ) -> int | None:
        """Half of the passages, where the endpoint rejected the prompt for its length and there are some to cut."""
        if not _TOO_LONG.search(f"{failure} {failure.raw[:2000]}"):
            return None
        passages = _size(question.messages(marker, longest)) - _size(question.messages(marker, 0))
        # Passages of a few words are not what makes a prompt too long.
        return passages // 2 if passages > 200 else None

    def _cut(self, question: JudgeQuestion, marker: str, longest: int | None) -> int:
        """How many characters of the passages are left out; the first time it is announced."""
        if longest is None:
            return 0
        cut = max(0, _size(question.messages(marker)) - _size(question.messages(marker, longest)))
        if cut and not self._announced:
            self._announced = True
            log.warning(
                "%s: long passages are cut at the end to fit the model's window", self.chat.model
            )
        return cut


def window_of(model: str) -> int | None:
    """The context window of a well-known model, in tokens."""
    # Hubs put the owner before the name: "openai/gpt-oss-120b".
    plain = model.lower().rpartition("/")[2]
    return next((size for name, size in _WINDOWS.items() if plain.startswith(name)), None)


def tokens_of(text: str) -> int:
    """A cautious estimate: a token has about three ASCII characters, or one of another script."""
    ascii_only = len(text.encode("ascii", "ignore"))
    return ascii_only // 3 + (len(text) - ascii_only) + 8


def _without_verdict(question: JudgeQuestion, problem: str) -> Read:
    """No value for any criterion, and the same problem for each."""
    return Read({}, dict.fromkeys(question.names, problem))


def _ask_again(reply: Reply, read: Read, question: JudgeQuestion) -> list[Message]:
    rule = _AGAIN.format(problem="; ".join(_problems(read)), wanted=question.wanted)
    return [
        # The start shows the model what it wrote; a runaway reply would fill its window.
        {"role": "assistant", "content": reply.text[:2000] or "(nothing)"},
        {"role": "user", "content": rule},
    ]


def _problems(read: Read) -> list[str]:
    return list(dict.fromkeys(read.problems.values()))


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message["content"]) for message in messages)
