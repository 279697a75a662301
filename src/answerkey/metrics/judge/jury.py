"""Several judges that give one score together."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import TypeVar

from answerkey.cache import digest
from answerkey.errors import IncompleteError
from answerkey.llm.cost_limit import CostLimit
from answerkey.llm.threads import in_threads
from answerkey.llm.usage import CallTotals, add_totals
from answerkey.metrics.judge.judge_per_metric import limit_judges
from answerkey.metrics.judge.judged_metrics import Judge, of_all_calls
from answerkey.metrics.judge.preference_question import Duel
from answerkey.types import Pair, Requirement, Score

log = logging.getLogger("answerkey.judge")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JuryTotals(CallTotals):
    """Also the totals of each judge, and why a judge was left out."""

    judges: Mapping[str, CallTotals | None] = field(default_factory=dict[str, CallTotals | None])
    lost: Mapping[str, str] = field(default_factory=dict[str, str])


class Jury:
    """Asks all its judges and gives one score. A judge that stops working is left out for the rest of the run.

    >>> Jury([load_judge("groq"), load_judge("ollama")]).name  # doctest: +SKIP
    'jury of openai/gpt-oss-120b, llama3.2'
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        self.judges = tuple(judges)
        self.names = _distinct_names([judge.name for judge in judges])
        self.name = f"jury of {', '.join(self.names)}"
        # The largest and not the sum: each judge keeps to a limit of its own.
        self.concurrency = max((getattr(judge, "concurrency", 0) for judge in judges), default=0)
        self._lost: dict[str, str] = {}
        self._lock = threading.Lock()

    @property
    def calls_per_question(self) -> int:
        return sum(getattr(judge, "calls_per_question", 0) for judge in self.judges)

    def limit_cost(self, limit: CostLimit) -> None:
        limit_judges(self.judges, limit)

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        tables = self._ask(lambda judge: judge.rubric(pairs))
        return [
            {
                name: self._merge({who: rows[n][name] for who, rows in tables.items()})
                for name in row
            }
            for n, row in enumerate(next(iter(tables.values())))
        ]

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        return self._columns(self._ask(lambda judge: judge.judge(name, pairs)))

    def criteria(
        self,
        pairs: Sequence[Pair],
        requirements: Sequence[Sequence[Requirement]],
        together: bool = True,
    ) -> list[list[Score]]:
        tables = self._ask(lambda judge: judge.criteria(pairs, requirements, together))
        return [
            [
                self._merge(
                    {who: rows[n][m] for who, rows in tables.items()}, majority=each.kind == "pass"
                )
                for m, each in enumerate(row)
            ]
            for n, row in enumerate(requirements)
        ]

    def prefer(self, duels: Sequence[Duel]) -> list[Score]:
        return self._columns(self._ask(lambda judge: judge.prefer(duels)))

    def usage(self) -> JuryTotals:
        each = {name: judge.usage() for name, judge in zip(self.names, self.judges, strict=True)}
        together = add_totals(usage for usage in each.values() if usage)
        return JuryTotals(**asdict(together), judges=each, lost=dict(self._lost))

    def fingerprint(self) -> str:
        return f"{self.name} {digest([judge.fingerprint() for judge in self.judges])[:16]}"

    def close(self) -> None:
        for judge in self.judges:
            judge.close()

    def _ask(self, call: Callable[[Judge], T]) -> dict[str, T]:
        """The result of each judge, by its name; raises only when no judge is left."""
        able = [
            (name, judge)
            for name, judge in zip(self.names, self.judges, strict=True)
            if name not in self._lost
        ]

        def attempt(who: tuple[str, Judge]) -> T | None:
            try:
                return call(who[1])
            except IncompleteError as error:
                # Left out for the rest of the run: a judge without quota would fail at every case.
                with self._lock:
                    if who[0] not in self._lost:
                        self._lost[who[0]] = str(error)
                        log.warning("the jury continues without %s: %s", who[0], error)
                return None

        # All at once: a jury takes as long as its slowest judge.
        if able:
            outcomes = in_threads(attempt, able, len(able))
        else:
            outcomes = []
        results = {
            name: result
            for (name, _), result in zip(able, outcomes, strict=True)
            if result is not None
        }
        if not results:
            raise IncompleteError(
                "no judge of the jury works: "
                + "; ".join(f"{n}: {e}" for n, e in self._lost.items())
            )
        return results

    def _columns(self, columns: dict[str, list[Score]]) -> list[Score]:
        count = len(next(iter(columns.values())))
        return [
            self._merge({who: scores[n] for who, scores in columns.items()}) for n in range(count)
        ]

    def _merge(self, scores: dict[str, Score], majority: bool = False) -> Score:
        """One score from those of the judges; an error only where no judge has a value and one has an error."""
        values = {who: score.value for who, score in scores.items() if score.value is not None}
        # A judge that was left out earlier is named as well.
        errors = {
            who: score.error for who, score in scores.items() if score.error is not None
        } | self._lost
        details = _details(scores) | {"jury": {who: values.get(who) for who in self.names}}
        if errors:
            details["jury_errors"] = errors
        if not values:
            if not errors:
                return next(iter(scores.values()))
            problem = "; ".join(f"{who}: {error}" for who, error in errors.items())
            return Score.failed(problem, **details)
        middle = median(values.values())
        # The reason must be that of a judge who gave about this score.
        nearest = scores[min(values, key=lambda who: abs(values[who] - middle))]
        if "quote" in nearest.details:
            details["quote"] = nearest.details["quote"]
        spread = max(values.values()) - min(values.values())
        details["spread"] = spread
        # A tie of yes and no is no: a criterion is met only where the judges agree on it.
        if majority and middle == 0.5:
            return Score(0.0, f"the jury is split evenly: {nearest.reason}", details=details)
        if not spread:
            return Score(middle, nearest.reason, details=details)
        grades = ", ".join(f"{who} {value:g}" for who, value in values.items())
        reason = f"{nearest.reason} (the jury disagrees: {grades})"
        return Score(middle, reason, details=details)


def _details(scores: dict[str, Score]) -> dict[str, object]:
    """The usage of all calls, and their replies by judge."""
    calls = [score.details for score in scores.values() if score.details.get("call")]
    return {
        "raw": {who: score.details.get("raw", "") for who, score in scores.items()},
        "model": ", ".join(scores),
        **of_all_calls(calls),
        "call": digest([each["call"] for each in calls])[:16] if calls else "",
        "flags": sorted(
            {flag for score in scores.values() for flag in score.details.get("flags", ())}
        ),
    }


def _distinct_names(names: Sequence[str]) -> list[str]:
    """The same model twice gets a number."""
    seen: dict[str, int] = {}
    made: list[str] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return made
