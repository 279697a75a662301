"""Which runs are divided into shards, and over how many processes."""

from contextlib import closing

import pytest

from answerkey.runs import divide
from answerkey.runs.control import Options, Watch
from answerkey.runs.divide import open_pool
from answerkey.runs.prepare import prepare
from answerkey.runs.suite import suite_of
from answerkey.types import Case, Response

ROWS = [(n, Case(str(n), "?", ("yes",), recorded=Response("yes"))) for n in range(3)]
METRICS = """
from answerkey import metric
@metric("own_words")
def own_words(case, response):
    return 1.0
"""


@pytest.fixture
def count(tmp_path, monkeypatch):
    """The number of processes for a suite with so many answers; 1 if this process does it all."""
    monkeypatch.setattr(divide, "available_cores", lambda: 4)

    def processes(answers, jobs=None, **settings):
        table = {"cases": ["-"], "metrics": ["exact_match"], "embedding": "none", **settings}
        if jobs:
            table["run"] = {"jobs": jobs}
        suite = suite_of(table, tmp_path)
        with closing(prepare(suite, cases=lambda: iter(ROWS))) as prepared:
            pool = open_pool(prepared, Options(), answers, Watch())
        if pool is None:
            return 1
        pool.close()
        return pool.count

    return processes


def test_many_recorded_answers_use_every_core(count):
    assert count(3_999) == 1
    assert count(4_000) == 4


def test_a_process_has_a_batch_at_least(count):
    assert count(100, jobs=8) == 1
    assert count(600, jobs=8) == 3
    assert count(100_000, jobs=8) == 8
    assert count(100_000, jobs=1) == 1


def test_a_live_bot_is_asked_by_one_process(count, write):
    write("bot_to_divide.py", "def answer(question):\n    return 'yes'\n")
    assert count(100_000, jobs=2, target={"call": "bot_to_divide:answer"}) == 1


def test_a_network_judge_stays_with_its_limiter(count):
    judge = {"base_url": "http://127.0.0.1:1/v1", "model": "m"}
    assert count(100_000, jobs=2, metrics=["judge.faithfulness"], judge=judge) == 1
    assert count(100_000, jobs=2, metrics=["judge.faithfulness"], judge="local") == 2


def test_own_metrics_leave_only_with_their_module(count, write):
    write("own_to_divide.py", METRICS)
    assert count(100_000, jobs=2, metrics=["own_words"], modules=["own_to_divide"]) == 2
    # Known to this process by now, but another one could not find it.
    assert count(100_000, jobs=2, metrics=["own_words"]) == 1
