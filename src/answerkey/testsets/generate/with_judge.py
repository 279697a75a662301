"""Cases that a judge model writes and checks, with cost before it starts and resume."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from answerkey.embed import Embedder
from answerkey.errors import IncompleteError, SettingsError
from answerkey.llm.chat import CallFailed, Chat
from answerkey.llm.threads import in_threads
from answerkey.retrieval.corpus import Page
from answerkey.testsets.audit.document_set import DocumentSet
from answerkey.testsets.generate.checks import Checker
from answerkey.testsets.generate.made_cases import MadeCase
from answerkey.testsets.generate.model_calls import ModelCalls
from answerkey.testsets.generate.offline import (
    GenerateSettings,
    RealQuestions,
    describe_cases,
    read_passages,
)
from answerkey.testsets.generate.proposals import (
    QuestionKind,
    clip_passage,
    prompts,
    propose,
)
from answerkey.testsets.generate.report import GenerationReport, Rejection
from answerkey.testsets.generate.source_passages import SourcePassage
from answerkey.text import normalise

Step = Callable[[str], None]
Confirm = Callable[[str], bool]
DEFAULT_COUNT = 50
_OTHERS = 2  # passages that search finds, besides its own, asked for each case
_CALLS_PER_CASE = 3 + _OTHERS
_USUAL_YIELD = 0.5  # for the estimate only; the report has the true one
_CHARACTERS_PER_TOKEN = 4
_REPLY_TOKENS = 120
_TRIES_PER_CASE = 6  # passages tried for each case asked for, before it gives up
_SAME_MEANING = 0.93  # as in the audit's near-duplicates
_AT_ONCE = 8


@dataclass(frozen=True)
class JudgeOptions:
    """How a generation with a judge runs: its journal, and whether it may start."""

    chat: Chat
    journal: Path | None = None
    confirm: Confirm | None = None
    workers: int = 4


def generate_with_judge(
    pages: Sequence[Page],
    settings: GenerateSettings,
    options: JudgeOptions,
    *,
    real: RealQuestions,
    embed: Embedder | None,
    step: Step = lambda _: None,
) -> GenerationReport:
    """Cases from proposals that pass every check, until there are `count` or no passage is left."""
    passages = read_passages(pages)
    kinds = read_kinds(settings.kinds)
    count = settings.count or min(DEFAULT_COUNT, len(passages))
    calls = ModelCalls(options.chat, prompts()["system"], options.journal)
    estimate = estimate_cost(passages, count, options.chat)
    step(estimate)
    # Before the first call: an estimate after it would come too late.
    if options.confirm is not None and not options.confirm(estimate):
        raise IncompleteError("not started: the cost was not confirmed")
    run = _Generation(passages, kinds, calls, embed, settings.seed, step)
    try:
        run.make(count, options.workers)
    except (IncompleteError, KeyboardInterrupt):
        step(f"{len(run.cases)} cases so far; the same command resumes without asking again")
        raise
    report = describe_cases(run.cases, passages, real=real, embed=embed, step=step, tried=run.tried)
    # Each quote has its own label; labels beyond them were found by search.
    labels = sum(len(case.passages) - len(case.quotes) for case in run.cases)
    return replace(
        report,
        rejected=dict(run.rejected.most_common()),
        near_duplicates=run.rejected[Rejection.DUPLICATE],
        second_labels=labels,
        usage=calls.totals(),
        judge=options.chat.model,
    )


def read_kinds(names: Sequence[str]) -> tuple[QuestionKind, ...]:
    """The kinds by name; all of them where none is named."""
    if not names:
        return tuple(QuestionKind)
    unknown = [name for name in names if name not in set(QuestionKind)]
    if unknown:
        raise SettingsError(
            f"--kinds {unknown[0]}: with a judge there are {', '.join(QuestionKind)}"
        )
    return tuple(QuestionKind(name) for name in names)


def estimate_cost(passages: Sequence[SourcePassage], count: int, chat: Chat) -> str:
    """Calls, tokens and cost before the first call."""
    mean_length = sum(len(clip_passage(one)) for one in passages) / len(passages)
    calls = round(count / _USUAL_YIELD * _CALLS_PER_CASE)
    read = calls * (mean_length + len(prompts()["propose"])) / _CHARACTERS_PER_TOKEN
    written = calls * _REPLY_TOKENS
    cost = "cost unknown: the judge has no price_in and price_out"
    table = getattr(chat, "settings", None)
    price_in = getattr(table, "price_in", None)
    price_out = getattr(table, "price_out", None)
    if price_in is not None and price_out is not None:
        cost = f"cost about {(read * price_in + written * price_out) / 1e6:.2f}"
    return (
        f"{count} cases from {len(passages)} passages with {chat.model}: about {calls} calls, "
        f"{read + written:,.0f} tokens; {cost}"
    )


class _Generation:
    """One run over the passages: what was made, rejected and tried."""

    def __init__(
        self,
        passages: Sequence[SourcePassage],
        kinds: tuple[QuestionKind, ...],
        calls: ModelCalls,
        embed: Embedder | None,
        seed: int,
        step: Step,
    ) -> None:
        pages = [Page(one.id, f"{one.heading}\n{one.text}", one.document) for one in passages]
        self._documents = DocumentSet(pages, embed, step)
        self._passages = passages
        self._kinds = kinds
        self._calls = calls
        self._embed = embed
        self._step = step
        self._checker = Checker(calls, self._find_others, self._documents.language)
        self._order = list(range(len(passages)))
        # The same seed tries the same passages, so that a resumed generation finds its replies.
        random.Random(seed).shuffle(self._order)
        self._questions: list[str] = []
        self.cases: list[MadeCase] = []
        self.rejected: Counter[Rejection] = Counter()
        self.tried = 0

    def make(self, count: int, workers: int) -> None:
        """Try passages, a few at a time, until there are enough cases."""
        attempts = self._attempts()
        # A model that proposes nothing usable must not be asked for ever.
        # At least every passage once, even if few cases are asked for.
        limit = max(count * _TRIES_PER_CASE, len(self._passages))
        while len(self.cases) < count and self.tried < limit:
            # No more at once than are still needed: each proposal is paid for.
            size = min(_AT_ONCE, count - len(self.cases), limit - self.tried)
            batch = list(islice(attempts, size))
            results = in_threads(self._try_passage, batch, workers)
            for result in results:
                self._keep(result)
            self.tried += len(batch)
            self._step(f"{len(self.cases)} of {count} cases, {self.tried} tried")

    def _attempts(self) -> Iterator[tuple[QuestionKind, int]]:
        """Passages in a random order, each time with the next kind."""
        kinds = cycle(self._kinds)
        while True:
            for number in self._order:
                yield next(kinds), number
            next(kinds)  # in the next round a passage gets another kind

    def _try_passage(self, attempt: tuple[QuestionKind, int]) -> MadeCase | Rejection:
        kind, number = attempt
        passages = (self._passages[number],)
        if kind is QuestionKind.MULTI:
            # The beginning is enough to find a passage about the same subject.
            others = self._find_others(passages[0].text[:500], passages)
            if not others:
                return Rejection.NO_QUESTION
            passages = (passages[0], others[0])
        try:
            proposal = propose(self._calls, kind, passages)
            if isinstance(proposal, Rejection):
                return proposal
            # Before the checks, which cost several calls.
            if self._is_repeat(proposal.question):
                return Rejection.DUPLICATE
            return self._checker.check(proposal)
        except CallFailed:
            return Rejection.CALL_FAILED

    def _keep(self, result: MadeCase | Rejection) -> None:
        if isinstance(result, MadeCase) and self._is_repeat(result.question):
            result = Rejection.DUPLICATE  # of one that was made at the same time
        if isinstance(result, Rejection):
            self.rejected[result] += 1
            return
        self.cases.append(result)
        self._questions.append(result.question)

    def _is_repeat(self, question: str) -> bool:
        # A copy, as other threads may add questions meanwhile.
        earlier = list(self._questions)
        if normalise(question) in map(normalise, earlier):
            return True
        if self._embed is None or not earlier:
            return False
        vectors = np.asarray(self._embed.embed([question, *earlier]), np.float32)
        return bool((vectors[1:] @ vectors[0]).max() >= _SAME_MEANING)

    def _find_others(self, question: str, own: Sequence[SourcePassage]) -> list[SourcePassage]:
        """The passages that search finds first, without those of the case."""
        own_ids = {passage.id for passage in own}
        row = next(self._documents.scores([question]))
        order = sorted(range(len(self._passages)), key=lambda number: -row.fit(number))
        ranked = (self._passages[number] for number in order)
        return [passage for passage in ranked if passage.id not in own_ids][:_OTHERS]
