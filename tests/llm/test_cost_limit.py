"""max_cost holds while many calls are made at once."""

from __future__ import annotations

import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from answerkey.llm.chat import Reply
from answerkey.llm.cost_limit import CostLimit
from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.types import Case, Response


def spend(limit: CostLimit, calls: int, cost: float | None, workers: int = 20) -> int:
    """The number of calls that were made."""

    def call(_: int) -> int:
        if not limit.begin():
            return 0
        time.sleep(0.001)
        limit.end(cost)
        return 1

    with ThreadPoolExecutor(workers) as pool:
        return sum(pool.map(call, range(calls)))


@pytest.mark.parametrize(("most", "calls"), [(0.5, 5), (0.0, 0), (0.11, 1), (100.0, 80)])
def test_the_limit_is_passed_by_one_call_at_most(most: float, calls: int) -> None:
    limit = CostLimit(most)
    assert spend(limit, 80, 0.11) in (calls, calls - 1)
    assert limit.spent <= most + 0.11


def test_calls_of_unknown_cost_are_announced(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "answerkey.llm"):
        assert spend(CostLimit(0.5), 30, None) == 30
    assert [record.getMessage()[:41] for record in caplog.records] == [
        "max_cost cannot limit the judge: the cost"
    ]


def test_a_failed_call_leaves_the_limit_free() -> None:
    limit = CostLimit(1.0)
    assert limit.begin()
    limit.fail()
    assert limit.begin()


def test_a_judge_stops_at_the_limit_and_says_so() -> None:
    text = json.dumps({"reason": "r", "score": 1.0})
    chat = ScriptedChat([Reply(text, cost=0.11)] * 40)
    judge = ModelJudge(chat, concurrency=8)
    limit = CostLimit(0.5)
    judge.limit_cost(limit)
    pairs = [(Case(str(n), f"Where, {n}?"), Response("Here.")) for n in range(40)]
    scores = judge.judge("relevance", pairs)
    judged = [score for score in scores if score.value is not None]
    refused = [score for score in scores if score.error]
    assert len(judged) in (4, 5)
    assert len(judged) + len(refused) == 40
    assert "max_cost = 0.5 is used up" in (refused[0].error or "")
