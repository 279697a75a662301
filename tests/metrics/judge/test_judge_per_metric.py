"""Another judge for some metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.judge_per_metric import JudgePerMetric
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.metrics.judge.recorded_judge import RecordedJudge
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


def test_the_usage_counts_the_calls_of_all_judges() -> None:
    other = ModelJudge(ScriptedChat([GOOD] * 3, "other"))
    judge = JudgePerMetric(
        ModelJudge(ScriptedChat([GOOD], "usual")), {"judge.safety": other, "judge.tone": other}
    )
    judge.judge("safety", [PAIR])
    used = judge.usage()
    assert used is not None
    assert used.calls == 1
    judge.judge("safety", [PAIR])
    relevance(judge)
    used = judge.usage()
    assert used is not None
    assert used.calls + used.cached == 3


def test_judges_without_calls_have_no_usage() -> None:
    assert JudgePerMetric(RecordedJudge(), {"judge.safety": RecordedJudge()}).usage() is None
