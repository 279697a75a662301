"""Criteria in words: of a suite, of a case, mixed with checks; in one call or one each; with votes and re-asks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.errors import SettingsError
from answerkey.llm.chat import Reply
from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.metrics.judge.own_criteria import read_criteria
from answerkey.metrics.plan import make_plan
from answerkey.profiles import load_profile
from answerkey.runs.execute import run_in_memory
from answerkey.runs.prepare import prepare
from answerkey.runs.suite import load_suite, suite_of
from answerkey.types import Case, Requirement, Response, Score

TONE = Requirement("The answer is polite.", "tone")
CLEAR = Requirement("How clear is the answer?", "clear", "0-5")


def judge_with(decide: Callable[[str, str], Any], **more: Any) -> ModelJudge:
    """A judge that decides each criterion by its sentence and the answer."""

    def answer(messages: Any) -> str:
        text = "\n".join(message["content"] for message in messages)
        marker = re.findall(r"The marker is ([0-9a-f]{12})", text)[0]
        given = text.split(f"{marker} ANSWER\n")[1].split(f"\n{marker} END")[0]
        asked = re.findall(r"^- (c\d+) \((met or not|scale 0 to 5)\): (.*)$", text, re.MULTILINE)
        return json.dumps(
            {
                name: {
                    "reason": "because",
                    "quote": given.split()[0],
                    "score" if kind.startswith("scale") else "met": decide(ask, given),
                }
                for name, kind, ask in asked
            }
        )

    return ModelJudge(ScriptedChat(answer), **more)


def polite(ask: str, answer: str) -> Any:
    return 4 if "clear" in ask else "please" in answer


def score(
    judge: Any,
    *names: str,
    case: Case | None = None,
    answer: str = "Wait, please.",
    **settings: Any,
) -> dict[str, Score]:
    provided = {"judge": judge, "criteria": (TONE, CLEAR)} if judge else {"criteria": (TONE, CLEAR)}
    plan = make_plan(names, provided, dict.fromkeys(names, settings) if settings else None)
    return plan.score([(case or Case("c", "When?"), Response(answer))])[0]


def test_the_criteria_of_a_suite_are_metrics_of_their_own_in_one_call() -> None:
    judge = judge_with(polite)
    scores = score(judge, "criterion.tone", "criterion.clear")
    assert (scores["criterion.tone"].value, scores["criterion.clear"].value) == (1, 4)
    assert scores["criterion.tone"].details["quote"] == "Wait,"
    assert len(judge.chat.asked) == 1  # type: ignore[attr-defined]


def test_one_call_each() -> None:
    judge = judge_with(polite)
    score(judge, "criterion.tone", "criterion.clear", together=False)
    assert len(judge.chat.asked) == 2  # type: ignore[attr-defined]


def test_the_share_of_a_cases_own_criteria_that_is_met() -> None:
    case = Case("c", "When?", requirements=(
        TONE, Requirement("contains “Friday”", "c2", "contains", ("Friday",)), CLEAR, Requirement("regex", "c4", "regex", (r"\d",), negated=True),
    ))  # fmt: skip
    found = score(judge_with(polite), "criteria", "criterion.tone", case=case)["criteria"]
    assert found.value == 0.75
    assert found.reason == "not met: contains “Friday”"
    assert [item["met"] for item in found.details["criteria"]] == [True, False, True, True]
    assert found.details["criteria"][0]["quote"]
    json.dumps(dict(found.details), allow_nan=False)


def test_weights_and_thresholds() -> None:
    strict = Requirement(CLEAR.ask, "clear", "0-5", threshold=0.9, weight=3)
    found = score(judge_with(polite), "criteria", case=Case("c", "q", requirements=(TONE, strict)))
    assert found["criteria"].value == 0.25


def test_checks_need_no_judge_and_sentences_say_that_they_do() -> None:
    check = Requirement("contains", "c1", "icontains", ("PLEASE",))
    assert (
        score(None, "criteria", case=Case("c", "q", requirements=(check,)))["criteria"].value == 1
    )
    failed = score(None, "criteria", case=Case("c", "q", requirements=(check, TONE)))["criteria"]
    assert "needs a judge" in (failed.error or "")


def test_a_case_without_criteria_is_not_applicable() -> None:
    assert not score(judge_with(polite), "criteria")["criteria"].applies


def test_an_empty_answer_meets_nothing_and_nobody_is_asked() -> None:
    judge = judge_with(polite)
    scores = score(
        judge, "criteria", "criterion.tone", case=Case("c", "q", requirements=(TONE,)), answer=" "
    )
    assert (scores["criteria"].value, scores["criterion.tone"].value) == (0, 0)
    assert judge.chat.asked == []  # type: ignore[attr-defined]


def test_a_quote_that_is_not_in_the_answer_is_asked_again_and_then_an_error() -> None:
    good = '{"c1": {"reason": "r", "quote": "please", "met": true}}'
    bad = '{"c1": {"reason": "r", "quote": "thank you", "met": true}}'
    chat = ScriptedChat([bad, good])
    found = score(ModelJudge(chat), "criterion.tone")["criterion.tone"]
    assert (found.value, found.details["asks"]) == (1, 2)
    assert "is not in the answer" in chat.asked[1][-1]["content"]
    failed = score(ModelJudge(ScriptedChat([bad])), "criterion.tone")["criterion.tone"]
    assert "is not in the answer" in (failed.error or "")
    assert failed.details["raw"] == bad


def test_a_reply_cut_at_its_limit_is_asked_again_with_twice_the_limit() -> None:
    whole = Reply('{"c1": {"reason": "r", "quote": "no quote", "met": true}}')
    chat = ScriptedChat(
        [Reply('{"c1": {"reason": "a very lo', truncated=True), whole], max_tokens=100
    )
    found = score(ModelJudge(chat), "criterion.tone")["criterion.tone"]
    assert found.value == 1
    assert chat.limits == [100, 200]


def test_votes_that_are_split_do_not_meet_it() -> None:
    replies = [f'{{"c1": {{"met": {value}, "quote": "no quote"}}}}' for value in ("true", "false")]
    found = score(ModelJudge(ScriptedChat(replies), votes=2, concurrency=1), "criterion.tone")[
        "criterion.tone"
    ]
    assert found.value == 0
    assert "split" in found.reason


def test_the_local_judge_says_that_it_cannot() -> None:
    found = score(load_judge("local"), "criterion.tone")["criterion.tone"]
    assert not found.applies
    assert "can't be judged without a language model" in found.reason


def test_many_criteria_go_in_several_calls() -> None:
    case = Case(
        "c", "q", requirements=tuple(Requirement(f"It says {n}.", f"c{n}") for n in range(45))
    )
    judge = judge_with(lambda ask, answer: True)
    assert score(judge, "criteria", case=case)["criteria"].value == 1
    assert len(judge.chat.asked) == 3  # type: ignore[attr-defined]


class TestSuites:
    def suite(self, tmp_path: Path, more: str = "") -> Any:
        rows = [
            {
                "id": "a",
                "question": "When?",
                "answer": "On Friday, please wait.",
                "criteria": ["It is polite."],
            },
            {
                "id": "b",
                "question": "When?",
                "answer": "Go away.",
                "checks": [{"type": "contains", "value": "away"}],
            },
            {"id": "c", "question": "When?", "answer": "Later, please."},
        ]
        (tmp_path / "cases.json").write_text(json.dumps(rows))
        (tmp_path / "suite.toml").write_text(
            f"""
cases = ["cases.json"]
metrics = ["criteria"]
{more}
[[criteria]]
name = "tone"
ask = "The answer is polite."
[[criteria]]
name = "clear"
ask = "The answer is clear."
kind = "0-5"
[judge]
preset = "ollama"
model = "x"
"""
        )
        return load_suite(tmp_path / "suite.toml")

    def test_criteria_of_suite_and_cases_with_gates(self, tmp_path: Path) -> None:
        suite = self.suite(
            tmp_path, '[gate]\nrequire = ["criterion.tone >= 0.6", "criterion.clear >= 3"]'
        )
        prepared = prepare(suite, judge=judge_with(polite))
        store, _ = run_in_memory(prepared)
        outcomes = {outcome.case.id: outcome for outcome in store.outcomes()}
        assert {key: o.scores["criterion.tone"].value for key, o in outcomes.items()} == {
            "a": 1,
            "b": 0,
            "c": 1,
        }
        assert [o.scores["criteria"].value for o in outcomes.values()] == [1, 1, None]
        assert outcomes["a"].scores["criterion.clear"].value == 4

    def test_a_changed_sentence_is_another_measurement(self, tmp_path: Path) -> None:
        first = prepare(self.suite(tmp_path), judge=judge_with(polite)).fingerprint["metrics"]
        path = tmp_path / "suite.toml"
        path.write_text(path.read_text().replace("polite", "kind"))
        assert prepare(load_suite(path), judge=judge_with(polite)).fingerprint["metrics"] != first

    def test_a_criterion_nobody_defined(self, tmp_path: Path) -> None:
        suite = self.suite(tmp_path)
        suite = suite_of(
            {
                "cases": ["cases.json"],
                "metrics": ["criterion.tome"],
                "criteria": [{"name": "tone", "ask": "x"}],
            },
            suite.folder,
        )
        with pytest.raises(SettingsError, match=r'did you mean "criterion\.tone"'):
            prepare(suite, judge=judge_with(polite))

    @pytest.mark.parametrize(
        ("given", "problem"),
        [([{"name": "a"}], "ask"), ([{"ask": "x", "kind": "stars"}], "kind"), ([{"ask": "x", "nmae": "y"}], "name"),
         ([{"ask": "x", "name": "a"}, {"ask": "y", "name": "a"}], "twice"), (3, "criteria"), ([{"ask": "x", "name": "a b"}], "letters")],
    )  # fmt: skip
    def test_mistakes_are_named(self, given: Any, problem: str) -> None:
        with pytest.raises(SettingsError, match=problem):
            read_criteria(given)

    def test_a_name_is_made_of_the_sentence(self) -> None:
        assert read_criteria(["The answer is polite."])[0].name == "the_answer_is_polite"

    def test_the_profile_passes_a_case_that_meets_them_all(self) -> None:
        profile = load_profile("criteria")
        assert [c.metric for c in profile.rules.lines] == ["criteria"]


def test_the_example_of_the_docs_runs(tmp_path: Path) -> None:
    import answerkey as ak

    page = (Path(__file__).parents[3] / "docs" / "how-to" / "criteria.md").read_text("utf-8")
    blocks = dict(re.findall(r"```(toml|json)\n(.*?)```", page, re.DOTALL))
    (tmp_path / "cases.json").write_text(blocks["json"])
    (tmp_path / "suite.toml").write_text(
        blocks["toml"].replace(
            'cases = ["cases.json"]', 'cases = ["cases.json"]\nmetrics = ["criteria"]'
        )
    )
    (tmp_path / "my_judge.py").write_text(
        "def ask(prompt):\n    v = {'quote': 'tracking link', 'met': True, 'score': 4}\n    return {'c1': v, 'c2': v, 'c3': v}\n"
    )
    run = ak.run_suite(tmp_path / "suite.toml", progress=False)
    assert run.summary.mean == {
        "criteria": 1,
        "criterion.clear": 4,
        "criterion.no_delivery_promise": 1,
    }
    assert run.summary.judge is not None


def test_a_judge_that_gives_one_verdict_for_all_is_asked_for_each_criterion() -> None:
    prompts: list[str] = []

    def judge(prompt: str) -> str:
        prompts.append(prompt)
        return '{"met": true, "quote": "30 days", "reason": "it says so"}'

    row = {
        "question": "How long?",
        "answer": "You have 30 days.",
        "criteria": ["names a time", "is short"],
    }
    run = ak.evaluate([row], judge=judge, progress=False)
    assert run.summary.mean == {"criteria": 1.0}
    assert len(prompts) == 4  # both together, asked again, then each alone


def test_criteria_of_the_suite_and_of_the_cases_are_both_scored(tmp_path: Path) -> None:
    (tmp_path / "judges.py").write_text(
        'def judge(prompt):\n    return \'{"met": true, "quote": "no quote"}\'\n'
    )
    (tmp_path / "c.csv").write_text("question,answer,criteria\nHow long?,30 days,names a time\n")
    (tmp_path / "suite.toml").write_text(
        'cases = ["c.csv"]\njudge = "judges:judge"\n[target]\nkind = "recorded"\n'
        '[[criteria]]\nname = "short"\nask = "The answer is short."\n'
    )
    assert ak.run_suite(tmp_path / "suite.toml").summary.mean == {
        "criteria": 1.0,
        "criterion.short": 1.0,
    }
