"""A judge model as the decider behind the facts metrics: `[facts] judge = true`.

Each statement is a criterion of the text that it is checked against: calls, votes, quotes and errors are those of criteria.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerkey.cache import digest
from answerkey.metrics.entailment.entailed import Asked, Decided, Decision
from answerkey.metrics.judge.judged_metrics import Judge, of_all_calls
from answerkey.types import Case, Requirement, Response, Score

_SUPPORTS, _CONTRADICTS = "The ANSWER states or clearly implies: ", "The ANSWER contradicts: "


class JudgeDecider:
    """Asks the judge for each statement whether the text states it and, of a single text, whether it contradicts it."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def decide(self, asked: Sequence[Asked]) -> list[Decided]:
        pairs = [(Case("", one.question), Response("\n\n".join(one.texts))) for one in asked]
        wanted = [tuple(Requirement(ask) for ask in _asks(one)) for one in asked]
        given = self._judge.criteria(pairs, wanted)
        return [self._decided(one, scores) for one, scores in zip(asked, given, strict=True)]

    def _decided(self, asked: Asked, scores: Sequence[Score]) -> Decided:
        error = next((score.error or score.reason for score in scores if score.value is None), "")
        if error:
            return Decided(error=error, call=_call(scores))
        count = len(asked.statements)
        supports, denies = scores[:count], scores[count:] or [Score(0.0)] * count
        decisions = tuple(
            Decision(float(yes.value or 0.0), bool(no.value), str((no if no.value else yes).details.get("quote") or ""))
            for yes, no in zip(supports, denies, strict=True)
        )
        return Decided(decisions, f"by the judge {self._judge.name}" if count else "", call=_call(scores))


def _asks(asked: Asked) -> list[str]:
    kinds = (_SUPPORTS, _CONTRADICTS) if len(asked.texts) == 1 else (_SUPPORTS,)
    return [f'{kind}"{" ".join(statement.split())}"' for kind in kinds for statement in asked.statements]


def _call(scores: Sequence[Score]) -> Mapping[str, object]:
    """What the calls used, once per call, for the details of a score."""
    calls = {str(score.details["call"]): score.details for score in scores if score.details.get("call")}
    if not calls:
        return {}
    used = of_all_calls(list(calls.values()))
    return {"model": next(iter(calls.values())).get("model"), "call": digest(sorted(calls))[:16], **used}
