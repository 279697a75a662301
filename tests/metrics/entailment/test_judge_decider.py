"""`[facts] judge = true`: the judge model decides which facts an answer states, and the report names it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from answerkey.errors import SettingsError
from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.metrics.plan import make_plan
from answerkey.runs.execute import run_in_memory
from answerkey.runs.prepare import prepare
from answerkey.runs.suite import load_suite
from answerkey.types import Case, Passage, Response

CASE = Case("c", "When is it open?", expected=("The shop opens at nine. It closes on Sundays.",))
RESPONSE = Response(
    "The shop opens at nine. Parking is free.",
    (Passage("The shop opens at nine. Parking is free."),),
)


def reply(messages: Any) -> str:
    """Met where the statement stands in the text word for word."""
    text = "\n".join(message["content"] for message in messages)
    marker = re.findall(r"The marker is ([0-9a-f]{12})", text)[0]
    given = text.split(f"{marker} ANSWER\n")[1].split(f"\n{marker} END")[0]
    asked = re.findall(
        r'^- (c\d+) \(met or not\): The ANSWER (states|contradicts)[^"]*"(.*)"$', text, re.MULTILINE
    )
    found = {name: kind == "states" and statement in given for name, kind, statement in asked}
    return json.dumps(
        {
            name: {
                "reason": "by its words",
                "quote": statement if found[name] else "no quote",
                "met": found[name],
            }
            for name, _, statement in asked
        }
    )


def scores(judge: ModelJudge, *names: str, by_judge: bool = True) -> dict[str, Any]:
    return make_plan(
        names, {"judge": judge}, {name: {"by_judge": by_judge} for name in names}
    ).score([(CASE, RESPONSE)])[0]


def test_the_judge_decides_and_is_named() -> None:
    found = scores(
        ModelJudge(ScriptedChat(reply)), "fact_recall", "fact_precision", "fact_contradictions"
    )
    assert {name: score.value for name, score in found.items()} == {
        "fact_recall": 0.5,
        "fact_precision": 0.5,
        "fact_contradictions": 0,
    }
    assert "by the judge" in found["fact_recall"].reason
    assert [fact["state"] for fact in found["fact_recall"].details["facts"]] == ["found", "missing"]
    assert found["fact_recall"].details["facts"][0]["quote"] == "The shop opens at nine"


def test_passages_are_judged_too() -> None:
    found = scores(
        ModelJudge(ScriptedChat(reply)), "hallucination", "noise_sensitivity", "context_fact_recall"
    )
    assert {name: score.value for name, score in found.items()} == {
        "hallucination": 0,
        "noise_sensitivity": 0.5,
        "context_fact_recall": 0.5,
    }


def test_a_judge_without_a_verdict_is_an_error() -> None:
    found = scores(
        ModelJudge(ScriptedChat(lambda messages: "I would rather not.")), "fact_recall", "fact_f1"
    )
    assert all(score.value is None and score.error for score in found.values())


def test_without_the_setting_the_judge_is_not_asked() -> None:
    judge = ModelJudge(ScriptedChat(reply))
    assert "by the judge" not in scores(judge, "fact_recall", by_judge=False)["fact_recall"].reason
    assert not judge.chat.asked  # type: ignore[attr-defined]


def suite(folder: Path) -> Path:
    row = {"id": "c", "question": CASE.question, "expected": CASE.expected[0]}
    (folder / "cases.jsonl").write_text(json.dumps(row))
    (folder / "answers.jsonl").write_text(json.dumps({"id": "c", "answer": RESPONSE.answer}))
    path = folder / "suite.toml"
    path.write_text(
        'cases = ["cases.jsonl"]\nmetrics = ["fact_recall"]\n[target]\nkind = "recorded"\nanswers = "answers.jsonl"\n'
        "[facts]\njudge = true\n"
    )
    return path


def test_a_suite_sets_it(tmp_path: Path) -> None:
    store, _ = run_in_memory(
        prepare(load_suite(suite(tmp_path)), judge=ModelJudge(ScriptedChat(reply)))
    )
    (outcome,) = store.outcomes()
    assert outcome.scores["fact_recall"].value == 0.5
    assert "by the judge" in outcome.scores["fact_recall"].reason


def test_it_needs_a_judge(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="judge"):
        prepare(load_suite(suite(tmp_path)))
