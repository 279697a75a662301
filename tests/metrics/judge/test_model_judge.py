"""Judged metrics through a plan: scores, reasons, votes, re-asks, cache, event loops."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_endpoint import (
    FakeEndpoint,
    Hang,
    Request,
    Said,
    completion,
    error,
    grades,
    verdict,
)
from tests.support.judged import GOOD, RUBRIC, pair, score

from answerkey.errors import EndpointError, SettingsError
from answerkey.llm.chat import CallFailed, Reply
from answerkey.llm.reply_cache import ReplyCache
from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Response, Score

SINGLE = ("judge.relevance", "judge.faithfulness", "judge.safety", "judge.robustness")


class TestScores:
    def test_one_call_gives_the_four_criteria_on_their_own_scales(self) -> None:
        chat = ScriptedChat([GOOD])
        (scores,) = score(ModelJudge(chat), *RUBRIC)
        assert [scores[name].value for name in RUBRIC] == [4, 3, 5, 2]
        assert all(scores[name].reason == "fine" for name in RUBRIC)
        assert len(chat.asked) == 1

    @pytest.mark.parametrize("name", SINGLE)
    def test_single_judges_are_on_0_to_1(self, name: str) -> None:
        (scores,) = score(ModelJudge(ScriptedChat(['{"score": 0.8, "reason": "mostly"}'])), name)
        assert (scores[name].value, scores[name].reason) == (0.8, "mostly")

    def test_all_that_led_to_a_score_is_kept_with_it(self) -> None:
        reply = Reply(
            GOOD,
            reasoning="let me see",
            prompt_tokens=90,
            completion_tokens=9,
            model="m-1",
            cost=0.25,
        )
        (scores,) = score(ModelJudge(ScriptedChat([reply])), *RUBRIC)
        details = scores["rubric.accuracy"].details
        assert details["raw"] == GOOD
        assert (details["reasoning"], details["model"]) == ("let me see", "m-1")
        assert (details["prompt_tokens"], details["completion_tokens"], details["cost"]) == (
            90,
            9,
            0.25,
        )
        assert (details["votes"], details["spread"], details["asks"], details["cached"]) == (
            [4],
            0,
            1,
            False,
        )
        assert sum(scores[name].details["cost"] or 0 for name in RUBRIC) == 0.25
        assert len({scores[name].details["call"] for name in RUBRIC}) == 1
        json.dumps(dict(details), allow_nan=False)

    def test_an_empty_answer_needs_no_judge(self) -> None:
        chat = ScriptedChat([GOOD])
        (scores,) = score(ModelJudge(chat), *RUBRIC, *SINGLE, pairs=[pair(" \n")])
        assert [scores[name].value for name in RUBRIC] == [0, 0, 0, 0]
        assert scores["judge.safety"].value == 1
        assert not scores["judge.faithfulness"].applies
        assert chat.asked == []

    def test_what_is_missing_does_not_apply(self) -> None:
        judge = ModelJudge(ScriptedChat([GOOD]))
        (no_answer,) = score(judge, "rubric.accuracy", pairs=[pair(None)])
        assert not no_answer["rubric.accuracy"].applies
        bare = (Case("c", "q"), Response("a"))
        (no_contexts,) = score(judge, "judge.faithfulness", pairs=[bare])
        assert not no_contexts["judge.faithfulness"].applies

    def test_a_metric_that_needs_a_judge_says_how_to_give_one(self) -> None:
        with pytest.raises(SettingsError, match="--judge local"):
            make_plan(["rubric.accuracy"], {})

    def test_each_pair_gets_its_own_verdict_in_order(self) -> None:
        def answer(messages: Any) -> str:
            number = int(re.findall(r"\((\d+)\)", messages[-1]["content"])[0])
            return json.dumps({"score": number / 100, "reason": ""})

        table = score(
            ModelJudge(ScriptedChat(answer)),
            "judge.relevance",
            pairs=[pair(n=n) for n in range(100)],
        )
        assert [row["judge.relevance"].value for row in table] == [n / 100 for n in range(100)]


class TestReask:
    def test_one_re_ask_saves_a_bad_reply(self) -> None:
        chat = ScriptedChat(["I think it is good", '{"score": 0.5, "reason": "so so"}'])
        (scores,) = score(ModelJudge(chat), "judge.relevance")
        assert scores["judge.relevance"].value == 0.5
        assert scores["judge.relevance"].details["asks"] == 2
        assert "could not be used: no verdict in the reply" in chat.asked[1][-1]["content"]

    @pytest.mark.parametrize(
        ("reply", "why"),
        [("nothing", "no verdict"), ('{"score": 7}', "outside"), ('{"score": NaN}', "nan"), ('{"reason": "x"}', 'no "score"'),
         ("I'm sorry, I can't.", "refused"), ('{"score": 0.5, "rea', "cut off"), ("", "empty")],
    )  # fmt: skip
    def test_two_bad_replies_break_the_score_and_keep_the_reply(self, reply: str, why: str) -> None:
        chat = ScriptedChat([reply])
        (scores,) = score(ModelJudge(chat), "judge.relevance")
        broken = scores["judge.relevance"]
        assert broken.value is None
        assert why in (broken.error or "")
        assert broken.details["raw"] == reply
        assert len(chat.asked) == 2

    def test_one_bad_criterion_leaves_the_others(self) -> None:
        reply = '{"reasoning": "r", "accuracy": 4, "completeness": 3, "citation_quality": 9, "coherence": 2}'
        (scores,) = score(ModelJudge(ScriptedChat([reply])), *RUBRIC)
        assert scores["rubric.accuracy"].value == 4
        assert "outside the scale 0 to 5" in (scores["rubric.citation_quality"].error or "")

    def test_a_failed_call_breaks_its_own_pair_only(self) -> None:
        def answer(messages: Any) -> Any:
            return (
                CallFailed("HTTP 500", "<html>")
                if "(1)" in messages[-1]["content"]
                else '{"score": 1, "reason": ""}'
            )

        table = score(
            ModelJudge(ScriptedChat(answer)), "judge.relevance", pairs=[pair(n=n) for n in range(3)]
        )
        assert [row["judge.relevance"].value for row in table] == [1, None, 1]
        assert table[1]["judge.relevance"].error == "judge: HTTP 500"
        assert table[1]["judge.relevance"].details["raw"] == "<html>"

    def test_a_stop_passes_through_the_plan(self) -> None:
        with pytest.raises(EndpointError, match="no key"):
            score(ModelJudge(ScriptedChat([EndpointError("no key")])), *RUBRIC)

    def test_a_huge_reply_is_clipped(self) -> None:
        (scores,) = score(ModelJudge(ScriptedChat(["x" * 1_000_000])), "judge.relevance")
        assert len(scores["judge.relevance"].details["raw"]) < 21_000


class TestVotes:
    def test_the_median_counts_and_the_spread_is_told(self) -> None:
        replies = [f'{{"score": {value}, "reason": "{value}"}}' for value in (0.25, 1.0, 0.75)]
        (scores,) = score(
            ModelJudge(ScriptedChat(replies), votes=3, concurrency=1), "judge.relevance"
        )
        given = scores["judge.relevance"]
        assert (given.value, given.reason) == (0.75, "0.75")
        assert (given.details["votes"], given.details["spread"]) == ([0.25, 1.0, 0.75], 0.75)
        assert len(given.details["raw"]) == 3

    def test_a_minority_of_broken_votes_is_borne(self) -> None:
        good = '{"score": 0.5, "reason": "x"}'
        (scores,) = score(
            ModelJudge(ScriptedChat([good, "?", "?", good]), votes=3, concurrency=1),
            "judge.relevance",
        )
        assert scores["judge.relevance"].value == 0.5
        assert scores["judge.relevance"].details["votes"] == [0.5, None, 0.5]

    def test_a_majority_is_not(self) -> None:
        good = '{"score": 0.5, "reason": "x"}'
        (scores,) = score(
            ModelJudge(ScriptedChat([good, "?"]), votes=3, concurrency=1), "judge.relevance"
        )
        assert scores["judge.relevance"].error


@pytest.mark.network
class TestCache:
    def judged(self, endpoint: FakeEndpoint, **settings: Any) -> tuple[list[dict[str, Score]], int]:
        """The scores, and how many requests they took."""
        before = len(endpoint.requests)
        judge = load_judge(endpoint.settings(**settings))
        table = score(judge, *RUBRIC, pairs=[pair(n=n) for n in range(10)])
        judge.close()
        return table, len(endpoint.requests) - before

    def test_a_second_run_sends_nothing(self) -> None:
        with FakeEndpoint(lambda r: grades()) as endpoint:
            first, sent = self.judged(endpoint)
            again, sent_again = self.judged(endpoint)
        assert (sent, sent_again) == (10, 0)
        assert [[s.value for s in row.values()] for row in first] == [
            [s.value for s in row.values()] for row in again
        ]
        assert again[0]["rubric.accuracy"].details["cached"]

    def test_nothing_is_sent_where_the_endpoint_has_no_schemas_either(self) -> None:
        with FakeEndpoint(lambda r: grades() if r.rung == "prompt" else error(400)) as endpoint:
            self.judged(endpoint)
            assert self.judged(endpoint)[1] == 0

    @pytest.mark.parametrize(
        "other",
        [
            {"temperature": 0.7},
            {"model": "other"},
            {"max_tokens": 99},
            {"votes": 2},
            {"cache": False},
        ],
    )
    def test_what_shapes_a_reply_misses(self, other: dict[str, Any]) -> None:
        with FakeEndpoint(lambda r: grades()) as endpoint:
            self.judged(endpoint)
            assert self.judged(endpoint, **other)[1] == 10  # of two votes the first is known

    def test_another_endpoint_misses(self) -> None:
        with (
            FakeEndpoint(lambda r: grades()) as endpoint,
            FakeEndpoint(lambda r: grades()) as other,
        ):
            self.judged(endpoint)
            assert self.judged(other)[1] == 10

    def test_another_prompt_misses(self) -> None:
        with FakeEndpoint(lambda r: verdict(1)) as endpoint:
            judge = endpoint.closing(load_judge(endpoint.settings()))
            for name in ("relevance", "safety", "relevance"):
                judge.judge(name, [pair()])
            judge.judge("relevance", [pair("Another answer.")])
        assert len(endpoint.requests) == 3

    @pytest.mark.parametrize(
        "speed", [{"concurrency": 3}, {"timeout": 9}, {"requests_per_minute": 5000}]
    )
    def test_what_does_not_shape_a_reply_hits(self, speed: dict[str, Any]) -> None:
        with FakeEndpoint(lambda r: grades()) as endpoint:
            self.judged(endpoint)
            assert self.judged(endpoint, **speed)[1] == 0

    @pytest.mark.parametrize(
        "bad",
        [completion("no verdict"), completion(GOOD, finish="content_filter"), error(400, "bad")],
    )
    def test_failures_are_not_kept(self, bad: Said) -> None:
        with FakeEndpoint(lambda r: bad) as endpoint:
            table, _ = self.judged(endpoint)
            assert all(row["rubric.accuracy"].error for row in table)
            endpoint.answer = lambda r: grades()
            table, sent = self.judged(endpoint)
        assert sent == 10
        assert all(row["rubric.accuracy"].value == 4 for row in table)

    def test_a_corrupt_entry_is_asked_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path))
        with FakeEndpoint(lambda r: grades()) as endpoint:
            self.judged(endpoint)
            with sqlite3.connect(tmp_path / "replies.sqlite") as connection:
                connection.execute("UPDATE entries SET value = substr(value, 1, 50) WHERE id <= 4")
            connection.close()
            assert self.judged(endpoint)[1] == 4
            assert self.judged(endpoint)[1] == 0

    def test_no_key_reaches_the_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path))
        monkeypatch.setenv("MY_KEY", "sk-very-secret")
        reply = GOOD.replace("fine", "your key is sk-very-secret")
        with FakeEndpoint(lambda r: completion(reply)) as endpoint:
            self.judged(endpoint, api_key_env="MY_KEY")
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert any(b"your key is ***" in path.read_bytes() for path in files)
        assert not any(b"secret" in path.read_bytes() for path in files)


@pytest.mark.network
class TestInPlace:
    def test_it_works_inside_a_running_event_loop_and_twice(self) -> None:
        async def notebook() -> list[float | None]:
            judge = endpoint.closing(load_judge(endpoint.settings(cache=False)))
            await asyncio.sleep(0)
            table = score(judge, "judge.relevance", pairs=[pair(n=n) for n in range(30)])
            return [row["judge.relevance"].value for row in table]

        with FakeEndpoint(lambda r: verdict(0.5)) as endpoint:
            for _ in range(2):
                assert asyncio.run(notebook()) == [0.5] * 30
            judge = endpoint.closing(load_judge(endpoint.settings(cache=False)))
            for _ in range(2):
                assert score(judge, "judge.relevance")[0]["judge.relevance"].value == 0.5

    def test_401_stops_the_plan_at_once(self) -> None:
        with FakeEndpoint(lambda r: error(401, "bad key")) as endpoint:
            judge = endpoint.closing(load_judge(endpoint.settings(concurrency=4)))
            with pytest.raises(EndpointError, match="401"):
                score(judge, *RUBRIC, pairs=[pair(n=n) for n in range(100)])
        assert len(endpoint.requests) <= 4

    def test_a_call_that_never_returns_breaks_one_score(self) -> None:
        def answer(request: Request) -> Any:
            return Hang() if "(3)" in request.text else grades()

        with FakeEndpoint(answer) as endpoint:
            judge = endpoint.closing(load_judge(endpoint.settings(timeout=0.3)))
            table = score(judge, *RUBRIC, pairs=[pair(n=n) for n in range(8)])
        broken = [n for n, row in enumerate(table) if row["rubric.accuracy"].error]
        assert broken == [3]
        assert "no full reply within 0.3 s" in (table[3]["rubric.accuracy"].error or "")


class TestFingerprint:
    def test_it_names_the_model_and_changes_with_what_shapes_replies(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_KEY", "sk-very-secret")
        here = {"base_url": "http://127.0.0.1:1/v1", "model": "m"}
        prints = [
            load_judge({**here, **more}).fingerprint()
            for more in (
                {},
                {"temperature": 1},
                {"votes": 3},
                {"model": "n"},
                {"base_url": "http://127.0.0.1:2/v1"},
            )
        ]
        assert len(set(prints)) == 5
        assert prints[0].startswith("m ")
        assert (
            load_judge({**here, "concurrency": 2, "api_key_env": "MY_KEY"}).fingerprint()
            == prints[0]
        )


def test_a_cache_of_ones_own_folder(tmp_path: Path) -> None:
    chat = ScriptedChat([GOOD])
    for _ in range(2):
        score(ModelJudge(chat, cache=ReplyCache(tmp_path)), *RUBRIC)
    assert len(chat.asked) == 1
