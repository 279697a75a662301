"""Refusals (429) that end and that do not, the limits on calls, and how long to wait."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.support.chats import HELLO, ask_many, open_chat
from tests.support.fake_endpoint import FakeEndpoint, Request, Said, completion, error

from answerkey.config.tables import ChatTable
from answerkey.errors import EndpointError
from answerkey.llm.chat_settings import read_chat
from answerkey.llm.endpoint import Endpoint
from answerkey.llm.limiter import RetryLimits
from answerkey.llm.threads import in_threads
from answerkey.net import retry_after

pytestmark = pytest.mark.network

SCHEMA = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}


class TestRefusals:
    @pytest.mark.parametrize("kind", ["seconds", "date", "absent", "nonsense", "milliseconds"])
    def test_a_storm_that_ends(self, kind: str) -> None:
        def answer(request: Request) -> Said:
            if request.n >= 8:
                return completion("hi")
            return error(429, "slow down", **wait_header(kind))

        with FakeEndpoint(answer) as endpoint:
            replies = ask_many(open_chat(endpoint, concurrency=4), 8)
        assert [reply.text for reply in replies] == ["hi"] * 8
        assert len(endpoint.requests) == 8 + 8

    @pytest.mark.parametrize("kind", ["seconds", "date", "absent"])
    def test_a_storm_that_does_not_end_stops_the_run_with_few_requests(self, kind: str) -> None:
        with (
            FakeEndpoint(lambda r: error(429, "slow down", **wait_header(kind))) as endpoint,
            pytest.raises(EndpointError, match=r"kept refusing \(429\).*requests_per_minute"),
        ):
            ask_many(open_chat(endpoint, concurrency=20), 200)
        # 20 under way, then ever fewer, 13 waves in all
        assert len(endpoint.requests) <= 20 + 10 + 11 * 5

    def test_the_wait_that_is_asked_for_is_kept_by_every_call(self) -> None:
        with FakeEndpoint(
            lambda r: error(429, retry_after="1") if r.n == 0 else completion("hi")
        ) as endpoint:
            ask_many(open_chat(endpoint, concurrency=1), 3)
        first, second = endpoint.requests[0].at, endpoint.requests[1].at
        assert second - first >= 1.0

    def test_a_wait_beyond_patience_stops_at_once(self) -> None:
        with (
            FakeEndpoint(lambda r: error(429, "tokens per day", retry_after="7200")) as endpoint,
            pytest.raises(EndpointError, match="asks to wait 7200 s"),
        ):
            ask_many(open_chat(endpoint, concurrency=2), 50)
        assert len(endpoint.requests) <= 2

    def test_a_line_is_shown_when_a_limit_binds(self, caplog: pytest.LogCaptureFixture) -> None:
        with (
            caplog.at_level(logging.WARNING),
            FakeEndpoint(lambda r: error(429) if r.n == 0 else completion("hi")) as endpoint,
        ):
            open_chat(endpoint).complete(HELLO)
        assert "429" in caplog.text

    def test_half_of_all_calls_refused_at_random_all_come_through(self) -> None:
        with FakeEndpoint(lambda r: error(429) if r.n % 2 else completion("hi")) as endpoint:
            replies = ask_many(open_chat(endpoint, concurrency=8), 40)
        assert [reply.text for reply in replies] == ["hi"] * 40
        assert len(endpoint.requests) <= 90

    def test_503_with_a_wait_counts_as_a_refusal(self) -> None:
        with FakeEndpoint(
            lambda r: error(503, "loading", retry_after="0") if r.n < 6 else completion("hi")
        ) as endpoint:
            assert open_chat(endpoint).complete(HELLO).text == "hi"


def wait_header(kind: str) -> dict[str, str]:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=0), usegmt=True)
    return {
        "seconds": {"retry_after": "0"},
        "date": {"retry_after": soon},
        "absent": {},
        "nonsense": {"retry_after": "soon"},
        "milliseconds": {"retry_after_ms": "10"},
    }[kind]


class TestLimits:
    def test_no_more_calls_at_once_than_allowed(self) -> None:
        with FakeEndpoint(lambda r: completion("hi"), delay=0.01) as endpoint:
            chat = open_chat(endpoint, concurrency=3)
            in_threads(lambda _: chat.complete(HELLO), range(30), 12)
        assert endpoint.most_at_once == 3

    def test_requests_per_minute(self, caplog: pytest.LogCaptureFixture) -> None:
        patience = RetryLimits(minute=0.4, between_notices=0)
        with caplog.at_level(logging.WARNING), FakeEndpoint(lambda r: completion("hi")) as endpoint:
            chat = endpoint.closing(
                Endpoint(
                    read_chat(endpoint.settings(requests_per_minute=4), ChatTable, "[judge]"),
                    patience,
                )
            )
            ask_many(chat, 10)
        at = [request.at for request in endpoint.requests]
        # A call is timed here when it arrives, a little after it was let go: hence the slack.
        assert all(later - earlier > 0.3 for earlier, later in zip(at, at[4:], strict=False))
        assert "requests_per_minute = 4 reached" in caplog.text

    def test_connections_are_kept(self) -> None:
        with FakeEndpoint(lambda r: completion("hi")) as endpoint:
            chat = open_chat(endpoint, concurrency=1)
            ask_many(chat, 20)
            hosts = {request.headers["host"] for request in endpoint.requests}
        assert hosts == {endpoint.base_url.split("/")[2]}
        assert endpoint.connections == 1


def test_retry_after_in_all_its_forms() -> None:
    now = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
    assert retry_after({"retry-after": "3"}, now) == 3
    assert retry_after({"retry-after": "1.5"}, now) == 1.5
    assert retry_after({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, now) == 30
    assert retry_after({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, now) == 0
    assert retry_after({"retry-after-ms": "250"}, now) == 0.25
    assert retry_after({"retry-after": "soon"}, now) is None
    assert retry_after({}, now) is None


def test_the_jitter_spreads_and_the_wait_doubles_up_to_a_limit() -> None:
    patience = RetryLimits(first_wait=1, longest_wait=8)
    waits = [[patience.wait(tries) for _ in range(50)] for tries in (1, 2, 3, 4, 5, 6)]
    for tries, base in enumerate([1, 2, 4, 8, 8, 8]):
        assert all(0.75 * base <= wait <= 1.25 * base for wait in waits[tries])
        assert len(set(waits[tries])) > 1
