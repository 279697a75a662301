"""The judge that uses a language model: rubric and single questions, criteria in words, preferences; votes on each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from answerkey.cache import digest
from answerkey.llm.chat import Chat, ReplyCache, in_threads, total
from answerkey.metrics.judge.asking import Asker, JudgeQuestion, Vote
from answerkey.metrics.judge.criteria_question import NO_QUOTE, CriteriaQuestion, in_groups
from answerkey.metrics.judge.preference_question import Duel, PreferenceQuestion
from answerkey.metrics.judge.prompt import Frame, Prompt, RubricQuestion, default_frame, load_prompt, read_prompt_file
from answerkey.metrics.judge.reasons import flags_of
from answerkey.types import Json, Pair, Requirement, Score

PROMPTS = ("relevance", "faithfulness", "safety", "robustness", "rubric")
LONGEST_RAW = 20_000
EMPTY_ANSWER = "the answer is empty: the judge was not asked"


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
        self._frame = frame or default_frame()
        self._asker = Asker(chat, cache, window)

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        """For each pair the four criteria of the rubric, on their own scales."""
        return self._judge(load_prompt("rubric"), pairs)

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        """For each pair the score of one question, such as `relevance`."""
        return [scores["score"] for scores in self._judge(load_prompt(name), pairs)]

    def criteria(
        self, pairs: Sequence[Pair], requirements: Sequence[Sequence[Requirement]], together: bool = True
    ) -> list[list[Score]]:
        """For each pair a score per requirement, on its own scale; in one call per pair, or one per requirement."""
        questions: list[CriteriaQuestion] = []
        owners: list[int] = []
        for n, (pair, wanted) in enumerate(zip(pairs, requirements, strict=True)):
            if (pair[1].answer or "").strip():
                groups = [CriteriaQuestion(group, pair, self._frame) for group in in_groups(wanted, together)]
                questions += groups
                owners += [n] * len(groups)
        table: list[list[Score]] = [
            [] if (pair[1].answer or "").strip() else [Score(0.0, EMPTY_ANSWER) for _ in wanted]
            for pair, wanted in zip(pairs, requirements, strict=True)
        ]
        for n, question, scores in zip(owners, questions, self._ask_all(questions), strict=True):
            each = zip(question.requirements, scores.values(), strict=True)
            table[n] += [_decided(requirement, score) for requirement, score in each]
        return table

    def prefer(self, duels: Sequence[Duel]) -> list[Score]:
        """For each duel 1 where the first answer is better, 0 where the second is, 0.5 for a tie; in this order only."""
        questions = [PreferenceQuestion(duel, self._frame) for duel in duels]
        return [scores["better"] for scores in self._ask_all(questions)]

    def usage(self) -> Json:
        return self._asker.usage.as_dict()

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
        scored = self._ask_all([RubricQuestion(prompt, pairs[n], self._frame) for n in asked])
        for n, scores in zip(asked, scored, strict=True):
            table[n] = scores
        return table

    def _ask_all(self, questions: Sequence[JudgeQuestion]) -> list[dict[str, Score]]:
        tasks = [(question, vote) for question in questions for vote in range(self.votes)]
        votes = in_threads(lambda task: self._asker.ask(*task), tasks, self.concurrency)
        return [_scores(question, votes[n * self.votes : (n + 1) * self.votes]) for n, question in enumerate(questions)]


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


def _details(votes: Sequence[Vote]) -> Mapping[str, Any]:
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
    return {**details, "trimmed": trimmed} if trimmed else details


def _joined(texts: Iterable[str]) -> str | list[str]:
    """The text of a single vote; a list for several votes."""
    several = list(texts)
    return several[0] if len(several) == 1 else several


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST_RAW else f"{text[:LONGEST_RAW]}… ({len(text):,} characters in all)"
