"""HTTP targets against a real server on loopback: templates, paths, chat, Gradio, and everything that goes wrong."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.loopback import Bot

from answerkey.errors import SettingsError
from answerkey.targets.resolve import make_target
from answerkey.types import Question, Response, Turn

pytestmark = pytest.mark.network

HERE = Path()
ASK = Question("c1", 'Was kostet "es"? {id}')
TALK = Question("c2", "And now?", (Turn("How old?", "Nine."),))


def ask(table: dict[str, Any], question: Question = ASK) -> Response:
    target = make_target(table, HERE)
    try:
        return target.ask(question)
    finally:
        target.close()


def test_one_line_is_enough() -> None:
    with Bot() as bot:
        got = ask({"url": bot.url})
        assert got.answer == 'About Was kostet "es"? {id}'
        assert bot.requests[0]["body"] == {"question": ASK.text}
        ask({"url": bot.url}, TALK)
        assert bot.requests[1]["body"] == {
            "question": "And now?",
            "history": [{"user": "How old?", "answer": "Nine."}],
        }


def test_templates_and_paths() -> None:
    reply = {
        "out": {"text": "Nine."},
        "hits": [{"t": "p1"}, {"t": "p2"}],
        "r": "kpi",
        "pages": [3, 34],
        "n": 7,
    }
    with Bot(lambda body: reply) as bot:
        got = ask(
            {
                "url": bot.url + "/v2/ask", "method": "put", "body": {"q": "Q: {question}", "n": [1, "{id}"], "h": "{history}"},
                "answer": "$.out.text", "passages": "$.hits[*].t", "route": "r", "retrieved": "$['pages']", "prompt_tokens": "$.n",
                "sources": "$.absent[*]", "cost": "$.absent",
            },
            TALK,
        )  # fmt: skip
        request = bot.requests[0]
    assert (request["method"], request["path"]) == ("PUT", "/v2/ask")
    assert request["body"] == {
        "q": "Q: And now?",
        "n": [1, "c2"],
        "h": [{"user": "How old?", "answer": "Nine."}],
    }
    assert (got.answer, got.contexts, got.route, got.retrieved) == (
        "Nine.",
        ("p1", "p2"),
        "kpi",
        ("3", "34"),
    )
    assert (got.prompt_tokens, got.cost, got.sources) == (7, None, ())


@pytest.mark.parametrize(
    "table", [{"params": {"q": "{question}", "k": 3}}, {"url": "/ask?q={question}&k=3"}]
)
def test_the_question_in_the_address(table: dict[str, Any]) -> None:
    with Bot(lambda path: {"answer": path}) as bot:
        got = ask({**table, "url": bot.url + table.get("url", "/ask")}, Question("1", "a & b/ü?"))
        assert bot.requests[0]["method"] == "GET"
    assert (got.answer or "").startswith("/ask?q=a%20%26%20b%2F%C3%BC%3F&k=3") or "q=a+%26+b" in (
        got.answer or ""
    )


def test_a_body_in_text_quotes_the_question_right() -> None:
    with Bot(lambda body: {"answer": body["deep"]["q"] if isinstance(body, dict) else body}) as bot:
        assert ask({"url": bot.url, "body": '{"deep": {"q": "{question}"}}'}).answer == ASK.text
        assert (
            ask({"url": bot.url, "body": "<q>{question} {id}</q>"}).answer
            == f"<q>{ASK.text} c1</q>"
        )


def test_keys_come_from_variables_and_stay_out_of_every_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_TOKEN", "sk-very-secret")
    table = {
        "headers": {"Authorization": "Bearer ${MY_TOKEN}"},
        "body": {"q": "{question}", "key": "${MY_TOKEN}"},
    }
    with Bot(lambda body: {"answer": f"I was sent {body['key']}"}) as bot:
        got = ask({"url": bot.url, **table})
        assert bot.requests[0]["headers"]["Authorization"] == "Bearer sk-very-secret"
        bot.reply = lambda body: (500, "text/plain", b"bad key sk-very-secret")
        failed = ask({"url": bot.url, **table})
    assert got.answer == "I was sent ***"
    assert "sk-very-secret" not in repr(failed)
    monkeypatch.delenv("MY_TOKEN")
    with pytest.raises(SettingsError, match="MY_TOKEN is not set"):
        make_target({"url": "http://127.0.0.1:1", **table}, HERE)


PAGE = b"<!DOCTYPE html><html><title>Sign in</title>"


@pytest.mark.parametrize(
    ("reply", "error", "kind"),
    [
        ((200, "text/html", PAGE), "an HTML page came instead of JSON", "content"),
        ((200, "application/json", b"\xff\xfe\xfa{}"), "not valid UTF-8", "content"),
        ((200, "application/json", b"{oops"), "the reply is not JSON", "content"),
        ((200, "application/json", b""), "the reply is empty", "content"),
        ((200, "application/json", b"null"), "returned None", "content"),
        ((200, "application/json", b"[" * 200_000), "the reply is not JSON", "content"),
        ((200, "application/json", b'{"answer": ""}'), "empty answer", "content"),
        ((200, "application/json", b'{"answer": "\\ud800"}'), "not valid text", "content"),
        ((200, "application/json", b'{"anwser": "x"}'), "no answer", "content"),
        ((200, "application/json", b'"' + b"x" * 50_000_000 + b'"'), "too large", "content"),
        (
            (422, "application/json", b'{"detail": "too short"}'),
            "HTTP 422: Unprocessable Entity",
            "content",
        ),
        (
            (503, "text/plain", b"busy \x1b[31m"),
            "HTTP 503: Service Unavailable: busy",
            "infrastructure",
        ),
        ((404, "text/plain", b"?"), "HTTP 404", "infrastructure"),
        ((302, "text/plain", b""), "redirects to http://elsewhere.invalid/", "infrastructure"),
    ],
)
def test_an_unusable_value_is_an_error_with_a_reason(reply: Any, error: str, kind: str) -> None:
    with Bot(lambda body: reply) as bot:
        got = ask({"url": bot.url})
    assert error in (got.error or "")
    assert (got.answer, got.error_kind) == (None, kind)
    assert len(got.error or "") < 600


def test_a_path_that_finds_nothing_shows_the_reply() -> None:
    with Bot(lambda body: {"reply": "x", "state": 1}) as bot:
        got = ask({"url": bot.url, "answer": "$.answer"})
    assert (
        got.error
        == 'no answer in the reply: nothing at "$.answer"; the reply is an object with reply, state'
    )


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        got = ask({"url": f"http://127.0.0.1:{free.getsockname()[1]}/ask"})
    assert got.error is not None
    assert got.error.startswith("connection failed: http://127.0.0.1:")
    assert (got.error_kind, got.error_name) == ("infrastructure", "connection failed")


def test_a_hang_and_a_slow_drip_end_at_the_deadline() -> None:
    """The drip sends its headers one byte at a time, so that no single read ever times out."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()

        def drip() -> None:
            peer, _ = server.accept()
            with peer:
                for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 10_000:
                    if stop.wait(0.02):
                        return
                    peer.send(bytes([byte]))

        threading.Thread(target=drip, daemon=True).start()
        start = time.monotonic()
        got = ask({"url": f"http://127.0.0.1:{server.getsockname()[1]}", "timeout": 0.3})
        waited = time.monotonic() - start
        stop.set()
    assert got.error == "timed out: no answer within 0.3 s"
    assert waited < 10, "it would drip for 200 s"
    with Bot(delay=1) as bot:
        assert ask({"url": bot.url, "timeout": 0.2}).error == "timed out: no answer within 0.2 s"


def test_the_wait_for_a_turn_is_not_timed() -> None:
    with Bot(delay=0.02) as bot:
        target = make_target({"url": bot.url, "concurrency": 1}, HERE)
        got: list[Response] = []
        threads = [threading.Thread(target=lambda: got.append(target.ask(ASK))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        target.close()
    assert all(r.seconds is not None and r.seconds >= 0.02 for r in got)
    assert sorted(r.seconds or 9 for r in got)[4] < 0.1, (
        "eight in a row: the last waits 0.14 s for its turn"
    )


def test_chat_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def reply(body: Any) -> Any:
        if isinstance(body, str):
            return {"data": [{"id": "tiny-model"}]}
        said = " / ".join(f"{m['role']}: {m['content']}" for m in body["messages"])
        usage = {"prompt_tokens": 12, "completion_tokens": 3}
        return {"choices": [{"message": {"content": f"{body['model']}: {said}"}}], "usage": usage}

    monkeypatch.setenv("CHAT_KEY", "sk-very-secret")
    with Bot(reply) as bot:
        got = ask({"openai": bot.url + "/v1"}, TALK)
        assert got.answer == "tiny-model: user: How old? / assistant: Nine. / user: And now?"
        assert (got.prompt_tokens, got.completion_tokens, got.cost) == (12, 3, None)
        more = {
            "model": "m",
            "system": "Be brief.",
            "api_key_env": "CHAT_KEY",
            "body": {"temperature": 0},
        }
        got = ask({"kind": "http", "chat": bot.url + "/v1/chat/completions", **more})
        assert (got.answer or "").startswith("m: system: Be brief. / user: Was")
        last = bot.requests[-1]
        assert (last["path"], last["body"]["temperature"]) == ("/v1/chat/completions", 0)
        assert last["headers"]["Authorization"] == "Bearer sk-very-secret"
        bot.reply = lambda body: {"error": {"message": "model not loaded"}}
        assert "model not loaded" in (ask({"openai": bot.url, "model": "m"}).error or "")
        bot.reply = lambda body: {
            "choices": [{"message": {"content": [{"type": "text", "text": "parts"}]}}]
        }
        assert ask({"openai": bot.url, "model": "m"}).answer == "parts"
        bot.reply = lambda body: {"data": []}
        assert "lists none" in (ask({"openai": bot.url}).error or "")


@pytest.mark.parametrize("prefix", ["/gradio_api/call", "/call"])
def test_a_gradio_app(prefix: str) -> None:
    """Replies as Gradio 5 and 6 (`/gradio_api/call`) and 4 (`/call`) send them."""
    stream = b'event: heartbeat\ndata: null\n\nevent: generating\ndata: ["Ni"]\n\nevent: complete\ndata: ["Nine.", 7]\n\n'

    def reply(body: Any) -> Any:
        path = bot.requests[-1]["path"]
        if not path.startswith(prefix):
            return 404, "application/json", b'{"detail": "Not Found"}'
        if path == f"{prefix}/predict":
            return {"event_id": "e/1"}
        return 200, "text/event-stream", stream

    with Bot(reply) as bot:
        target = make_target(
            {"gradio": bot.url + "/", "data": ["{question}", "{history}", 0.5]}, HERE
        )
        assert target.ask(TALK).answer == "Nine."
        assert bot.requests[-2]["body"] == {
            "data": ["And now?", [{"user": "How old?", "answer": "Nine."}], 0.5]
        }
        assert bot.requests[-1]["path"] == f"{prefix}/predict/e/1"
        before = len(bot.requests)
        target.ask(ASK)
        assert len(bot.requests) == before + 2, "the prefix that works is remembered"
        stream = b'event: error\ndata: {"error": "bad question"}\n\n'
        assert target.ask(ASK).error == "the app reported an error: bad question"
        stream = b"event: error\ndata: null\n\n"
        assert "show_error=True" in (target.ask(ASK).error or "")
        stream = b"event: generating\ndata: []\n\n"
        assert target.ask(ASK).error == "the app ended without an answer"
        stream = b"event: complete\ndata: [[1, 2]]\n"
        assert target.ask(ASK).answer == "1\n2"
        bot.reply = lambda body: (404, "application/json", b'{"detail": "Not Found"}')
        assert target.ask(ASK).error_name == "HTTP 404", "an app that was taken down"
        target.close()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"url": "127.0.0.1:8000"}, "begins with http://"),
        ({"url": ""}, "expected an address"),
        ({"url": "http://me:pass@host/"}, "contains a password"),
        ({"url": "http://h/", "anser": "$.x"}, 'did you mean "answer"'),
        ({"url": "http://h/", "answer": "$.a[?]"}, "not a path at"),
        ({"url": "http://h/", "answer": 3}, "expected text"),
        ({"url": "http://h/", "method": "FETCH"}, "expected GET, POST, PUT or PATCH"),
        ({"url": "http://h/", "body": {"q": "{qestion}"}}, 'did you mean "question"'),
        ({"url": "http://h/", "body": {"q": "fixed"}}, "no place for the question"),
        ({"url": "http://h/", "method": "GET"}, "no place for the question"),
        (
            {"url": "http://h/", "headers": {"Authorization": "Bearer sk-1"}},
            "a key belongs in a variable",
        ),
        ({"url": "http://h/", "headers": {"X-Api-Key": "sk-1"}}, "a key belongs in a variable"),
        ({"url": "http://h/", "headers": {"n": 3}}, "expected a table of strings"),
        ({"gradio": "http://h/", "data": "{question}"}, "expected a list"),
        ({"gradio": "http://h/", "apiname": "x"}, 'did you mean "api_name"'),
        ({"openai": "http://h/", "modle": "x"}, 'did you mean "model"'),
    ],
)
def test_wrong_settings(table: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_target({"kind": "http", **table}, HERE)
    assert message in str(caught.value)
    assert "sk-1" not in str(caught.value)


def test_numbers_that_are_none(tmp_path: Path) -> None:
    with Bot(lambda body: (200, "application/json", b'{"answer": "x", "cost": NaN, "contexts": [{"text": "p", "score": Infinity}], "z": NaN}')) as bot:  # fmt: skip
        got = ask({"url": bot.url})
    assert (got.cost, got.passages[0].score) == (None, None)
    json.dumps(dict(got.extra), allow_nan=False)
