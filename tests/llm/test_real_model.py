"""Against a real llama.cpp server: it proves the plumbing, not the judging of so small a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.llama_server import LlamaServer

from answerkey import run_suite
from answerkey.llm import load_chat
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.prompt import load_prompt
from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Pair, Response

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.xdist_group("llama")]

TOWNS = ["Paris", "Rome", "Oslo", "Lima", "Cairo", "Delhi", "Tokyo", "Quito", "Sofia", "Riga"]


def pairs(count: int) -> list[Pair]:
    return [
        (
            Case(f"c{n}", f"Which town is number {n}?", expected=(TOWNS[n % 10],)),
            Response(f"It is {TOWNS[n % 10]}."),
        )
        for n in range(count)
    ]


def test_single_verdicts_fit_their_schema(llama: LlamaServer) -> None:
    judge = load_judge(llama.settings(max_tokens=100))
    table = make_plan(["judge.relevance"], {"judge": judge}).score(pairs(2))
    judge.close()
    steps = load_prompt("relevance").steps["score"]
    scores = [row["judge.relevance"] for row in table]
    assert [score.error for score in scores] == [None] * 2
    assert all(score.value in steps for score in scores)
    assert all(score.details["form"] == "json_schema, bounded" for score in scores)
    used = judge.usage()
    assert used is not None
    assert used.calls == 2
    assert used.completion_tokens


def test_the_rubric_in_one_call(llama: LlamaServer) -> None:
    judge = load_judge(llama.settings(max_tokens=200))
    (grades,) = judge.rubric(pairs(1))
    judge.close()
    steps = load_prompt("rubric").steps
    assert {name: score.value in steps[name] for name, score in grades.items()} == dict.fromkeys(
        steps, True
    )


def test_yes_and_no_have_probabilities(llama: LlamaServer) -> None:
    chat = load_chat(llama.settings())
    replies = [
        chat.answer_yes_no([{"role": "user", "content": f"{question} Reply with yes or no only."}])
        for question in ("Is Paris a town in France?", "Is ice hot?")
    ]
    chat.close()
    shares = [reply.yes_probability for reply in replies if reply.yes_probability is not None]
    assert shares, [reply.text for reply in replies]
    assert all(0 < share < 1 for share in shares)


def test_a_judge_that_says_yes_or_no(llama: LlamaServer) -> None:
    judge = load_judge(llama.settings(mode="yes-no"))
    table = make_plan(["judge.relevance"], {"judge": judge}).score(pairs(3))
    judge.close()
    scores = [row["judge.relevance"] for row in table]
    by_probability = [score for score in scores if "with probability" in score.reason]
    assert by_probability, [score.error or score.reason for score in scores]
    for score in by_probability:
        assert score.value == score.details["probability"]
        assert 0 < score.value < 1


def test_a_plain_chat(llama: LlamaServer) -> None:
    chat = load_chat(llama.settings(max_tokens=16))
    reply = chat.complete([{"role": "user", "content": "Say hello."}])
    chat.close()
    assert reply.text
    assert (reply.prompt_tokens or 0) > 0


def test_criteria_of_suite_and_case_of_mixed_kinds(
    llama: LlamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every criterion has a result on its scale with words of the answer as its quote, or an error that says what was wrong."""
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path / "cache"))
    answers = ["You have 30 days.", "Wait until Friday, please."]
    rows = [
        {"id": f"c{n}", "question": "How long?", "answer": answer, "criteria": ["It names a time.", {"type": "contains", "value": "30"}]}
        for n, answer in enumerate(answers)
    ]  # fmt: skip
    (tmp_path / "cases.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    judge = "".join(
        f"{key} = {json.dumps(value)}\n" for key, value in llama.settings(max_tokens=200).items()
    )
    (tmp_path / "suite.toml").write_text(
        'cases = ["cases.jsonl"]\nmetrics = ["criterion.short", "criterion.tone", "criteria"]\n'
        '[[criteria]]\nname = "short"\nask = "The answer is one sentence."\n'
        '[[criteria]]\nname = "tone"\nask = "How friendly is it?"\nkind = "0-5"\n'
        f'[target]\nkind = "recorded"\n[judge]\n{judge}'
    )
    run = run_suite(tmp_path / "suite.toml", progress=False)
    steps = {"criterion.short": {0, 1}, "criterion.tone": set(range(6)), "criteria": {0, 0.5, 1}}
    scores = {name: [outcome.scores[name] for outcome in run.outcomes] for name in steps}
    assert all(s.value in steps[name] or s.error for name, found in scores.items() for s in found)
    for answer, found in zip(answers, zip(*scores.values(), strict=True), strict=True):
        quotes = [str(s.details.get("quote") or "") for s in found if s.error is None]
        assert all(quote == "no quote" or quote in answer for quote in quotes)
