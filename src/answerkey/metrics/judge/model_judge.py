"""The judge that uses a language model: fenced prompt, structured reply, one re-ask, votes, cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from answerkey.cache import digest
from answerkey.llm.chat import CallFailed, Chat, Message, Reply, ReplyCache, Usage, in_threads, total
from answerkey.llm.verdict import Read, read_verdict
from answerkey.metrics.judge.prompt import Prompt, load_prompt, new_marker
from answerkey.types import Json, Pair, Score

PROMPTS = ("relevance", "faithfulness", "safety", "robustness", "rubric")
LONGEST_RAW = 20_000
_AGAIN = (
    "Your reply could not be used: {problem}. Judge again, and reply with one complete JSON object only, "
    "with {names}, and a short {why}."
)


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote on one pair: what was parsed from the last reply, and all the replies that it took."""

    read: Read
    replies: tuple[Reply, ...]
    call: str
    raw: str = ""
    cached: bool = False


class ModelJudge:
    """Scores from a language model. Each score keeps the raw reply, the reasoning, the model name and the tokens."""

    def __init__(
        self, chat: Chat, *, votes: int = 1, concurrency: int = 20, cache: ReplyCache | None = None
    ) -> None:
        self.chat = chat
        self.name = chat.model
        self.votes = votes
        self.concurrency = concurrency
        self._cache = cache
        self._usage = Usage()
        self._chat_fingerprint = chat.fingerprint()

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        """For each pair the four criteria of the rubric, on their own scales."""
        return self._judge(load_prompt("rubric"), pairs)

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        """For each pair the score of one question, such as `relevance`."""
        return [scores["score"] for scores in self._judge(load_prompt(name), pairs)]

    def usage(self) -> Json:
        return self._usage.as_dict()

    def fingerprint(self) -> str:
        shaped = digest(self._chat_fingerprint, self.votes, [load_prompt(name).digest for name in PROMPTS])
        return f"{self.name} {shaped[:16]}"

    def close(self) -> None:
        self.chat.close()

    def _judge(self, prompt: Prompt, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        asked = [n for n, (_, response) in enumerate(pairs) if (response.answer or "").strip()]
        tasks = [(n, vote) for n in asked for vote in range(self.votes)]
        votes = in_threads(lambda task: self._vote(prompt, pairs[task[0]], task[1]), tasks, self.concurrency)
        table = [_of_empty(prompt) for _ in pairs]
        for place, n in enumerate(asked):
            table[n] = _scores(prompt, votes[place * self.votes : (place + 1) * self.votes])
        return table

    def _vote(self, prompt: Prompt, pair: Pair, vote: int) -> Vote:
        """From the cache, or asked now. Only a reply with a complete verdict is cached."""
        blank = prompt.messages(pair, "")[-1]["content"]  # the key must not depend on the random marker
        call = digest(self._chat_fingerprint, prompt.digest, blank, vote)
        known = self._cache.get(call) if self._cache else None
        if self._cache and known:
            read = read_verdict(known, prompt.scales)
            if not read.problems:
                self._usage.add_cached()
                return Vote(read, (known,), call, known.text, cached=True)
            self._cache.drop(call)
        asked = replace(self._ask(prompt, pair), call=call)
        if self._cache and not asked.read.problems:
            self._cache.put(call, asked.replies[-1])
        return asked

    def _ask(self, prompt: Prompt, pair: Pair) -> Vote:
        """One call, and a second one where the reply has no usable verdict."""
        marker = new_marker()
        messages = prompt.messages(pair, marker)
        replies: list[Reply] = []
        read = Read({}, {})
        for _ in range(2):
            try:
                reply = self.chat.complete(messages, prompt.schema)
            except CallFailed as failure:
                self._usage.add_failed()
                problem = "; ".join([*_distinct(read), str(failure)])
                raw = replies[-1].text if replies else failure.raw
                return Vote(Read({}, dict.fromkeys(prompt.steps, problem)), tuple(replies), "", raw)
            self._usage.add(reply)
            replies.append(reply)
            read = read_verdict(reply, prompt.scales, marker, pair[1].answer or "")
            if not read.problems:
                break
            messages = _asked_again(messages, reply, read, prompt)
        return Vote(read, tuple(replies), "", replies[-1].text)


def _asked_again(messages: Sequence[Message], reply: Reply, read: Read, prompt: Prompt) -> list[Message]:
    names = ", ".join(f'"{name}" ({low:g} to {high:g})' for name, (low, high) in prompt.scales.items())
    why = "reasoning" if len(prompt.steps) > 1 else "reason"
    rule = _AGAIN.format(problem="; ".join(_distinct(read)), names=names, why=f'"{why}"')
    earlier = {"role": "assistant", "content": reply.text[:2000] or "(nothing)"}
    return [*messages[:2], earlier, {"role": "user", "content": rule}]


def _distinct(read: Read) -> list[str]:
    return list(dict.fromkeys(read.problems.values()))


def _of_empty(prompt: Prompt) -> dict[str, Score]:
    if prompt.empty is None:
        return dict.fromkeys(prompt.steps, Score.not_applicable("the answer is empty"))
    return dict.fromkeys(prompt.steps, Score(prompt.empty, "the answer is empty: the judge was not asked"))


def _scores(prompt: Prompt, votes: Sequence[Vote]) -> dict[str, Score]:
    """The median of the votes per criterion; an error where half of them or more have no value."""
    shared = _details(votes)
    scores: dict[str, Score] = {}
    for name in prompt.steps:
        values = [vote.read.values.get(name) for vote in votes]
        given = [value for value in values if value is not None]
        if 2 * len(given) <= len(votes):
            problem = next(vote.read.problems[name] for vote in votes if name in vote.read.problems)
            scores[name] = Score.failed(f"judge: {problem}", **shared, votes=values)
            continue
        middle = median(given)
        readable = [vote.read for vote in votes if name in vote.read.values]
        nearest = min(readable, key=lambda read: abs(read.values[name] - middle))
        details = {**shared, "votes": values, "spread": max(given) - min(given)}
        scores[name] = Score(middle, nearest.reason, details=details)
    return scores


def _details(votes: Sequence[Vote]) -> Mapping[str, Any]:
    """What is stored with each score. Criteria of one call share `call`, so that its tokens are counted once."""
    replies = [reply for vote in votes for reply in vote.replies]
    return {
        "raw": _joined(_clipped(vote.raw) for vote in votes),
        "reasoning": _joined(_clipped(vote.read.reasoning) for vote in votes),
        "model": replies[-1].model if replies else "",
        "prompt_tokens": total(reply.prompt_tokens for reply in replies),
        "completion_tokens": total(reply.completion_tokens for reply in replies),
        "cost": total(reply.cost for reply in replies),
        "form": replies[-1].rung if replies else "",
        "asks": len(replies),
        "cached": all(vote.cached for vote in votes),
        "call": votes[0].call[:16],
    }


def _joined(texts: Any) -> str | list[str]:
    """The text of a single vote; a list for several votes."""
    several = list(texts)
    return several[0] if len(several) == 1 else several


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST_RAW else f"{text[:LONGEST_RAW]}… ({len(text):,} characters in all)"
