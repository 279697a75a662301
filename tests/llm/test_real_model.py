"""Against a real llama.cpp server: it proves the plumbing, not the judging of so small a model."""

from __future__ import annotations

import pytest
from tests.support.llama_server import LlamaServer

from answerkey.llm import load_chat
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.prompt import load_prompt
from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Pair, Response

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.xdist_group("llama")]

TOWNS = ["Paris", "Rome", "Oslo", "Lima", "Cairo", "Delhi", "Tokyo", "Quito", "Sofia", "Riga"]


def pairs(count: int) -> list[Pair]:
    return [
        (Case(f"c{n}", f"Which town is number {n}?", expected=(TOWNS[n % 10],)), Response(f"It is {TOWNS[n % 10]}."))
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
    assert judge.usage()["calls"] == 2
    assert judge.usage()["completion_tokens"] > 0


def test_the_rubric_in_one_call(llama: LlamaServer) -> None:
    judge = load_judge(llama.settings(max_tokens=200))
    (grades,) = judge.rubric(pairs(1))
    judge.close()
    steps = load_prompt("rubric").steps
    assert {name: score.value in steps[name] for name, score in grades.items()} == dict.fromkeys(steps, True)


def test_a_plain_chat(llama: LlamaServer) -> None:
    chat = load_chat(llama.settings(max_tokens=16))
    reply = chat.complete([{"role": "user", "content": "Say hello."}])
    chat.close()
    assert reply.text
    assert (reply.prompt_tokens or 0) > 0
