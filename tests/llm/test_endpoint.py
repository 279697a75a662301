"""The chat client against an endpoint that behaves well, and against ones that do not."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from tests.support.chats import HELLO, QUICK, ask_many, open_chat
from tests.support.fake_endpoint import (
    Drip,
    FakeEndpoint,
    Hang,
    Request,
    Reset,
    Said,
    completion,
    error,
    verdict,
)

from answerkey.config.tables import ChatTable
from answerkey.errors import EndpointError
from answerkey.llm import CallFailed, load_chat
from answerkey.llm.chat_settings import read_chat
from answerkey.llm.endpoint import Endpoint
from answerkey.llm.threads import in_threads

pytestmark = pytest.mark.network

SCHEMA = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}


def test_a_reply_with_its_tokens_and_cost() -> None:
    with FakeEndpoint(lambda request: completion("hi", reasoning_content="I greet")) as endpoint:
        chat = load_chat(endpoint.settings(price_in=2.0, price_out=10.0))
        reply = chat.complete(HELLO)
        chat.close()
    assert (reply.text, reply.reasoning, reply.model) == ("hi", "I greet", "fake-1")
    assert (reply.prompt_tokens, reply.completion_tokens) == (100, 10)
    assert reply.cost == pytest.approx((100 * 2 + 10 * 10) / 1e6)
    assert endpoint.requests[0].body["temperature"] == 0


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": "many"}, {"prompt_tokens": None, "completion_tokens": -1}]
)
def test_unknown_tokens_and_cost_are_not_zero(usage: Any) -> None:
    body = {"choices": [{"message": {"content": "hi"}}], "usage": usage}
    with FakeEndpoint(lambda request: Said(body=json.dumps(body))) as endpoint:
        reply = open_chat(endpoint, price_in=1, price_out=1).complete(HELLO)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost) == (None, None, None)


def test_content_in_parts_is_joined() -> None:
    parts: Any = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    with FakeEndpoint(lambda request: completion(parts)) as endpoint:
        assert open_chat(endpoint).complete(HELLO).text == "ab"


class TestLadder:
    @pytest.mark.parametrize("status", [400, 422, 500, 501])
    @pytest.mark.parametrize("works", ["json_schema", "json_object", "tool", "prompt"])
    def test_the_best_form_that_works_is_found_and_remembered(
        self, works: str, status: int
    ) -> None:
        def answer(request: Request) -> Said:
            if request.rung != works:
                return error(status, "response_format is not supported")
            if works == "tool":
                return completion(
                    None,
                    tool_calls=[{"function": {"name": "verdict", "arguments": '{"score": 1}'}}],
                )
            return completion('{"score": 1}')

        with FakeEndpoint(answer) as endpoint:
            chat = open_chat(endpoint)
            first, second = chat.complete(HELLO, SCHEMA), chat.complete(HELLO, SCHEMA)
        assert first.text == second.text == '{"score": 1}'
        assert first.rung.split(",")[0] == works
        tried = ["json_schema", "json_object", "tool", "prompt"]
        tried = tried[: tried.index(works) + 1]
        if works != "json_schema" and status < 500:
            tried.insert(0, "json_schema")  # once with bounds on the texts, once without
        assert [r.rung for r in endpoint.requests] == [*tried, works]

    def test_an_endpoint_that_knows_schemas_but_no_bounds(self) -> None:
        def answer(request: Request) -> Said:
            bounded = "maxLength" in json.dumps(request.body["response_format"])
            return error(400, "maxLength is not permitted") if bounded else completion("{}")

        schema = {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}
        with FakeEndpoint(answer) as endpoint:
            chat = open_chat(endpoint, max_tokens=300)
            assert [chat.complete(HELLO, schema).rung for _ in range(2)] == [
                "json_schema",
                "json_schema",
            ]
        assert [r.rung for r in endpoint.requests] == ["json_schema"] * 3
        asked = endpoint.requests[0].body["response_format"]["json_schema"]["schema"]
        assert asked["properties"]["why"]["maxLength"] == 150

    def test_the_lower_rungs_tell_the_schema_in_the_prompt(self) -> None:
        with FakeEndpoint(
            lambda r: completion("{}") if r.rung == "prompt" else error(400)
        ) as endpoint:
            open_chat(endpoint).complete(HELLO, SCHEMA)
        assert json.dumps(SCHEMA) in endpoint.requests[-1].text

    def test_no_tool_call_is_no_reply(self) -> None:
        with FakeEndpoint(
            lambda r: (
                error(400) if "json" in r.rung else completion("" if r.rung == "tool" else "{}")
            )
        ) as endpoint:
            assert open_chat(endpoint).complete(HELLO, SCHEMA).rung == "prompt"

    def test_a_prompt_that_is_too_long_is_not_asked_in_other_forms(self) -> None:
        with (
            FakeEndpoint(lambda r: error(400, "maximum context length is 4096 tokens")) as endpoint,
            pytest.raises(CallFailed, match="context length"),
        ):
            open_chat(endpoint).complete(HELLO, SCHEMA)
        assert len(endpoint.requests) == 1

    def test_a_rejection_after_the_rung_is_known_is_about_the_request(self) -> None:
        with FakeEndpoint(
            lambda r: completion("{}") if r.n == 0 else error(400, "bad")
        ) as endpoint:
            chat = open_chat(endpoint)
            chat.complete(HELLO, SCHEMA)
            with pytest.raises(CallFailed, match="bad"):
                chat.complete(HELLO, SCHEMA)
        assert len(endpoint.requests) == 2

    def test_models_that_take_no_temperature_or_max_tokens(self) -> None:
        def answer(request: Request) -> Said:
            for name in ("max_tokens", "temperature"):
                if name in request.body:
                    return error(
                        400, f"Unsupported parameter: '{name}' is not supported with this model."
                    )
            return completion("hi")

        with FakeEndpoint(answer) as endpoint:
            replies = ask_many(open_chat(endpoint, max_tokens=7, concurrency=8), 20, SCHEMA)
        assert [reply.text for reply in replies] == ["hi"] * 20
        assert endpoint.requests[-1].body["max_completion_tokens"] == 7
        assert {request.rung for request in endpoint.requests} == {"json_schema"}


class TestFatal:
    @pytest.mark.parametrize(
        ("said", "words"),
        [
            (error(401, "bad key"), "api_key_env"),
            (error(403, "forbidden"), "may not use"),
            (error(404, "no such model"), "model and base_url"),
            (error(402, "pay"), "no credit"),
            (
                error(429, "You exceeded your current quota, please check your plan"),
                "quota is used up",
            ),
            (
                Said(
                    429,
                    '{"error": {"code": "insufficient_quota", "message": "x"}}',
                    {"retry-after": "1"},
                ),
                "quota",
            ),
            (Said(302, "", {"location": "https://elsewhere.example/v1"}), "elsewhere.example"),
        ],
    )
    def test_what_cannot_get_better_stops_at_once(self, said: Said, words: str) -> None:
        with FakeEndpoint(lambda r: said) as endpoint, pytest.raises(EndpointError, match=words):
            ask_many(open_chat(endpoint, concurrency=4), 100)
        assert len(endpoint.requests) <= 4

    def test_no_call_is_sent_after_the_stop(self) -> None:
        with FakeEndpoint(lambda r: error(401)) as endpoint:
            chat = open_chat(endpoint)
            for _ in range(3):
                with pytest.raises(EndpointError):
                    chat.complete(HELLO)
        assert len(endpoint.requests) == 1


class TestBadWeather:
    @pytest.mark.parametrize("status", [500, 502, 503, 504, 529, 408])
    def test_server_errors_are_tried_again(self, status: int) -> None:
        with FakeEndpoint(lambda r: error(status) if r.n < 3 else completion("hi")) as endpoint:
            assert open_chat(endpoint).complete(HELLO).text == "hi"

    @pytest.mark.parametrize(
        "mischief",
        [Reset, error(503), Said(200, "<html><body>Sign in</body></html>"), Said(200, ""), Said(200, "[]"), Said(200, '{"choices": []}'),
         Said(200, '{"error": {"message": "upstream"}}'), Said(200, b"\xff\xfe\x00"), Said(200, '{"choices": [{"message": null}]}')],
        ids=["reset", "503", "html", "empty", "list", "no choice", "error in 200", "binary", "no message"],
    )  # fmt: skip
    def test_what_may_pass_is_tried_four_times_and_then_fails_this_call_only(
        self, mischief: Any
    ) -> None:
        with FakeEndpoint(lambda r: completion("hi") if "fine" in r.text else mischief) as endpoint:
            chat = open_chat(endpoint)
            with pytest.raises(CallFailed):
                chat.complete(HELLO)
            assert chat.complete([{"role": "user", "content": "fine"}]).text == "hi"
        assert len(endpoint.requests) == 5

    def test_the_raw_body_is_kept(self) -> None:
        with (
            FakeEndpoint(lambda r: Said(200, "<html>Sign in</html>")) as endpoint,
            pytest.raises(CallFailed) as caught,
        ):
            open_chat(endpoint).complete(HELLO)
        assert caught.value.raw == "<html>Sign in</html>"

    @pytest.mark.parametrize(
        "mischief",
        [Hang, Drip(headers_first=True), Drip(headers_first=False)],
        ids=["hang", "drip headers", "drip body"],
    )
    def test_a_call_that_never_returns_ends_at_its_deadline(self, mischief: Any) -> None:
        with (
            FakeEndpoint(lambda r: mischief) as endpoint,
            pytest.raises(CallFailed, match="no full reply within"),
        ):
            open_chat(endpoint, timeout=0.2).complete(HELLO)
        assert len(endpoint.requests) == 2

    def test_a_dead_endpoint_stops_the_run_after_a_few_calls(self) -> None:
        with FakeEndpoint(lambda r: completion("hi")) as endpoint:
            settings = endpoint.settings(concurrency=5)
        chat = Endpoint(read_chat(settings, ChatTable, "[judge]"), QUICK)
        with pytest.raises(
            EndpointError,
            match=r"25 calls in a row failed, the last with: no connection to 127\.0\.0\.1",
        ):
            ask_many(chat, 500)

    def test_server_errors_without_end_are_no_storm(self) -> None:
        with (
            FakeEndpoint(lambda r: error(500)) as endpoint,
            pytest.raises(EndpointError, match="in a row"),
        ):
            ask_many(open_chat(endpoint, concurrency=10), 1000, SCHEMA)
        assert len(endpoint.requests) <= (25 + 10) * 4


class TestSecrets:
    def test_the_key_is_sent_and_shown_nowhere(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("MY_KEY", "sk-very-secret-123")
        with FakeEndpoint(
            lambda r: error(401, "Incorrect API key provided: sk-very-secret-123")
        ) as endpoint:
            chat = open_chat(endpoint, api_key_env="MY_KEY")
            with pytest.raises(EndpointError) as caught:
                chat.complete(HELLO)
        assert endpoint.requests[0].headers["authorization"] == "Bearer sk-very-secret-123"
        shown = f"{caught.value} {caught.value.__cause__!r} {chat.settings!r} {chat.fingerprint()} {caplog.text}"
        assert "secret" not in shown

    def test_a_redirect_does_not_carry_the_key_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MY_KEY", "sk-very-secret-123")
        with (
            FakeEndpoint(lambda r: completion("hi")) as other,
            FakeEndpoint(
                lambda r: Said(307, "", {"location": f"{other.base_url}/chat/completions"})
            ) as endpoint,
            pytest.raises(EndpointError),
        ):
            open_chat(endpoint, api_key_env="MY_KEY").complete(HELLO)
        assert other.requests == []


def test_verdicts_come_back_in_order_whatever_their_time() -> None:
    def answer(request: Request) -> Said:
        number = float(request.text)
        time.sleep(0.02 * (1 - number))
        return verdict(number)

    with FakeEndpoint(answer) as endpoint:
        chat = open_chat(endpoint)
        numbers = [n / 40 for n in range(40)]
        texts = in_threads(
            lambda n: chat.complete([{"role": "user", "content": str(n)}]).text, numbers, 10
        )
    assert [json.loads(text)["score"] for text in texts] == numbers
