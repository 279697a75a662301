"""The only scorer: metrics, then the profile's verdict. Models and word lists are loaded when a metric needs them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from answerkey.background import start_thread
from answerkey.config.tables import PACKAGED_NAME, PYTHON_PREFIX
from answerkey.errors import AnswerkeyError, SettingsError
from answerkey.metrics.judge.judged_metrics import load_judge, uses_local_models
from answerkey.metrics.judge.own_criteria import check_criteria
from answerkey.metrics.length_limits import cut_long_texts, exceeds_limits
from answerkey.metrics.plan import Plan, make_plan
from answerkey.metrics.registry import OWN_CRITERION, Metric, find, load_modules, provided_for
from answerkey.profiles.decide import decide_verdict, describe_errors, verdict_of_error
from answerkey.profiles.load import load_profile
from answerkey.runs.ask import Answered
from answerkey.runs.suite import Suite
from answerkey.types import (
    Case,
    Outcome,
    Pair,
    Profile,
    Requirement,
    Response,
    Score,
    Status,
    Verdict,
)
from answerkey.user_code import import_from

T = TypeVar("T")
ScoredChunk = tuple[list[Answered], list[Outcome]]
Measured = tuple[list[Answered], list[dict[str, Score]]]
NO_MODEL = frozenset({"none", "off", ""})
# Pairs that are scored and stored at once: a killed run repeats at most so many.
LARGEST_BATCH = 256


@dataclass(frozen=True, slots=True)
class Scorer:
    """Metrics with their models, and the profile. `judge` and `embedding` identify the models; `notes` are for reports."""

    profile: Profile | None
    plan: Plan
    judge: str = "none"
    embedding: str = "none"
    entailment: str = ""  # empty for the packaged model
    notes: tuple[str, ...] = ()
    asks_network: bool = False  # a judge is called over the network
    closing: tuple[Any, ...] = field(default=(), repr=False)

    def outcomes(self, pairs: Sequence[Pair]) -> list[Outcome]:
        """The outcome of each pair, in order; all of them are measured in one batch."""
        return self._decide(pairs, self.plan.score(pairs))

    def stream(
        self,
        chunks: Iterable[list[Answered]],
        *,
        overlap: bool = True,
    ) -> Iterator[ScoredChunk]:
        """Each chunk with its outcomes, in order.

        With `overlap`, the judge's calls for several chunks run at the same time, so that none
        waits for the slowest of its chunk. Other metrics are computed when a chunk arrives.
        """
        plan = self.plan
        judged = Plan(())
        # Without a judge over the network nothing waits, so there is nothing to overlap.
        if overlap and self._concurrency:
            plan, judged = self.plan.split_at("judge")
        measured = ((chunk, plan.score(pairs_of(chunk))) for chunk in chunks)
        if judged.steps:
            yield from self._stream_judged(measured, judged)
            return
        for chunk, table in measured:
            yield chunk, self._decide(pairs_of(chunk), self._in_plan_order(table))

    def _stream_judged(self, measured: Iterable[Measured], judged: Plan) -> Iterator[ScoredChunk]:
        """Judge small parts of the chunks in the background; yield them in order as they end.

        After an error no new part begins; the parts that succeeded are yielded before it is raised.
        """
        # A quarter of the concurrency: a slow call holds up a small part only.
        part_size = max(1, self._concurrency // 4)
        pending: deque[_JudgedPart] = deque()
        for chunk, table in measured:
            rows = iter(table)
            for answered in in_chunks(chunk, part_size):
                scores = list(islice(rows, len(answered)))
                work = partial(self._judge_part, answered, scores, judged)
                pending.append(_JudgedPart(answered, start_thread(work)))
            while pending and (pending[0].outcomes.done() or _count_pairs(pending) >= self.batch):
                if pending[0].has_failed:  # waits for the oldest
                    break
                yield _merge_parts(_take_ended(pending))
            if pending and pending[0].outcomes.done() and pending[0].has_failed:
                break
        wait([part.outcomes for part in pending])
        succeeded = [part for part in pending if not part.has_failed]
        if succeeded:
            yield _merge_parts(succeeded)
        for part in pending:
            part.outcomes.result()  # raises the first error

    def _judge_part(
        self, answered: Sequence[Answered], table: Sequence[dict[str, Score]], judged: Plan
    ) -> list[Outcome]:
        pairs = pairs_of(answered)
        judgements = judged.score(pairs)
        whole = [own | row for own, row in zip(table, judgements, strict=True)]
        return self._decide(pairs, self._in_plan_order(whole))

    def _in_plan_order(self, table: Sequence[dict[str, Score]]) -> list[dict[str, Score]]:
        # Judged metrics end later; reports show the order of the suite.
        return [{name: scores[name] for name in self.plan.names} for scores in table]

    def _decide(self, pairs: Sequence[Pair], table: Sequence[dict[str, Score]]) -> list[Outcome]:
        return [
            Outcome(case, response, scores, verdict_of(self.profile, case, response, scores))
            for (case, response), scores in zip(pairs, table, strict=True)
        ]

    @property
    def batch(self) -> int:
        """How many pairs to score at once. With a judge, a few rounds of its concurrency: a crash loses little."""
        return min(LARGEST_BATCH, self._concurrency * 4 or LARGEST_BATCH)

    @property
    def _concurrency(self) -> int:
        return max((getattr(tool, "concurrency", 0) for tool in self.closing), default=0)

    def close(self) -> None:
        for tool in self.closing:
            tool.close()


def pairs_of(answered: Iterable[Answered]) -> list[Pair]:
    return [(case, response) for _, case, response in answered]


@dataclass(frozen=True, slots=True)
class _JudgedPart:
    """A part of a chunk whose judge calls are under way."""

    answered: list[Answered]
    outcomes: Future[list[Outcome]]

    @property
    def has_failed(self) -> bool:
        """Whether judging ended in an error; waits for its end."""
        return self.outcomes.exception() is not None


def _count_pairs(parts: Iterable[_JudgedPart]) -> int:
    return sum(len(part.answered) for part in parts)


def _take_ended(pending: deque[_JudgedPart]) -> list[_JudgedPart]:
    """Remove the oldest parts that have succeeded, up to the first that has not."""
    ended: list[_JudgedPart] = []
    while pending and pending[0].outcomes.done() and not pending[0].has_failed:
        ended.append(pending.popleft())
    return ended


def _merge_parts(parts: Sequence[_JudgedPart]) -> ScoredChunk:
    """Several parts as one: they are stored with one write."""
    answered = [each for part in parts for each in part.answered]
    outcomes = [each for part in parts for each in part.outcomes.result()]
    return answered, outcomes


def verdict_of(
    profile: Profile | None, case: Case, response: Response, scores: Mapping[str, Score]
) -> Verdict:
    """The profile's verdict. Without a profile a case is SCORED, or ERROR."""
    if profile is not None:
        if exceeds_limits(case, response):
            # The sentence on a failure reads the same texts as the metrics.
            ((case, response),), _ = cut_long_texts([(case, response)])
        return decide_verdict(profile, case, response, scores)
    if response.error is not None:
        return verdict_of_error(f"No response: {response.error}")
    if any(score.error is not None for score in scores.values()):
        return verdict_of_error(f"Could not be scored: {describe_errors(scores)}")
    return Verdict(Status.SCORED)


def cost_of(outcome: Outcome) -> float:
    """What the answer and its judging cost, as far as it is known."""
    judged = sum(
        score.details.get("cost") or 0.0 for score in outcome.scores.values() if score.details
    )
    return (outcome.response.cost or 0.0) + judged


def in_chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def make_scorer(suite: Suite, profile: Profile | None, judge: Any = None) -> Scorer:
    """Load and check everything before the first question. `judge` replaces the suite's judge."""
    if suite.modules:  # they may stand in the suite's folder
        # Before the metrics are looked up, as these modules register them.
        import_from(suite.folder)
        load_modules(suite.modules)
    own = [f"{OWN_CRITERION}{each.name}" for each in suite.criteria]
    names = [*(profile.metrics if profile else ()), *suite.metrics, *own]
    if any(name.startswith(OWN_CRITERION) for name in names):
        check_criteria(names, suite.criteria)
    if not names:
        raise SettingsError(
            'nothing to measure; give metrics = ["keyword_recall"] or a profile (`answerkey metrics`, `answerkey profiles`)'
        )
    # A metric that profile and suite both name is computed once.
    metrics = [find(name) for name in dict.fromkeys(names)]
    needed = provided_for(metrics)
    provided: dict[str, Any] = {"criteria": suite.criteria}
    if not needed.isdisjoint(("words", "routes")):
        # Word lists belong to profiles; without one the default lists are used.
        rules = profile or load_profile("route-aware")
        provided |= {"words": rules.words, "routes": rules.routes}
    notes: list[str] = []
    embedding = "none"
    entailment = ""
    judge_needs_models = judge is None and "judge" in needed and uses_local_models(suite.judge)
    if "embed" in needed or judge_needs_models:
        embed = _embedder(suite.embedding, metrics, notes, suite.folder)
        if embed is not None:
            provided["embed"] = embed
            embedding = f"{embed.name} {embed.digest[:16]} {embed.precision}"
    needs_pair_model = "pair_model" in needed or judge_needs_models
    if needs_pair_model and suite.entailment["model"] != PACKAGED_NAME:
        provided["pair_model"], entailment = _load_pair_model(suite)
    settings, of_facts = _settings_of_metrics(suite, profile, metrics, own)
    is_local = judge is None and suite.judge in ("local", {"preset": "local"})
    if "judge" in needed and (
        judge or suite.judge or of_facts or _must_judge(metrics, suite.criteria)
    ):
        provided["judge"] = judge or _load_suite_judge(suite, provided)
        if suite.run.max_cost is not None:
            _limit_cost(provided["judge"], suite.run.max_cost)
        if is_local:
            notes.append("judged by `local`, a deterministic judge with no language model")
    used_judge = provided.get("judge")
    if used_judge is None:
        judge_name = "none"
        closing: tuple[Any, ...] = ()
    else:
        judge_name = used_judge.fingerprint()
        closing = (used_judge,)
    return Scorer(
        profile=profile,
        plan=make_plan(names, provided, settings),
        judge=judge_name,
        embedding=embedding,
        entailment=entailment,
        notes=tuple(notes),
        asks_network=used_judge is not None and not is_local,
        closing=closing,
    )


def _settings_of_metrics(
    suite: Suite, profile: Profile | None, metrics: list[Metric], own: list[str]
) -> tuple[dict[str, Any], list[str]]:
    """The settings of each metric, and the metrics that the settings of facts hold for."""
    # The suite's settings win over those of its profile.
    settings: dict[str, Any] = {**(profile.settings if profile else {}), **suite.settings}
    of_facts: list[str] = []
    if "facts" in settings:
        of_facts = [metric.name for metric in metrics if metric.package == "facts"]
    # [settings.criteria] and [settings.facts] hold for all metrics of that kind.
    if "criteria" in settings:
        settings |= dict.fromkeys(own, settings["criteria"])
    settings |= {name: {**settings.get(name, {}), **settings["facts"]} for name in of_facts}
    return settings, of_facts


def _must_judge(metrics: list[Metric], criteria: Sequence[Requirement]) -> bool:
    """Whether a metric cannot be computed without a judge."""
    return any(metric.keywords().get("judge") for metric in metrics) or any(
        each.judged for each in criteria
    )


def _load_pair_model(suite: Suite) -> tuple[Any, str]:
    """The pair model that the suite names, and what identifies it."""
    from answerkey.entailment.load import fingerprint_of, load_pair_model

    if str(suite.entailment["model"]).startswith(PYTHON_PREFIX):
        import_from(suite.folder)
    pair_model = load_pair_model(**suite.entailment)
    return pair_model, fingerprint_of(pair_model)


def _load_suite_judge(suite: Suite, provided: Mapping[str, Any]) -> Any:
    if suite.judge is None:
        fix = 'give judge = "local" or a [judge] table in the suite, or --judge local'
        raise SettingsError(f"a metric needs a judge: {fix}")
    return load_judge(suite.judge, provided.get("embed"), suite.folder, provided.get("pair_model"))


def _limit_cost(judge: Any, most: float) -> None:
    from answerkey.llm.cost_limit import CostLimit
    from answerkey.metrics.judge.judge_per_metric import limit_judges

    limit_judges([judge], CostLimit(most))


def _embedder(
    settings: Mapping[str, Any], metrics: list[Metric], notes: list[str], folder: Path
) -> Any:
    """The embedding model; None if it is switched off or fails and every metric works without it."""
    must = [metric.name for metric in metrics if metric.keywords().get("embed")]
    if str(settings["model"]).lower() in NO_MODEL:
        notes.append("without embeddings: words are compared instead")
        return None
    from answerkey.embed import load_embedder

    options = {key: value for key, value in settings.items() if key != "model"}
    if str(settings["model"]).startswith(PYTHON_PREFIX):
        import_from(folder)
    try:
        embed = load_embedder(settings["model"], **options)
        # Tried at once: a run must not change from meanings to words in its middle.
        if not must:
            embed.embed(["Does the model work?"])
        return embed
    except AnswerkeyError as error:
        if must or isinstance(error, SettingsError):  # the user must fix a wrong name
            raise
        notes.append(f"without embeddings ({error}): words are compared instead")
        return None
