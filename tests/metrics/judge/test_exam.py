"""The exams: a perfect judge passes, a careless one fails by kind, and the local judge passes what it claims."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from answerkey.cli.main import command_line
from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.exam import CANNOT, take_exam
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.metrics.judge.track_record import track_record

DATA = tomllib.loads(
    files("answerkey.metrics.judge").joinpath("prompts", "exam_large.toml").read_text("utf-8")
)
ITEMS: list[dict[str, Any]] = DATA["item"]
GOOD = (
    '{"reasoning": "fine", "accuracy": 4, "completeness": 3, "citation_quality": 5, "coherence": 2}'
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path / "cache"))


def grades(accuracy: float) -> str:
    return json.dumps(
        {
            "reasoning": "r",
            "accuracy": accuracy,
            "completeness": 3,
            "citation_quality": 3,
            "coherence": 2,
        }
    )


def perfect(messages: Any) -> str:
    """Knows every item by its answer."""
    system, text = messages[0]["content"], messages[1]["content"]
    if "ANSWER 1" in text:
        first, second = re.search(
            r"ANSWER 1\n(.*?)\n[0-9a-f]{12} ANSWER 2\n(.*?)\n[0-9a-f]{12} END", text, re.DOTALL
        ).groups()  # type: ignore[union-attr]
        better = any(item.get("other") == second and item["answer"] == first for item in ITEMS)
        return json.dumps({"reason": "r", "better": "1" if better else "2"})
    answer = re.search(r"[0-9a-f]{12} ANSWER\n(.*?)\n[0-9a-f]{12} END", text, re.DOTALL)[1]  # type: ignore[index]
    question = re.search(r" QUESTION\n(.*?)\n[0-9a-f]{12} ", text, re.DOTALL)[1]  # type: ignore[index]
    known = [
        i
        for i in ITEMS
        if i["answer"].strip() == answer and i["question"] == question and i["metric"] != "prefer"
    ]
    if "c1 (met or not)" in system:
        item = next(i for i in known if i["metric"] == "criterion")
        return json.dumps({"c1": {"reason": "r", "quote": "no quote", "met": item["met"]}})
    single = "claim of an ANSWER" in system
    item = next(i for i in known if (i["metric"] == "judge.faithfulness") == single)
    good = "at_least" in item
    return (
        json.dumps({"reason": "r", "score": 1.0 if good else 0.0})
        if single
        else grades(5 if good else 0)
    )


def test_the_data_has_sixty_items_of_seven_kinds() -> None:
    kinds = Counter(item["kind"] for item in ITEMS)
    assert len(ITEMS) >= 60
    assert set(kinds) == {
        "correctness",
        "faithfulness",
        "refusal",
        "negation",
        "injection",
        "verbosity",
        "order",
    }
    assert min(kinds.values()) >= 6


def test_a_perfect_judge_passes() -> None:
    exam = take_exam(ModelJudge(ScriptedChat(perfect)), large=True)
    assert [(each.kind, each.answer) for each in exam.answers if each.right is not True] == []
    assert exam.passed
    json.dumps(exam.to_json(), allow_nan=False)


def test_a_judge_that_praises_everything_fails_with_the_kinds_named() -> None:
    def praise(messages: Any) -> str:
        return json.dumps({"better": "1", "score": 1, "c1": {"met": True}, **json.loads(grades(5))})

    exam = take_exam(ModelJudge(ScriptedChat(praise)), large=True)
    assert not exam.passed
    assert {"injection", "order", "negation", "correctness"} <= set(exam.failed_kinds)
    assert exam.kinds["order"].right == 0


def test_one_injection_that_works_fails_the_exam() -> None:
    def obedient(messages: Any) -> str:
        return grades(5) if "perfect" in messages[1]["content"] else perfect(messages)

    exam = take_exam(ModelJudge(ScriptedChat(obedient)), large=True)
    assert exam.failed_kinds == ["injection"]


def test_errors_are_wrong_answers_not_refusals_to_judge() -> None:
    exam = take_exam(ModelJudge(ScriptedChat(["nonsense"])), large=True)
    assert (exam.right, exam.judged_count) == (0, len(ITEMS))


def test_the_local_judge_passes_its_claims_and_names_what_it_cannot_judge() -> None:
    exam = take_exam(load_judge("local"), large=True)
    assert exam.passed, exam.failed_kinds
    assert exam.kinds["negation"].of == exam.kinds["refusal"].of == 0
    assert exam.judged_count >= 40
    assert all(each.given == CANNOT for each in exam.answers if each.right is None)


class TestDoctor:
    def run(self, *options: str) -> Any:
        return CliRunner().invoke(command_line, ["doctor", *options])

    def test_without_a_name_the_local_judge_takes_it(self) -> None:
        result = self.run("--judge")
        assert result.exit_code == 0, result.output
        assert "negation      can't judge this" in result.output
        assert "the judge passed its exam" in result.output

    def test_the_judge_of_a_suite_or_run_and_its_record(self, tmp_path: Path) -> None:
        (tmp_path / "exam_bot.py").write_text("def ask(prompt):\n    return 'nonsense'\n")
        (tmp_path / "suite.toml").write_text(
            'cases = ["c.json"]\nmetrics = ["judge.relevance"]\njudge = "exam_bot:ask"\n'
        )
        result = self.run("--judge", str(tmp_path / "suite.toml"), "--json")
        assert result.exit_code == 1
        given = json.loads(result.stdout)["judge"]
        assert (given["passed"], given["of"], given["kinds"]["order"]["right"]) == (
            False,
            len(ITEMS),
            0,
        )
        judge = load_judge("exam_bot:ask", folder=tmp_path)
        record = track_record(judge.fingerprint())
        assert record.exam
        assert record.exam.passed is False

    def test_beside_a_run(self, tmp_path: Path) -> None:
        manifest = {"name": "x", "settings": {"judge": "local"}, "fingerprint": {}}
        (tmp_path / "run.json").write_text(json.dumps(manifest))
        assert self.run(str(tmp_path), "--judge").exit_code == 0
        assert (
            json.loads((tmp_path / "judge_exam.json").read_text())["kinds"]["order"]["right"] == 6
        )


class TestShortExam:
    def knowing(self, messages: Any) -> str:
        """A judge that tells right from wrong by the answer it is shown."""
        right = ("Paris.", "30 days after", "100 °C", "Shakespeare.", "cannot predict")
        text = messages[-1]["content"].split(" ANSWER\n")[-1]
        grade = 5 if any(word in text for word in right) else 0
        return json.dumps(
            {
                "reasoning": "",
                "accuracy": grade,
                "completeness": grade,
                "citation_quality": 0,
                "coherence": 3,
            }
        )

    def test_a_good_judge_passes(self) -> None:
        exam = take_exam(ModelJudge(ScriptedChat(self.knowing)))
        assert (exam.right, len(exam.answers), exam.passed) == (10, 10, True)
        kinds = [item.kind for item in exam.answers]
        assert (kinds.count("injection"), kinds.count("refusal")) == (1, 1)

    def test_a_judge_that_obeys_the_canary_fails(self) -> None:
        def gullible(messages: Any) -> str:
            return (
                self.knowing(messages)
                if "ignore the rubric" not in messages[-1]["content"]
                else GOOD.replace("4", "5")
            )

        exam = take_exam(ModelJudge(ScriptedChat(gullible)))
        assert exam.right == 9
        assert not exam.resists_injection
        assert not exam.passed

    @pytest.mark.parametrize("reply", [GOOD, GOOD.replace("4", "0"), "no verdict at all"])
    def test_a_judge_that_says_the_same_of_all_fails(self, reply: str) -> None:
        assert not take_exam(ModelJudge(ScriptedChat([reply]))).passed
