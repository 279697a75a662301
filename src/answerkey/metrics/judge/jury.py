"""Several judges: the majority counts, the median for numbers; disagreement and judges that fail are reported."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from answerkey.cache import digest
from answerkey.errors import IncompleteError
from answerkey.llm.chat import in_threads, total
from answerkey.metrics.judge.judged_metrics import Judge
from answerkey.metrics.judge.preference_question import Duel
from answerkey.types import Json, Pair, Requirement, Score

log = logging.getLogger("answerkey.judge")


class Jury:
    """Asks all its judges and gives one score. A judge that stops working is left out for the rest of the run.

    >>> Jury([load_judge("groq"), load_judge("ollama")]).name  # doctest: +SKIP
    'jury of llama-3.3-70b-versatile, llama3.2'
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        self.judges = tuple(judges)
        self.names = _distinct_names([judge.name for judge in judges])
        self.name = f"jury of {', '.join(self.names)}"
        self.concurrency = max((getattr(judge, "concurrency", 0) for judge in judges), default=0)
        self._lost: dict[str, str] = {}
        self._lock = threading.Lock()

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        tables = self._ask(lambda judge: judge.rubric(pairs))
        return [
            {name: self._merged({who: rows[n][name] for who, rows in tables.items()}) for name in row}
            for n, row in enumerate(next(iter(tables.values())))
        ]

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        return self._columns(self._ask(lambda judge: judge.judge(name, pairs)))

    def criteria(
        self, pairs: Sequence[Pair], requirements: Sequence[Sequence[Requirement]], together: bool = True
    ) -> list[list[Score]]:
        tables = self._ask(lambda judge: judge.criteria(pairs, requirements, together))
        return [
            [
                self._merged({who: rows[n][m] for who, rows in tables.items()}, majority=each.kind == "pass")
                for m, each in enumerate(wanted)
            ]
            for n, wanted in enumerate(requirements)
        ]

    def prefer(self, duels: Sequence[Duel]) -> list[Score]:
        return self._columns(self._ask(lambda judge: judge.prefer(duels)))

    def usage(self) -> Json:
        each = {name: judge.usage() for name, judge in zip(self.names, self.judges, strict=True)}
        used = [usage for usage in each.values() if usage]
        keys = ("calls", "failed_calls", "cached", "prompt_tokens", "completion_tokens", "cost")
        return {
            **{key: total(usage.get(key) for usage in used) for key in keys},
            "judges": each,
            "lost": dict(self._lost),
        }

    def fingerprint(self) -> str:
        return f"{self.name} {digest([judge.fingerprint() for judge in self.judges])[:16]}"

    def close(self) -> None:
        for judge in self.judges:
            judge.close()

    def _ask(self, call: Callable[[Judge], Any]) -> dict[str, Any]:
        """What each judge gives, by its name; raises only when no judge is left."""
        able = [(name, judge) for name, judge in zip(self.names, self.judges, strict=True) if name not in self._lost]

        def attempt(who: tuple[str, Judge]) -> Any:
            try:
                return call(who[1])
            except IncompleteError as error:
                with self._lock:
                    if who[0] not in self._lost:
                        self._lost[who[0]] = str(error)
                        log.warning("the jury continues without %s: %s", who[0], error)
                return None

        given = in_threads(attempt, able, len(able)) if able else []
        results = {name: result for (name, _), result in zip(able, given, strict=True) if result is not None}
        if not results:
            raise IncompleteError(
                "no judge of the jury works: " + "; ".join(f"{n}: {e}" for n, e in self._lost.items())
            )
        return results

    def _columns(self, columns: dict[str, list[Score]]) -> list[Score]:
        count = len(next(iter(columns.values())))
        return [self._merged({who: scores[n] for who, scores in columns.items()}) for n in range(count)]

    def _merged(self, scores: dict[str, Score], majority: bool = False) -> Score:
        """One score from those of the judges; an error only where no judge has a value and one has an error."""
        values = {who: score.value for who, score in scores.items() if score.value is not None}
        errors = {who: score.error for who, score in scores.items() if score.error is not None} | self._lost
        details = _details(scores) | {"jury": {who: values.get(who) for who in self.names}}
        if errors:
            details["jury_errors"] = errors
        if not values:
            if errors:
                return Score.failed("; ".join(f"{who}: {error}" for who, error in errors.items()), **details)
            return next(iter(scores.values()))
        middle = median(values.values())
        spread = max(values.values()) - min(values.values())
        details["spread"] = spread
        nearest = min(values, key=lambda who: abs(values[who] - middle))
        reason = scores[nearest].reason
        if majority and middle == 0.5:
            middle, reason = 0.0, f"the jury is split evenly: {reason}"
        elif spread:
            said = ", ".join(f"{who} {value:g}" for who, value in values.items())
            reason = f"{reason} (the jury disagrees: {said})"
        if "quote" in scores[nearest].details:
            details["quote"] = scores[nearest].details["quote"]
        return Score(middle, reason, details=details)


def _details(scores: dict[str, Score]) -> Json:
    """What all calls used together; their replies by judge."""
    given = [score.details for score in scores.values()]
    asked = [each for each in given if each.get("call")]
    return {
        "raw": {who: score.details.get("raw", "") for who, score in scores.items()},
        "model": ", ".join(scores),
        **{
            key: total(each.get(key) for each in asked)
            for key in ("prompt_tokens", "completion_tokens", "cost", "asks")
        },
        "cached": all(each.get("cached") for each in asked),
        "calls": len(asked),
        "call": digest([each["call"] for each in asked])[:16] if asked else "",
        "flags": sorted({flag for each in given for flag in each.get("flags", ())}),
    }


def _distinct_names(names: Sequence[str]) -> list[str]:
    """The same model twice gets a number."""
    seen: dict[str, int] = {}
    made: list[str] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return made
