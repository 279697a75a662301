"""One pair and its judged scores, for tests of judges."""

from __future__ import annotations

from typing import Any

from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Pair, Passage, Response, Score

RUBRIC = ("rubric.accuracy", "rubric.completeness", "rubric.citation_quality", "rubric.coherence")


GOOD = (
    '{"reasoning": "fine", "accuracy": 4, "completeness": 3, "citation_quality": 5, "coherence": 2}'
)


def pair(answer: str | None = "It is 4.", n: int = 0, **case: Any) -> Pair:
    given = {"expected": ("4",), **case}
    return Case(f"c{n}", f"What is 2 + 2? ({n})", **given), Response(
        answer, passages=(Passage("2 + 2 = 4"),)
    )


def score(judge: Any, *names: str, pairs: list[Pair] | None = None) -> list[dict[str, Score]]:
    return make_plan(names, {"judge": judge}).score(pairs or [pair()])
