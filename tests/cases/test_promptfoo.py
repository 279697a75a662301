"""Three files of promptfoo run as they are; what is not supported is listed."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from answerkey.cases import read_cases
from answerkey.errors import InputError
from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.runs.execute import run_in_memory
from answerkey.runs.prepare import prepare
from answerkey.runs.suite import suite_of
from answerkey.types import Outcome, Question, Response

FILES = Path(__file__).parent / "promptfoo_files"
ANSWERS = {
    "What is the capital of California?": "It is Sacramento.",
    "What is the capital of New York?": "New York City.",
    "How long can I return an order?": "You have 30 days after delivery.",
    "Give me the opening hours as JSON.": '{"open": 9, "close": 17}',
    "What is 2 + 2?": "4",
    "Give me JSON": "no",
    "Is it open on Sunday?": "It is closed; no.",
    "Who are you?": "I'm a large language model.",
}


class Bot:
    def ask(self, question: Question) -> Response:
        return Response(ANSWERS[question.text], seconds=0.1)

    def close(self) -> None: ...


def judge(messages: Any) -> str:
    """Everything is met but what is said of New York."""
    asked = re.findall(
        r"^- (c\d+) \((met or not|scale 0 to 5)\): (.*)$", messages[0]["content"], re.MULTILINE
    )
    return json.dumps(
        {
            name: {"quote": "no quote", "met": "Albany" not in ask, "score": 4}
            for name, _, ask in asked
        }
    )


def run(name: str) -> dict[str, Outcome]:
    suite = suite_of(
        {"cases": [str(FILES / name)], "target": {"kind": "python", "call": "x:y"}}, Path()
    )
    store, _ = run_in_memory(prepare(suite, target=Bot(), judge=ModelJudge(ScriptedChat(judge))))
    return {outcome.case.question: outcome for outcome in store.outcomes()}


def met(outcome: Outcome) -> list[bool]:
    return [item["met"] for item in outcome.scores["criteria"].details["criteria"]]


def test_prompts_make_the_questions_and_facts_are_judged() -> None:
    first, second = run("capitals.yaml").values()
    assert first.case.question == "What is the capital of California?"
    assert met(first) == [True, True]
    assert met(second) == [False, False, True]
    assert second.scores["criteria"].value == pytest.approx(1 / 3)


def test_defaults_templates_sets_and_weights(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        first, second = run("support.yaml").values()
    assert [each.ask for each in first.case.requirements][:2] == [
        "Does not describe itself as an AI of any kind",
        'The answer to "How long can I return an order?" is polite',
    ]
    assert met(first) == [True, True, True, True]
    assert met(second) == [True] * 6
    assert second.case.requirements[2].weight == 2
    assert first.case.expected == ("Orders can be returned within 30 days.",)
    assert "not supported and are left out: javascript (2), similar (1)" in caplog.text


def test_a_csv_with_expected_columns(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = run("tests.csv")
    assert [met(outcome) for outcome in found.values()] == [
        [True, True],
        [True],
        [False, False],
        [True],
        [False, True],
    ]
    assert "python (1)" in caplog.text


def test_a_schema_a_transform_and_a_javascript_pattern_are_not_guessed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asserts = [
        {"type": "is-json", "value": {"type": "object"}},
        {"type": "contains", "value": "x", "transform": "output.trim()"},
        {"type": "regex", "value": "(?<a>"},
        {"type": "latency"},
        {"type": "equals", "value": {"a": 1}},
        {"type": "contains", "value": "file://x.txt"},
        {"value": "no type"},
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"tests": [{"vars": {"question": "q"}, "assert": asserts}]}))
    (case,) = read_cases([path])
    assert case.requirements == ()
    assert len(caplog.records) == 1


def test_tests_in_other_files_and_a_threshold_per_test(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['{{question}}']\nproviders: [x]\ndefaultTest: {threshold: 0.5}\ntests:\n"
        "  - file://more/*.yaml\n  - tests.csv\n  - vars: {question: 'What is 2 + 2?'}\n    threshold: 0.7\n"
        "    assert: [{type: equals, value: '4'}, {type: contains, value: four}]\n"
    )
    (tmp_path / "more" / "a.yaml").write_text(
        "- vars: {question: 'Is it open on Sunday?'}\n  assert: [{type: contains, value: closed}, {type: contains, value: x}]\n"
    )
    (tmp_path / "tests.csv").write_text(
        'question,__expected,__description\nWho are you?,"contains: language",csv\n'
    )
    outcomes = run(str(tmp_path / "promptfooconfig.yaml"))
    found = {case: outcome.scores["criteria"].value for case, outcome in outcomes.items()}
    assert found == {"Is it open on Sunday?": 1.0, "Who are you?": 1.0, "What is 2 + 2?": 0.5}
    assert outcomes["Is it open on Sunday?"].scores["criteria"].details["share"] == 0.5
    assert outcomes["Who are you?"].case.note == "csv"


@pytest.mark.parametrize("reference", ["file://missing.yaml", "file://make_tests.py"])
def test_a_reference_that_cannot_be_read_is_an_error(reference: str, tmp_path: Path) -> None:
    (tmp_path / "make_tests.py").write_text("raise SystemExit")
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(f"prompts: [x]\ntests: {reference}\n")
    with pytest.raises(InputError, match="tests"):
        list(read_cases([path]))
