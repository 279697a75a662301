"""Several judges that give one score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from answerkey.errors import EndpointError, IncompleteError, SettingsError
from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.jury import Jury
from answerkey.metrics.judge.model_judge import ModelJudge
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


def scripted(*values: Any, name: str = "m") -> ModelJudge:
    return ModelJudge(
        ScriptedChat(
            [
                v if not isinstance(v, float) else json.dumps({"score": v, "reason": f"r{v}"})
                for v in values
            ],
            name,
        )
    )


class TestJury:
    def test_the_median_counts_and_disagreement_is_reported(self) -> None:
        score = relevance(
            Jury([scripted(0.25, name="a"), scripted(0.75, name="b"), scripted(1.0, name="c")])
        )
        assert score.value == 0.75
        assert score.details["jury"] == {"a": 0.25, "b": 0.75, "c": 1.0}
        assert score.reason == "r0.75 (the jury disagrees: a 0.25, b 0.75, c 1)"

    def test_the_majority_decides_a_criterion_and_a_split_does_not_meet_it(self) -> None:
        yes, no = '{"c1": {"met": true, "quote": "an answer"}}', '{"c1": {"met": false}}'
        three = Jury([scripted(yes, name="a"), scripted(no, name="b"), scripted(yes, name="c")])
        assert three.criteria([PAIR], [[TONE]])[0][0].value == 1
        two = Jury([scripted(yes, name="a"), scripted(no, name="b")]).criteria([PAIR], [[TONE]])[0][
            0
        ]
        assert (two.value, "split evenly" in two.reason) == (0, True)

    def test_a_broken_judge_is_left_out_and_named(self) -> None:
        jury = Jury(
            [
                scripted(0.5, name="a"),
                scripted(EndpointError("no key"), name="b"),
                scripted(1.0, name="c"),
            ]
        )
        score = relevance(jury)
        assert score.value == 0.75
        assert score.details["jury"] == {"a": 0.5, "b": None, "c": 1.0}
        assert score.details["jury_errors"] == {"b": "no key"}
        assert jury.usage().lost == {"b": "no key"}
        relevance(jury)
        assert len(jury.judges[1].chat.asked) == 1  # type: ignore[attr-defined]

    def test_one_that_replies_nonsense_does_not_count(self) -> None:
        score = relevance(Jury([scripted(0.5, name="a"), scripted("nonsense", name="b")]))
        assert score.value == 0.5
        assert "no verdict" in score.details["jury_errors"]["b"]

    def test_when_none_works_the_run_stops_or_the_score_is_an_error(self) -> None:
        with pytest.raises(IncompleteError, match="no judge of the jury works"):
            relevance(
                Jury(
                    [scripted(EndpointError("x"), name="a"), scripted(EndpointError("y"), name="b")]
                )
            )
        assert "a: judge: no verdict" in (
            relevance(Jury([scripted("?", name="a"), scripted("?", name="b")])).error or ""
        )

    def test_rubric_and_preferences(self) -> None:
        grades = '{"reasoning": "r", "accuracy": 4, "completeness": 3, "citation_quality": 3, "coherence": 2}'
        assert (
            Jury([scripted(grades, name="a"), load_judge("local")])
            .rubric([PAIR])[0]["coherence"]
            .value
            is not None
        )

    def test_from_settings(self, tmp_path: Path) -> None:
        (tmp_path / "two.py").write_text(
            "def a(p): return '{\"score\": 1}'\ndef b(p): raise OSError('down')\n"
        )
        judge = load_judge(
            {"jury": ["two:a", {"call": "two:b"}, "local"], "votes": 1}, folder=tmp_path
        )
        assert judge.name == "jury of a, b, local"
        score = relevance(judge)
        assert score.value is not None
        assert "down" in score.details["jury_errors"]["b"]
        judge.close()

    @pytest.mark.parametrize(
        "given", [{"jury": ["groq"]}, {"jury": "groq"}, {"jury": ["local", "local"], "model": "x"}]
    )
    def test_mistakes(self, given: Any) -> None:
        with pytest.raises(SettingsError, match="jury"):
            load_judge(given)
