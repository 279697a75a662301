"""Another judge for some metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Passage, Requirement, Response, Score

GOOD = '{"score": 0.75, "reason": "fine"}'
PAIR = (
    Case("c", "What?", expected=("x",)),
    Response("an answer", passages=(Passage("a passage"),)),
)
TONE = Requirement("It is polite.", "tone")


def relevance(judge: Any) -> Score:
    return make_plan(["judge.relevance"], {"judge": judge}).score([PAIR])[0]["judge.relevance"]


def test_a_judge_per_metric(tmp_path: Path) -> None:
    (tmp_path / "each.py").write_text(
        'def usual(p): return \'{"score": 1, "c1": {"met": true}, "c2": {"met": true}}\'\n'
        'def other(p): return \'{"score": 0, "c1": {"met": false}}\'\n'
    )
    settings = {
        "call": "each:usual",
        "per_metric": {"criterion.tone": "each:other", "judge.safety": "each:other"},
    }
    judge = load_judge(settings, folder=tmp_path)
    assert relevance(judge).value == 1
    assert judge.judge("safety", [PAIR])[0].value == 0
    rude = Requirement("It is short.", "short")
    assert [score.value for score in judge.criteria([PAIR], [[TONE, rude]])[0]] == [0, 1]
