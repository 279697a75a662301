"""One judge for most metrics, and others for some."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from answerkey.llm.cost_limit import CostLimit
from answerkey.llm.usage import CallTotals, add_totals
from answerkey.metrics.judge.judged_metrics import Judge
from answerkey.metrics.judge.preference_question import Duel
from answerkey.metrics.registry import OWN_CRITERION
from answerkey.types import Pair, Requirement, Score


def limit_judges(judges: Iterable[object], limit: CostLimit) -> None:
    """Make judges share one limit of cost; one that costs nothing has none."""
    for judge in judges:
        limit_cost = getattr(judge, "limit_cost", None)
        if limit_cost is not None:
            limit_cost(limit)


class JudgePerMetric:
    """One judge for most metrics, others for those that are named: `rubric`, `judge.safety`, `criterion.tone`, `prefer`."""

    def __init__(self, usual: Judge, others: Mapping[str, Judge]) -> None:
        self.usual = usual
        self.others = dict(others)
        self.name = usual.name
        self.concurrency: int = getattr(usual, "concurrency", 0)

    def limit_cost(self, limit: CostLimit) -> None:
        limit_judges((self.usual, *self.others.values()), limit)

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        return self._for("rubric").rubric(pairs)

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        # The prompt for answers without passages belongs to the same metric.
        metric = f"judge.{name.removesuffix('_to_expected')}"
        return self._for(metric).judge(name, pairs)

    def criteria(
        self,
        pairs: Sequence[Pair],
        requirements: Sequence[Sequence[Requirement]],
        together: bool = True,
    ) -> list[list[Score]]:
        """Each judge gets the requirements that are its own."""
        table: list[dict[int, Score]] = [{} for _ in pairs]
        # A judge that is named for several metrics is asked once for all of them.
        for judge in self._judges():
            own = [
                [
                    m
                    for m, each in enumerate(row)
                    if self._for(f"{OWN_CRITERION}{each.name}", "criteria") is judge
                ]
                for row in requirements
            ]
            places = [n for n, positions in enumerate(own) if positions]
            if not places:
                continue
            answers = judge.criteria(
                [pairs[n] for n in places],
                [[requirements[n][m] for m in own[n]] for n in places],
                together,
            )
            for n, scores in zip(places, answers, strict=True):
                table[n] |= dict(zip(own[n], scores, strict=True))
        # Back in the order of the requirements, whichever judge decided them.
        return [[row[m] for m in sorted(row)] for row in table]

    def prefer(self, duels: Sequence[Duel]) -> list[Score]:
        return self._for("prefer").prefer(duels)

    def usage(self) -> CallTotals | None:
        """The totals of all judges together; None where none of them makes calls."""
        totals = [judge.usage() for judge in self._judges()]
        parts = [each for each in totals if each is not None]
        if not parts:
            return None
        active = [each for each in parts if each.calls or each.failed_calls or each.cached]
        # Returned as it is, because the totals of a jury also name its members.
        if len(active) == 1:
            return active[0]
        return add_totals(parts)

    def fingerprint(self) -> str:
        others = ", ".join(
            f"{name}: {judge.fingerprint()}" for name, judge in sorted(self.others.items())
        )
        return f"{self.usual.fingerprint()} ({others})"

    def close(self) -> None:
        for judge in (self.usual, *self.others.values()):
            judge.close()

    def _judges(self) -> list[Judge]:
        """Each judge once, also one that is named for several metrics."""
        return list({id(each): each for each in (self.usual, *self.others.values())}.values())

    def _for(self, *names: str) -> Judge:
        return next((self.others[name] for name in names if name in self.others), self.usual)
