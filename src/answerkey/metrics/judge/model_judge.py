"""The judge that uses a language model: replies come from the cache or from calls, with re-asks where needed; votes."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from answerkey.cache import digest
from answerkey.llm.chat import (
    CallFailed,
    CallTotals,
    Chat,
    Message,
    Reply,
    ReplyCache,
    Schema,
    Usage,
    in_threads,
    total,
)
from answerkey.llm.cost_limit import CostLimit
from answerkey.llm.verdict import Read, flags_of
from answerkey.metrics.judge.prompt import (
    Frame,
    JudgeQuestion,
    Prompt,
    default_frame,
    load_prompt,
    new_marker,
    read_prompt_file,
    rubric_question,
)
from answerkey.metrics.judge.questions import (
    NO_QUOTE,
    Duel,
    criteria_question,
    in_groups,
    preference_question,
)
from answerkey.types import Pair, Requirement, Score

log = logging.getLogger("answerkey.judge")
T = TypeVar("T")

PROMPTS = (
    "relevance", "faithfulness", "faithfulness_to_expected", "safety", "robustness", "rubric"
)  # fmt: skip
LONGEST_RAW = 20_000
EMPTY_ANSWER = "the answer is empty: the judge was not asked"
_AGAIN = "Your reply could not be used: {problem}. Judge again, and reply with one complete JSON object only, with {wanted}."
_TOO_LONG = re.compile(
    r"context.{0,12}(?:length|size|window)|maximum context|too many tokens|exceed_context|too long",
    re.IGNORECASE,
)
_MOST_CALLS = 4  # a re-ask, one with twice the token limit, and two with shorter passages at most
# Tokens that a model reads, by the beginning of its name, where that is documented; a suite can set context_window.
_WINDOWS = {
    "llama-3.3-70b": 131_072,
    "llama-3.1-8b": 131_072,
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
        self._window = window or getattr(chat, "window", None) or known_window(chat.model)
        self._announced = False

    def ask(self, question: JudgeQuestion, vote: int) -> Vote:
        """From the cache, or asked now. Only a reply with a complete verdict is cached."""
        blank = question.messages("")[-1]["content"]  # the key must not depend on the random marker
        call = digest(self.fingerprint, question.digest, blank, vote)
        if self._cache:
            known = self._cache.get(call)
        else:
            known = None
        if self._cache and known:
            read = question.read(known, "")
            if not read.problems:
                self.usage.add_cached()
                return Vote(read, (known,), call, known.text, cached=True)
            self._cache.drop(call)
        asked = self._asked(question, call)
        if self._cache and not asked.read.problems:
            self._cache.put(call, asked.replies[-1])
        return asked

    def _asked(self, question: JudgeQuestion, call: str) -> Vote:
        """One call, and further ones where the prompt was too long, or the reply was cut or has no verdict."""
        marker = new_marker()
        longest = self._room(question, marker)
        added: list[Message] = []
        replies: list[Reply] = []
        read = Read({}, {})
        limit: int | None = None
        for _ in range(_MOST_CALLS):
            more = (
                {} if limit is None else {"max_tokens": limit}
            )  # only for a chat that names its limit
            if self.cost_limit is not None and not self.cost_limit.begin():
                refused = dict.fromkeys(question.names, self.cost_limit.describe())
                return Vote(Read({}, refused), tuple(replies), call)
            try:
                reply = self._complete(
                    [*question.messages(marker, longest), *added], question.schema, more
                )
            except CallFailed as failure:
                self.usage.add_failed()
                if replies:
                    shorter = None
                else:
                    shorter = self._shorter(question, marker, longest, failure)
                if shorter is not None:
                    longest = shorter
                    read = Read(
                        {},
                        dict.fromkeys(
                            question.names, "the prompt is longer than the model's window"
                        ),
                    )
                    continue
                problem = "; ".join([*_distinct(read), str(failure)])
                raw = replies[-1].text if replies else failure.raw
                return Vote(
                    Read({}, dict.fromkeys(question.names, problem)), tuple(replies), call, raw
                )
            self.usage.add(reply)
            replies.append(reply)
            read = question.read(reply, marker)
            most: int | None = getattr(self.chat, "max_tokens", None)
            if read.problems and reply.truncated and most and limit is None:
                limit = 2 * most
            elif read.problems and not added:
                added = _asked_again(reply, read, question)
            else:
                break
        trimmed = self._cut(question, marker, longest)
        return Vote(
            read, tuple(replies), call, replies[-1].text if replies else "", trimmed=trimmed
        )

    def _complete(
        self, messages: Sequence[Message], schema: Schema, more: Mapping[str, int]
    ) -> Reply:
        """One call; its cost counts towards the limit that `begin` checked."""
        if self.cost_limit is None:
            return self.chat.complete(messages, schema, **more)
        try:
            reply = self.chat.complete(messages, schema, **more)
        except BaseException:
            self.cost_limit.fail()
            raise
        self.cost_limit.end(reply.cost)
        return reply

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

    def _shorter(
        self, question: JudgeQuestion, marker: str, longest: int | None, failure: CallFailed
    ) -> int | None:
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
            log.warning(
                "%s: long passages are cut at the end to fit the model's window", self.chat.model
            )
        return cut


def known_window(model: str) -> int | None:
    """The context window of a well-known model, in tokens."""
    plain = model.lower().rpartition("/")[2]
    return next((size for name, size in _WINDOWS.items() if plain.startswith(name)), None)


def tokens_of(text: str) -> int:
    """A cautious estimate: a token has about three ASCII characters, or one of another script."""
    ascii_only = len(text.encode("ascii", "ignore"))
    return ascii_only // 3 + (len(text) - ascii_only) + 8


def _asked_again(reply: Reply, read: Read, question: JudgeQuestion) -> list[Message]:
    rule = _AGAIN.format(problem="; ".join(_distinct(read)), wanted=question.wanted)
    return [
        {"role": "assistant", "content": reply.text[:2000] or "(nothing)"},
        {"role": "user", "content": rule},
    ]


def _distinct(read: Read) -> list[str]:
    return list(dict.fromkeys(read.problems.values()))


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message["content"]) for message in messages)


class ModelJudge:
    """Scores from a language model. Each score keeps the raw reply, the reasoning, the model name and the tokens."""

    def __init__(
        self,
        chat: Chat,
        *,
        votes: int = 1,
        concurrency: int = 20,
        cache: ReplyCache | None = None,
        frame: Frame | None = None,
        window: int | None = None,
    ) -> None:
        self.chat = chat
        self.name = chat.model
        self.votes = votes
        self.concurrency = concurrency
        self._turns = threading.Semaphore(
            concurrency
        )  # several batches may be judged at the same time
        self._frame = frame or default_frame()
        self._asker = Asker(chat, cache, window)
        self._cache = cache

    def limit_cost(self, limit: CostLimit) -> None:
        """No call begins that would pass the limit."""
        self._asker.cost_limit = limit

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        """For each pair the four criteria of the rubric, on their own scales."""
        return self._judge(load_prompt("rubric"), pairs)

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        """For each pair the score of one question, such as `relevance`."""
        return [scores["score"] for scores in self._judge(load_prompt(name), pairs)]

    def criteria(
        self,
        pairs: Sequence[Pair],
        requirements: Sequence[Sequence[Requirement]],
        together: bool = True,
    ) -> list[list[Score]]:
        """For each pair a score per requirement, on its own scale; in one call per pair, or one per requirement."""
        table: list[list[Score]] = []
        asked: list[tuple[int, tuple[Requirement, ...]]] = []
        for n, (pair, wanted) in enumerate(zip(pairs, requirements, strict=True)):
            answered = bool((pair[1].answer or "").strip())
            table.append([] if answered else [Score(0.0, EMPTY_ANSWER) for _ in wanted])
            asked += [(n, group) for group in (in_groups(wanted, together) if answered else ())]
        given = self._ask_all(
            asked, lambda each: criteria_question(each[1], pairs[each[0]], self._frame)
        )
        for (n, group), scores in zip(asked, given, strict=True):
            table[n] += map(_decided, group, scores.values())
        return table

    def prefer(self, duels: Sequence[Duel]) -> list[Score]:
        """For each duel 1 where the first answer is better, 0 where the second is, 0.5 for a tie; in this order only."""
        given = self._ask_all(duels, lambda duel: preference_question(duel, self._frame))
        return [scores["better"] for scores in given]

    def usage(self) -> CallTotals:
        return self._asker.usage.totals()

    def fingerprint(self) -> str:
        prompts = [load_prompt(name).digest for name in PROMPTS]
        prompts += [digest(*read_prompt_file(name)) for name in ("criteria", "prefer")]
        shaped = digest(self._asker.fingerprint, self.votes, prompts, self._frame.digest)
        return f"{self.name} {shaped[:16]}"

    def close(self) -> None:
        self.chat.close()

    def _judge(self, prompt: Prompt, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        asked = [n for n, (_, response) in enumerate(pairs) if (response.answer or "").strip()]
        table = [_of_empty(prompt) for _ in pairs]
        scored = self._ask_all(asked, lambda n: rubric_question(prompt, pairs[n], self._frame))
        for n, scores in zip(asked, scored, strict=True):
            table[n] = scores
        return table

    def _ask_all(
        self, items: Sequence[T], question_of: Callable[[T], JudgeQuestion]
    ) -> list[dict[str, Score]]:
        """The scores of each item. Questions are made and scores read while other calls are under way."""
        votes: list[dict[int, Vote]] = [{} for _ in items]
        scored: list[dict[str, Score]] = [{} for _ in items]

        def ask(task: tuple[int, int]) -> None:
            n, vote = task
            question = question_of(items[n])
            with self._turns:
                votes[n][vote] = self._asker.ask(question, vote)
            if len(votes[n]) == self.votes:
                scored[n] = _scores(question, [votes[n][each] for each in range(self.votes)])

        try:
            in_threads(
                ask,
                [(n, vote) for n in range(len(items)) for vote in range(self.votes)],
                self.concurrency,
            )
        finally:
            if self._cache:
                self._cache.write()
        return scored


def _of_empty(prompt: Prompt) -> dict[str, Score]:
    if prompt.empty is None:
        return dict.fromkeys(prompt.steps, Score.not_applicable("the answer is empty"))
    return dict.fromkeys(prompt.steps, Score(prompt.empty, EMPTY_ANSWER))


def _decided(requirement: Requirement, score: Score) -> Score:
    """Votes that are split evenly on a criterion of two values do not meet it."""
    if score.value is None or requirement.kind != "pass" or score.value in (0.0, 1.0):
        return score
    return Score(0.0, f"the votes are split: {score.reason}", details=score.details)


def _scores(question: JudgeQuestion, votes: Sequence[Vote]) -> dict[str, Score]:
    """The median of the votes per criterion; an error where half of them or more have no value."""
    shared = _details(votes)
    scores: dict[str, Score] = {}
    for name in question.names:
        values = [vote.read.values.get(name) for vote in votes]
        given = [value for value in values if value is not None]
        if 2 * len(given) <= len(votes):
            problem = next(vote.read.problems[name] for vote in votes if name in vote.read.problems)
            scores[name] = Score.failed(f"judge: {problem}", **shared, votes=values)
            continue
        middle = median(given)
        readable = [vote.read for vote in votes if name in vote.read.values]
        nearest = min(readable, key=lambda read: abs(read.values[name] - middle))
        reason = nearest.reasons.get(name, nearest.reason)
        details = {**shared, "votes": values, "spread": max(given) - min(given)}
        if quote := nearest.quotes.get(name):
            details["quote"] = None if quote == NO_QUOTE else quote
        if flags := flags_of(reason, question.share(name, middle), question.instructions):
            details["flags"] = flags
            reason = f"{reason} [{'; '.join(flags)}]"
        scores[name] = Score(middle, reason, details=details)
    return scores


def _details(votes: Sequence[Vote]) -> Mapping[str, object]:
    """What is stored with each score. Criteria of one call share `call`, so that its tokens are counted once."""
    replies = [reply for vote in votes for reply in vote.replies]
    details = {
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
    trimmed = max(vote.trimmed for vote in votes)
    if trimmed:
        return {**details, "trimmed": trimmed}
    return details


def _joined(texts: Iterable[str]) -> str | list[str]:
    """The text of a single vote; a list for several votes."""
    several = list(texts)
    return several[0] if len(several) == 1 else several


def _clipped(text: str) -> str:
    if len(text) <= LONGEST_RAW:
        return text
    return f"{text[:LONGEST_RAW]}… ({len(text):,} characters in all)"
