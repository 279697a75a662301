"""The judge that uses a language model: replies come from the cache or from calls, with re-asks where needed; votes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, TypeVar

from answerkey.cache import digest
from answerkey.llm.chat import Chat
from answerkey.llm.cost_limit import CostLimit
from answerkey.llm.reply_cache import ReplyCache
from answerkey.llm.threads import in_threads
from answerkey.llm.usage import CallTotals, total
from answerkey.llm.verdict import Read, flags_of
from answerkey.metrics.judge.asker import Asker, Vote
from answerkey.metrics.judge.criteria_question import NO_QUOTE, criteria_question, in_groups
from answerkey.metrics.judge.preference_question import Duel, preference_question
from answerkey.metrics.judge.prompt import (
    Frame,
    JudgePrompt,
    JudgeQuestion,
    default_frame,
    load_prompt,
    read_prompt_file,
    rubric_question,
)
from answerkey.metrics.judge.yes_no_question import (
    yes_no_criterion,
    yes_no_digest,
    yes_no_question,
)
from answerkey.types import Pair, Requirement, Score

T = TypeVar("T")

PROMPTS = (
    "relevance", "faithfulness", "faithfulness_to_expected", "safety", "robustness", "rubric"
)  # fmt: skip
LONGEST_RAW = (
    20_000  # characters of a reply that are stored with a score; a runaway reply has megabytes
)
EMPTY_ANSWER = "the answer is empty: the judge was not asked"


class ModelJudge:
    """Scores from a language model. Each score keeps the raw reply, the reasoning, the model name and the tokens.

    With `is_yes_no` each criterion is a question of yes or no, and a score is the probability of "yes". Preferences and
    criteria on a scale are always asked for as JSON.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        votes: int = 1,
        concurrency: int = 20,
        cache: ReplyCache | None = None,
        frame: Frame | None = None,
        window: int | None = None,
        is_yes_no: bool = False,
    ) -> None:
        self.chat = chat
        self.name = chat.model
        self.votes = votes
        self.concurrency = concurrency
        # Several batches may be judged at the same time; together they keep to the limit.
        self._turns = threading.Semaphore(concurrency)
        self._frame = frame or default_frame()
        self._asker = Asker(chat, cache, window)
        self._cache = cache
        self._is_yes_no = is_yes_no

    @property
    def calls_per_question(self) -> int:
        return self.votes

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
        groups: list[tuple[int, tuple[Requirement, ...]]] = []
        for n, (pair, row) in enumerate(zip(pairs, requirements, strict=True)):
            # An empty answer needs no opinion, and a call costs money.
            if not (pair[1].answer or "").strip():
                table.append([Score(0.0, EMPTY_ANSWER) for _ in row])
                continue
            table.append([])
            # A probability belongs to one question, so criteria can't share a call.
            groups += [(n, group) for group in in_groups(row, together and not self._is_yes_no)]

        def question_of(item: tuple[int, tuple[Requirement, ...]]) -> JudgeQuestion:
            n, group = item
            if self._is_yes_no and group[0].kind == "pass":
                return yes_no_criterion(group[0], pairs[n], self._frame)
            return criteria_question(group, pairs[n], self._frame)

        answers = self._ask_all(groups, question_of)
        for (n, group), scores in zip(groups, answers, strict=True):
            table[n] += map(_decide_split_votes, group, scores.values())
        return table

    def prefer(self, duels: Sequence[Duel]) -> list[Score]:
        """For each duel 1 where the first answer is better, 0 where the second is, 0.5 for a tie; in this order only."""
        answers = self._ask_all(duels, lambda duel: preference_question(duel, self._frame))
        return [scores["better"] for scores in answers]

    def usage(self) -> CallTotals:
        return self._asker.usage.totals()

    def fingerprint(self) -> str:
        # All prompts, whichever a run uses: the record of a judge counts for every metric.
        prompts = [load_prompt(name).digest for name in PROMPTS]
        prompts += [digest(*read_prompt_file(name)) for name in ("criteria", "prefer")]
        if self._is_yes_no:
            prompts.append(yes_no_digest())
        shaped = digest(self._asker.fingerprint, self.votes, prompts, self._frame.digest)
        return f"{self.name} {shaped[:16]}"

    def close(self) -> None:
        self.chat.close()

    def _judge(self, prompt: JudgePrompt, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        answered = [n for n, (_, response) in enumerate(pairs) if (response.answer or "").strip()]
        table = [_of_empty(prompt) for _ in pairs]
        if self._is_yes_no:
            return self._judge_yes_no(prompt, pairs, answered, table)
        scored = self._ask_all(answered, lambda n: rubric_question(prompt, pairs[n], self._frame))
        for n, scores in zip(answered, scored, strict=True):
            table[n] = scores
        return table

    def _judge_yes_no(
        self,
        prompt: JudgePrompt,
        pairs: Sequence[Pair],
        answered: Sequence[int],
        table: list[dict[str, Score]],
    ) -> list[dict[str, Score]]:
        """One question per criterion, so that each has a probability of its own."""
        items = [(n, criterion) for n in answered for criterion in prompt.steps]

        def question_of(item: tuple[int, str]) -> JudgeQuestion:
            n, criterion = item
            return yes_no_question(prompt, criterion, pairs[n], self._frame)

        for (n, criterion), scores in zip(items, self._ask_all(items, question_of), strict=True):
            table[n][criterion] = scores[criterion]
        return table

    def _ask_all(
        self, items: Sequence[T], question_of: Callable[[T], JudgeQuestion]
    ) -> list[dict[str, Score]]:
        """The scores of each item. Questions are made and scores read while other calls are under way."""
        votes: list[dict[int, Vote]] = [{} for _ in items]
        scored: list[dict[str, Score]] = [{} for _ in items]

        # The question is made here, in the thread: making all of them first would delay the first call.
        def ask(task: tuple[int, int]) -> None:
            n, vote = task
            question = question_of(items[n])
            with self._turns:
                votes[n][vote] = self._asker.ask(question, vote)
            # The thread with the last vote reads them all; no other thread waits for them.
            if len(votes[n]) == self.votes:
                scored[n] = _scores(question, [votes[n][each] for each in range(self.votes)])

        try:
            in_threads(
                ask,
                [(n, vote) for n in range(len(items)) for vote in range(self.votes)],
                self.concurrency,
            )
        finally:
            # Also after an error: replies that were paid for must not be asked again.
            if self._cache:
                self._cache.write()
        return scored


def _of_empty(prompt: JudgePrompt) -> dict[str, Score]:
    if prompt.empty is None:
        return dict.fromkeys(prompt.steps, Score.not_applicable("the answer is empty"))
    return dict.fromkeys(prompt.steps, Score(prompt.empty, EMPTY_ANSWER))


def _decide_split_votes(requirement: Requirement, score: Score) -> Score:
    """Votes that are split evenly on a criterion of two values do not meet it."""
    if score.value is None or requirement.kind != "pass" or score.value in (0.0, 1.0):
        return score
    return Score(0.0, f"the votes are split: {score.reason}", details=score.details)


def _scores(question: JudgeQuestion, votes: Sequence[Vote]) -> dict[str, Score]:
    """The median of the votes per criterion; an error where half of them or more have no value."""
    shared = _details(votes)
    scores: dict[str, Score] = {}
    for name in question.names:
        readable = [vote.read for vote in votes if vote.read.values.get(name) is not None]
        details = {**shared, "votes": [vote.read.values.get(name) for vote in votes]}
        # The median of fewer than half of the votes would be the opinion of a minority.
        if 2 * len(readable) <= len(votes):
            scores[name] = _failed_score(name, votes, details)
        else:
            scores[name] = _median_score(question, name, readable, details)
    return scores


def _failed_score(name: str, votes: Sequence[Vote], details: dict[str, Any]) -> Score:
    failed = next(vote.read for vote in votes if name in vote.read.problems)
    if name in failed.absent:
        details["not_in_reply"] = True
    return Score.failed(f"judge: {failed.problems[name]}", **details)


def _median_score(
    question: JudgeQuestion, name: str, readable: Sequence[Read], details: dict[str, Any]
) -> Score:
    values = [read.values[name] for read in readable]
    middle = median(values)
    # The reason must be that of a vote near the score, not of an outlier.
    nearest = min(readable, key=lambda read: abs(read.values[name] - middle))
    reason = nearest.reasons.get(name, nearest.reason)
    details["spread"] = max(values) - min(values)
    if quote := nearest.quotes.get(name):
        details["quote"] = None if quote == NO_QUOTE else quote
    if name in nearest.probabilities:
        details["probability"] = nearest.probabilities[name]
    if flags := flags_of(reason, question.share(name, middle), question.instructions):
        details["flags"] = flags
        reason = f"{reason} [{'; '.join(flags)}]"
    return Score(middle, reason, details=details)


def _details(votes: Sequence[Vote]) -> Mapping[str, object]:
    """The details stored with each score. Criteria of one call share `call`, so that its tokens are counted once."""
    replies = [reply for vote in votes for reply in vote.replies]
    details = {
        "raw": _single_or_list(_clip(vote.raw) for vote in votes),
        "reasoning": _single_or_list(_clip(vote.read.reasoning) for vote in votes),
        "model": replies[-1].model if replies else "",
        "prompt_tokens": total(reply.prompt_tokens for reply in replies),
        "completion_tokens": total(reply.completion_tokens for reply in replies),
        "cost": total(reply.cost for reply in replies),
        "form": replies[-1].rung if replies else "",
        "asks": len(replies),
        "cached": all(vote.cached for vote in votes),
        "call": votes[0].call[:16],  # enough to tell the calls of one case apart
    }
    trimmed = max(vote.trimmed for vote in votes)
    if trimmed:
        return {**details, "trimmed": trimmed}
    return details


def _single_or_list(texts: Iterable[str]) -> str | list[str]:
    """The text of a single vote; a list for several votes."""
    several = list(texts)
    return several[0] if len(several) == 1 else several


def _clip(text: str) -> str:
    if len(text) <= LONGEST_RAW:
        return text
    return f"{text[:LONGEST_RAW]}… ({len(text):,} characters in all)"
