"""A judge that is asked only where the local models are not sure: `[judge] when = "unsure"`.

The local judge gives a probability for the rubric's accuracy (agreement with the expected answer, or support by the passages)
and for faithfulness (support by the passages). Near 0 and near 1 its verdict stands and the call is saved; between
them the model is asked. Questions without a local probability, such as criteria in words, are always asked.

A share of the sure answers is asked as well: their agreement says how much the saved calls cost in accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from msgspec.structs import replace

from answerkey.cache import digest
from answerkey.llm.cost_limit import CostLimit
from answerkey.llm.usage import CallTotals
from answerkey.metrics.judge.judge_per_metric import limit_judges
from answerkey.metrics.judge.judged_metrics import Judge
from answerkey.metrics.judge.preference_question import Duel
from answerkey.types import Pair, Requirement, Score

Band = tuple[float, float]
DEFAULT_BAND: Band = (0.15, 0.85)
DETAIL = "cascade"  # the key of a score's details
_MIDDLE = 0.5
_RUBRIC = "rubric"
_RUBRIC_TOP = 5.0  # of its accuracy
# Prompts for which the local judge gives a probability; its answer_relevance is a similarity, which says less.
_WITH_PROBABILITY = ("faithfulness",)


class DecidedBy(Enum):
    """The source of a verdict."""

    LOCAL = "local"
    JUDGE = "judge"
    BOTH = "both"  # asked to measure the agreement; the judge's verdict counts


@dataclass(frozen=True, slots=True)
class Route:
    """Who decides about one answer, and the local probability, None where there is none."""

    by: DecidedBy
    probability: float | None


class CascadeJudge:
    """Asks `local` first, and `judge` where the local probability lies inside `band`."""

    def __init__(
        self, judge: Judge, local: Judge, band: Band = DEFAULT_BAND, check_share: float = 0.05
    ) -> None:
        self.name = judge.name
        self.concurrency: int = getattr(judge, "concurrency", 0)
        self.band = band
        self._judge = judge
        self._local = local
        self._check_share = check_share

    @property
    def calls_per_question(self) -> int:
        return getattr(self._judge, "calls_per_question", 1)

    def limit_cost(self, limit: CostLimit) -> None:
        limit_judges([self._judge], limit)

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        """All four criteria come from one source: the one that decides about accuracy."""
        local = self._local.rubric(pairs)
        routes = [
            self._choose_route(pair, row["accuracy"], _RUBRIC_TOP)
            for pair, row in zip(pairs, local, strict=True)
        ]
        to_ask = [n for n, route in enumerate(routes) if route.by is not DecidedBy.LOCAL]
        judged = dict(zip(to_ask, self._judge.rubric([pairs[n] for n in to_ask]), strict=True))
        table: list[dict[str, Score]] = []
        for n, route in enumerate(routes):
            row = judged.get(n, local[n])
            note = self._describe_route(route, _RUBRIC, row["accuracy"], _RUBRIC_TOP)
            table.append({name: _with_note(score, note) for name, score in row.items()})
        return table

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        if name not in _WITH_PROBABILITY:
            return self._judge.judge(name, pairs)
        local = self._local.judge(name, pairs)
        routes = [
            self._choose_route(pair, score, 1.0) for pair, score in zip(pairs, local, strict=True)
        ]
        to_ask = [n for n, route in enumerate(routes) if route.by is not DecidedBy.LOCAL]
        judged = dict(zip(to_ask, self._judge.judge(name, [pairs[n] for n in to_ask]), strict=True))
        scores: list[Score] = []
        for n, route in enumerate(routes):
            score = judged.get(n, local[n])
            scores.append(_with_note(score, self._describe_route(route, name, score, 1.0)))
        return scores

    def criteria(
        self,
        pairs: Sequence[Pair],
        requirements: Sequence[Sequence[Requirement]],
        together: bool = True,
    ) -> list[list[Score]]:
        return self._judge.criteria(pairs, requirements, together)

    def prefer(self, duels: Sequence[Duel]) -> list[Score]:
        return self._judge.prefer(duels)

    def usage(self) -> CallTotals | None:
        return self._judge.usage()

    def fingerprint(self) -> str:
        # Another band leaves other verdicts to the local models, so it is another judge.
        parts = (self._judge.fingerprint(), self._local.fingerprint(), self.band, self._check_share)
        return f"{self.name} when unsure {digest(parts)[:16]}"

    def close(self) -> None:
        self._judge.close()
        self._local.close()

    def _choose_route(self, pair: Pair, local: Score, top: float) -> Route:
        has_answer = bool((pair[1].answer or "").strip())
        # A judge makes no call for an empty answer, so there is none to save.
        if local.value is None or not has_answer:
            return Route(DecidedBy.JUDGE, None)
        probability = local.value / top
        low, high = self.band
        if low <= probability <= high:
            return Route(DecidedBy.JUDGE, probability)
        # By the texts and not by chance, so that a resumed run asks about the same answers.
        if _drawn_share(pair) < self._check_share:
            return Route(DecidedBy.BOTH, probability)
        return Route(DecidedBy.LOCAL, probability)

    def _describe_route(
        self, route: Route, question: str, score: Score, top: float
    ) -> dict[str, object]:
        note: dict[str, object] = {
            "question": question,
            "by": route.by.value,
            "probability": route.probability,
        }
        if route.by is DecidedBy.LOCAL:
            note["calls_saved"] = self.calls_per_question
        # An error of the judge says nothing about agreement.
        if route.by is DecidedBy.BOTH and score.value is not None:
            local_passes = (route.probability or 0.0) >= _MIDDLE
            note["agrees"] = local_passes == (score.value / top >= _MIDDLE)
        return note


def _with_note(score: Score, note: dict[str, object]) -> Score:
    reason = score.reason
    if note["by"] == DecidedBy.LOCAL.value:
        reason = f"{reason} (sure: the judge was not asked)"
    return replace(score, reason=reason, details={**score.details, DETAIL: note})


def _drawn_share(pair: Pair) -> float:
    """A number from 0 to 1 that depends on the texts alone: a resumed run draws the same answers."""
    case, response = pair
    return int(digest(case.question, response.answer or "")[:8], 16) / 0x1_0000_0000
