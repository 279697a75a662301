"""An OpenAI-compatible endpoint, as a real server on loopback gives it: good, slow, wrong, down."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from answerkey.embed import http_embedder as http_backend
from answerkey.embed import load_embedder
from answerkey.embed.http_embedder import HttpEmbedder
from answerkey.errors import EndpointError, SettingsError

pytestmark = pytest.mark.network
Reply = Callable[[dict[str, Any]], tuple[int, Any]]


def good(asked: dict[str, Any]) -> tuple[int, Any]:
    """The vectors in the wrong order, as the protocol allows, and not of length 1."""
    rows = [
        {"index": n, "embedding": [len(text), 1.0, 2.0]} for n, text in enumerate(asked["input"])
    ]
    return 200, {"data": rows[::-1]}


class Endpoint:
    def __init__(self) -> None:
        self.reply: Reply = good
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                endpoint.asked.append(asked)
                endpoint.keys.append(self.headers.get("authorization"))
                status, body = endpoint.reply(asked)
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setattr(http_backend, "ATTEMPTS", 2)
    found = Endpoint()
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_vectors_come_in_order_as_unit_rows_in_batches(endpoint: Endpoint) -> None:
    texts = ["x" * n for n in range(150)]
    embedder = load_embedder("some-model", base_url=endpoint.url)
    vectors = embedder.embed(texts)
    expected = np.array([[n, 1, 2] for n in range(150)], np.float32)
    expected[0, 0] = 1  # an empty text is sent as a blank: servers refuse it
    np.testing.assert_allclose(
        vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6
    )
    assert [len(asked["input"]) for asked in endpoint.asked] == [64, 64, 22]
    assert {asked["model"] for asked in endpoint.asked} == {"some-model"}
    assert embedder.dimension == 3
    embedder.embed(texts)
    assert len(endpoint.asked) == 3


def test_the_key_is_sent_and_never_kept(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path))
    monkeypatch.setenv("SOME_KEY", "sk-secret-value")
    embedder = load_embedder("m", base_url=endpoint.url, api_key_env="SOME_KEY")
    embedder.embed(["a"])
    assert endpoint.keys == ["Bearer sk-secret-value"]
    assert "sk-secret" not in embedder.digest + embedder.name
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"sk-secret" not in file.read_bytes()
    endpoint.reply = lambda asked: (401, {"error": "bad key"})
    with pytest.raises(EndpointError, match="refused the key") as caught:
        embedder.embed(["b"])
    assert "sk-secret" not in str(caught.value)
    monkeypatch.delenv("SOME_KEY")
    with pytest.raises(SettingsError, match="SOME_KEY is not set"):
        load_embedder("other", base_url=endpoint.url, api_key_env="SOME_KEY")


def rows(*vectors: object) -> Reply:
    return lambda asked: (
        200,
        {"data": [{"index": n, "embedding": v} for n, v in enumerate(vectors)]},
    )


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        (rows([1, 2]), "dimension 2, expected 3"),
        (rows([0, 0, 0]), "zero vector"),
        (rows([1, 2, float("nan")]), "NaN"),
        (rows([1, 2, None]), "NaN"),
        (rows(["a", "b", "c"]), "not a list of number"),
        (rows([1, 2, 3], [1, 2, 3]), "2 vectors for 1 texts"),
        (lambda asked: (200, {"oops": 1}), "without"),
        (lambda asked: (200, [1]), "without"),
        (lambda asked: (200, b"<html>"), "did not answer with JSON"),
        (lambda asked: (404, {"error": "no such model"}), "404: .*no such model"),
        (lambda asked: (503, b"busy"), "503: busy"),
    ],
)
def test_a_wrong_reply_is_one_clear_line(endpoint: Endpoint, reply: Reply, line: str) -> None:
    embedder = HttpEmbedder("m", endpoint.url)
    assert embedder.dimension == 3
    endpoint.reply = reply
    with pytest.raises(EndpointError, match=line) as caught:
        embedder.embed(["a"])
    assert "\n" not in str(caught.value)
    assert endpoint.url in str(caught.value)


def test_a_passing_failure_is_tried_again(endpoint: Endpoint) -> None:
    endpoint.reply = lambda asked: (429, b"slow down") if len(endpoint.asked) == 1 else good(asked)
    assert HttpEmbedder("m", endpoint.url).embed(["a"]).shape == (1, 3)


def test_a_silent_endpoint_meets_its_deadline(endpoint: Endpoint) -> None:
    def slow(asked: dict[str, Any]) -> tuple[int, Any]:
        time.sleep(1)
        return good(asked)

    endpoint.reply = slow
    with pytest.raises(EndpointError, match=r"within 0\.1 s"):
        HttpEmbedder("m", endpoint.url, timeout=0.1).embed(["a"])


def test_an_endpoint_that_is_down_is_one_clear_line(endpoint: Endpoint) -> None:
    endpoint.server.server_close()
    with pytest.raises(EndpointError, match="cannot be reached"):
        HttpEmbedder("m", endpoint.url).embed(["a"])


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://host/x", "http://", "http://user:secret@host/v1"]
)
def test_a_bad_address_is_refused_and_a_password_not_shown(url: str) -> None:
    with pytest.raises(SettingsError, match=r"base_url|an address") as caught:
        load_embedder("m", backend="http", base_url=url)
    assert "secret" not in str(caught.value)
