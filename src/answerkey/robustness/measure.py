"""Compare the answers to variants of questions with the answers to the original questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from answerkey.comparison.significance import Difference, McNemar, difference, mcnemar
from answerkey.intervals import Interval, cluster_interval, mean_interval
from answerkey.robustness.record import KindRecord, PairMean
from answerkey.types import Case, Outcome, Response, Score
from answerkey.variants.expand import CONVERSATION, KIND, PARENT
from answerkey.variants.planted import INJECTION, follows_injection

# Scores (case, response) pairs: the case expects the answer to the original question.
ScorePairs = Callable[[Sequence[tuple[Case, Response]]], Sequence[Score]]

# Pairs per call of the metric, so that memory does not grow with the run.
_BATCH = 256


@dataclass(frozen=True, slots=True)
class MeanOverPairs:
    """A mean over pairs of an original and a variant, with the number of pairs that have the value."""

    n: int
    mean: float | None = None
    interval: Interval | None = None

    def to_record(self) -> PairMean:
        if self.interval is None:
            ends = None
        else:
            ends = (self.interval.low, self.interval.high)
        return PairMean(self.n, self.mean, ends)


@dataclass(frozen=True, slots=True)
class VariantFigures:
    """One kind of variant beside the original questions.

    `passes` and `drop` cover the pairs whose original question has a verdict and whose variant was
    answered, or refused with an unusable answer. A positive drop means that the variants pass less
    often. `unscored` counts the other pairs.
    """

    kind: str
    pairs: int
    unscored: int
    passes: McNemar
    change: Difference
    newly_failing: tuple[str, ...]
    newly_passing: tuple[str, ...]
    consistency: MeanOverPairs
    overlap: MeanOverPairs
    routed: int
    rerouted: tuple[str, ...]

    @property
    def drop(self) -> float | None:
        if self.change.diff is None:
            return None
        return 0.0 - self.change.diff  # not -diff, which would print as -0

    @property
    def drop_interval(self) -> tuple[float, float] | None:
        interval = self.change.interval
        if interval is None:
            return None
        return (-interval.high, -interval.low)

    def to_record(self) -> KindRecord:
        return KindRecord(
            pairs=self.pairs,
            unscored=self.unscored,
            scored_pairs=self.change.n,
            pass_rate_original=self.change.mean_a,
            pass_rate_variant=self.change.mean_b,
            drop=self.drop,
            drop_ci95=self.drop_interval,
            p=self.passes.p,
            test=self.passes.method,
            newly_failing=self.newly_failing,
            newly_passing=self.newly_passing,
            consistency=self.consistency.to_record(),
            retrieval_overlap=self.overlap.to_record(),
            routed_pairs=self.routed,
            rerouted=self.rerouted,
        )


@dataclass(slots=True)
class _Pairs:
    """The pairs of one kind while they are collected."""

    originals: list[Outcome] = field(default_factory=list[Outcome])
    variants: list[Outcome] = field(default_factory=list[Outcome])

    def __len__(self) -> int:
        return len(self.variants)


def measure_variants(
    originals: Iterable[Outcome], variants: Iterable[Outcome], score_pairs: ScorePairs
) -> dict[str, VariantFigures]:
    """The figures of every kind of variant, in the order of their first case.

    `score_pairs` is the metric for consistency, usually `answer_agreement`.
    """
    by_id = {outcome.case.id: outcome for outcome in originals}
    kinds: dict[str, _Pairs] = defaultdict(_Pairs)
    for outcome in variants:
        original = by_id.get(str(outcome.case.extra.get(PARENT)))
        if original is None:  # the run of the originals stopped before this case
            continue
        pairs = kinds[str(outcome.case.extra.get(KIND))]
        pairs.originals.append(original)
        pairs.variants.append(outcome)
    return {kind: _measure_kind(kind, pairs, score_pairs) for kind, pairs in kinds.items()}


def _measure_kind(kind: str, pairs: _Pairs, score_pairs: ScorePairs) -> VariantFigures:
    units = _number_units(pairs.originals)
    scored = [n for n in range(len(pairs)) if _is_comparable(pairs, n)]
    before = np.array([_holds(pairs, n, pairs.originals[n]) for n in scored], float)
    after = np.array([_holds(pairs, n, pairs.variants[n]) for n in scored], float)
    clusters = np.array([units[n] for n in scored], int)
    routes = _compare_routes(pairs)
    return VariantFigures(
        kind=kind,
        pairs=len(pairs),
        unscored=len(pairs) - len(scored),
        passes=mcnemar(before, after, clusters),
        change=difference(before, after, clusters),
        newly_failing=_ids(pairs, scored, before > after),
        newly_passing=_ids(pairs, scored, before < after),
        consistency=_mean_by_unit(_score_consistency(pairs, score_pairs), units),
        overlap=_mean_by_unit(_overlaps(pairs), units),
        routed=len(routes),
        rerouted=tuple(pairs.variants[n].case.id for n, changed in routes.items() if changed),
    )


def _number_units(originals: Sequence[Outcome]) -> list[int]:
    """Number the independent units: an original with its variants, or a whole conversation."""
    numbers: dict[str, int] = {}
    units: list[int] = []
    for outcome in originals:
        extra = outcome.case.extra
        name = str(extra.get("cluster") or extra.get(CONVERSATION) or outcome.case.id)
        units.append(numbers.setdefault(name, len(numbers)))
    return units


def _is_comparable(pairs: _Pairs, n: int) -> bool:
    """Whether a pair counts for the drop.

    A variant without a usable answer, or one that the bot refuses, failed if its original passed:
    leaving it out would reward a bot that stops answering. An error of the network says nothing
    about the bot.
    """
    original = pairs.originals[n].verdict
    variant = pairs.variants[n]
    is_injection = variant.case.extra.get(KIND) == INJECTION
    has_verdict = original.score is not None or is_injection
    return has_verdict and variant.response.error_kind != "infrastructure"


def _holds(pairs: _Pairs, n: int, outcome: Outcome) -> bool:
    """Whether an answer passes; of an injection, whether its instruction was not followed."""
    child = pairs.variants[n].case
    if child.extra.get(KIND) == INJECTION:
        return not follows_injection(child, outcome.response.answer)
    return bool(outcome.verdict.passed)


def _ids(pairs: _Pairs, scored: Sequence[int], chosen: np.ndarray) -> tuple[str, ...]:
    return tuple(
        pairs.variants[n].case.id for n, is_chosen in zip(scored, chosen, strict=True) if is_chosen
    )


def _score_consistency(pairs: _Pairs, score_pairs: ScorePairs) -> dict[int, float]:
    """The agreement of each variant's answer with the original's answer; no expected answer is needed."""
    numbers: list[int] = []
    questions: list[tuple[Case, Response]] = []
    for n, (original, variant) in enumerate(zip(pairs.originals, pairs.variants, strict=True)):
        expected = original.response.answer
        if expected and variant.response.answer:
            numbers.append(n)
            # The answer to the original stands for the expected one, so that no label is needed.
            case = Case(variant.case.id, original.case.question, (expected,))
            questions.append((case, Response(variant.response.answer)))
    values: dict[int, float] = {}
    for start in range(0, len(questions), _BATCH):
        scores = score_pairs(questions[start : start + _BATCH])
        for n, score in zip(numbers[start : start + _BATCH], scores, strict=True):
            if score.value is not None:
                values[n] = score.value
    return values


def _overlaps(pairs: _Pairs) -> dict[int, float]:
    """The share of the original's passages that the variant's retrieval returned too."""
    values: dict[int, float] = {}
    for n, (original, variant) in enumerate(zip(pairs.originals, pairs.variants, strict=True)):
        before = _retrieved_names(original.response)
        after = _retrieved_names(variant.response)
        if before is not None and after is not None and (before or after):
            # By the longer list: a variant that retrieves one of ten passages has not all of them.
            values[n] = len(before & after) / max(len(before), len(after))
    return values


def _retrieved_names(response: Response) -> frozenset[str] | None:
    """The ids of the retrieved passages, or their texts; None if the bot reports none."""
    if response.retrieved is not None:
        return frozenset(response.retrieved)
    if response.passages:
        return frozenset(response.contexts)
    return None


def _compare_routes(pairs: _Pairs) -> dict[int, bool]:
    """Whether the route changed, for each pair in which both answers name their route."""
    changes: dict[int, bool] = {}
    for n, (original, variant) in enumerate(zip(pairs.originals, pairs.variants, strict=True)):
        before = original.response.route
        after = variant.response.route
        if before and after:
            changes[n] = before != after
    return changes


def _mean_by_unit(values: Mapping[int, float], units: Sequence[int]) -> MeanOverPairs:
    """The mean over pairs; its interval treats the pairs of one unit as dependent."""
    if not values:
        return MeanOverPairs(0)
    sums: dict[int, float] = defaultdict(float)
    sizes: dict[int, int] = defaultdict(int)
    for n, value in values.items():
        sums[units[n]] += value
        sizes[units[n]] += 1
    mean = sum(values.values()) / len(values)
    # With one variant per case the pairs are independent, and the usual interval holds.
    if len(sizes) == len(values):
        return MeanOverPairs(len(values), mean, mean_interval(list(values.values()), 0.0, 1.0))
    ends = cluster_interval(list(sizes.values()), list(sums.values()), rate=True)
    return MeanOverPairs(len(values), mean, ends)
