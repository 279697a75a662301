"""Exchanges with a server that sends given packets: replies of every form, limits, proxies."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress

import pytest

from answerkey.errors import SettingsError
from answerkey.net import (
    HttpClient,
    HttpReply,
    LostConnection,
    TimedOutReply,
    TooLargeReply,
    check_address,
    find_proxy,
)

pytestmark = pytest.mark.network
USUAL = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello"
CLOSE = b""  # a server that ends the connection
WAIT = b"wait"


class Server:
    """Sends the given packets after each request, one list per request, and counts connections."""

    def __init__(self, *replies: list[bytes]) -> None:
        self.replies = list(replies)
        self.requests: list[bytes] = []
        self.connections = 0
        self.done = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._accepting = threading.Thread(target=self._serve, daemon=True)
        self._accepting.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, suppress(ConnectionError):  # a client may leave early
            while request := self._request(connection):
                self.requests.append(request)
                for packet in self.replies.pop(0):
                    if packet == CLOSE:
                        return
                    if packet == WAIT:
                        self.done.wait(0.05)
                    else:
                        connection.sendall(packet)

    def _request(self, connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data or (
            b"Content-Length: 2" in data and not data.endswith(b"{}")
        ):
            more = connection.recv(65536)
            if not more:
                return b""
            data += more
        return data

    def close(self) -> None:
        self.done.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._accepting.join()


@contextmanager
def client_of(
    *replies: list[bytes], timeout: float = 5.0, max_bytes: int = 1000
) -> Generator[tuple[HttpClient, Server]]:
    with closing(Server(*replies)) as server:
        url = f"http://127.0.0.1:{server.port}/v1"
        with closing(
            HttpClient(url, {"x-one": "1"}, timeout=timeout, max_bytes=max_bytes)
        ) as client:
            yield client, server


def ask(client: HttpClient, server: Server) -> HttpReply:
    client.begin()
    return client.request("POST", f"http://127.0.0.1:{server.port}/v1/chat", b"{}")


def test_a_request_is_sent_as_given_and_its_connection_is_kept() -> None:
    with client_of([USUAL], [USUAL], [USUAL]) as (client, server):
        replies = [ask(client, server) for _ in range(3)]
        host = f"127.0.0.1:{server.port}"
    assert [(reply.status, reply.body) for reply in replies] == [(200, b"hello")] * 3
    assert replies[0].headers == {"content-type": "text/plain", "content-length": "5"}
    assert server.connections == 1
    head = f"POST /v1/chat HTTP/1.1\r\nHost: {host}\r\naccept-encoding: identity\r\nx-one: 1\r\n"
    assert server.requests == [f"{head}Content-Length: 2\r\n\r\n{{}}".encode()] * 3


@pytest.mark.parametrize(
    "packets",
    [
        [USUAL],
        [USUAL[:20], WAIT, USUAL[20:]],
        [USUAL[:60], WAIT, USUAL[60:-2], WAIT, USUAL[-2:]],
        [b"HTTP", WAIT, USUAL[4:]],
        [USUAL.replace(b"\r\n\r\n", b"\r\nConnection: keep-alive\r\n\r\n")],
        [USUAL.replace(b" OK", b" ")],
        [USUAL.replace(b"\r\n", b"\n")],
        [b"HTTP/1.1 100 Continue\r\n\r\n" + USUAL],
        [
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n",
            WAIT,
            b"3\r\nllo\r\n0\r\n\r\n",
        ],
        [USUAL.replace(b"content-length: 5", b"content-length: 5\r\ncontent-length: 5")],
    ],
)
def test_replies_of_every_form_after_which_the_connection_is_kept(packets: list[bytes]) -> None:
    with client_of(packets, [USUAL]) as (client, server):
        replies = [ask(client, server) for _ in range(2)]
    assert [(reply.status, reply.body) for reply in replies] == [(200, b"hello")] * 2
    assert server.connections == 1


@pytest.mark.parametrize(
    "packets",
    [
        [USUAL.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")],
        [USUAL.replace(b"HTTP/1.1", b"HTTP/1.0"), CLOSE],
        [b"HTTP/1.1 200 OK\r\n\r\nhello", CLOSE],
        [USUAL, WAIT, b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfake"],
        [USUAL, CLOSE],
    ],
)
def test_a_connection_that_cannot_be_used_again_is_not(packets: list[bytes]) -> None:
    with client_of(packets, [USUAL]) as (client, server):
        first = ask(client, server)
        server.done.wait(0.2)  # until its end has arrived
        second = ask(client, server)
    assert (first.body, second.body) == (b"hello", b"hello")
    assert server.connections == 2


def test_another_status_has_its_headers_and_body() -> None:
    reply = b"HTTP/1.1 429 Too Many\r\nRetry-After: 3\r\ncontent-length: 2\r\n\r\nno"
    with client_of([reply], [b"HTTP/1.1 204 No Content\r\n\r\n"], [USUAL]) as (client, server):
        replies = [ask(client, server) for _ in range(3)]
    assert [(each.status, each.body) for each in replies] == [
        (429, b"no"),
        (204, b""),
        (200, b"hello"),
    ]
    assert replies[0].headers["retry-after"] == "3"
    assert server.connections == 1


@pytest.mark.parametrize(
    ("packets", "words"),
    [
        ([CLOSE], "Server disconnected without sending a response"),
        ([USUAL[:30], CLOSE], "no connection to 127.0.0.1"),
        ([USUAL[:-2], CLOSE], "received 3 bytes, expected 5"),
        ([USUAL.replace(b"length: 5", b"length: 5\r\ncontent-length: 6")], "Content-Length"),
        ([USUAL.replace(b"length: 5", b"length: -5")], "Content-Length"),
        ([USUAL.replace(b"text/plain", b"a\0b")], "illegal header line"),
        ([b"SSH-2.0-OpenSSH\r\n\r\n"], "illegal status line"),
    ],
)
def test_an_unusable_reply_is_an_error_with_a_reason(packets: list[bytes], words: str) -> None:
    with client_of(packets, [USUAL]) as (client, server):
        with pytest.raises(LostConnection, match=words):
            ask(client, server)
        assert ask(client, server).body == b"hello"
    assert server.connections == 2


def test_time_and_size_have_a_limit() -> None:
    slow = [part for n in range(len(USUAL)) for part in (USUAL[n : n + 1], WAIT)]
    with client_of(slow, timeout=0.3) as (client, server), pytest.raises(TimedOutReply):
        ask(client, server)
    with client_of([USUAL], max_bytes=4) as (client, server), pytest.raises(TooLargeReply):
        ask(client, server)


def test_headers_that_would_end_early_are_refused_and_the_key_in_them_is_hidden() -> None:
    from answerkey.secrets import Secrets

    with closing(Server([USUAL])) as server:
        url = f"http://127.0.0.1:{server.port}/v1"
        headers = {"x-key": "sk-0123456789\r\nx-more: 1"}
        with closing(
            HttpClient(url, headers, timeout=5, secrets=Secrets(["sk-0123456789"]))
        ) as client:
            client.begin()
            with pytest.raises(LostConnection) as error:
                client.request("POST", url, b"{}")
        assert "sk-0123456789" not in str(error.value)
        assert server.requests == []


def test_a_proxy_of_the_environment_gets_the_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Server([USUAL], [USUAL])) as server:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        url = "http://judge.example/v1"
        with closing(HttpClient(url, {}, timeout=5)) as client:
            for _ in range(2):
                client.begin()
                assert client.request("POST", url, b"{}").body == b"hello"
    assert server.requests[0].startswith(b"POST http://judge.example/v1 HTTP/1.1\r\n")
    assert server.connections == 1


def test_a_proxy_without_a_scheme_is_taken_as_curl_takes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("no_proxy", "NO_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert find_proxy("http://judge.example/v1") is None
    monkeypatch.setenv("all_proxy", "http://proxy.example:1")
    assert find_proxy("http://judge.example/v1") == "http://proxy.example:1"
    monkeypatch.setenv("http_proxy", "127.0.0.1:3128")
    assert find_proxy("http://judge.example/v1") == "http://127.0.0.1:3128"
    assert find_proxy("http://127.0.0.1:8080/v1") is None
    monkeypatch.setenv("http_proxy", " ")
    monkeypatch.delenv("all_proxy")
    assert find_proxy("http://judge.example/v1") is None


@pytest.mark.parametrize(
    ("proxy", "words"),
    [
        ("socks5://127.0.0.1:1080", "pip install socksio"),
        ("http://proxy.example:abc", "Invalid port"),
        ("ftp://proxy.example:21", "Unknown scheme"),
        ("http://me:my-password-1@proxy.example:99999", r"//\*\*\*@proxy.example"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_a_settings_error(
    proxy: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(SettingsError, match=words) as error:
        HttpClient("http://judge.example/v1", {}, timeout=5)
    assert "my-password-1" not in str(error.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999/x", "http://127.0.0.1:abc/x", "http://[::zz]/", "http:///x"]
)
def test_an_address_that_nothing_can_be_sent_to_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match=r"\[target\] url = "):
        check_address(url, "[target] url")
    check_address("http://127.0.0.1:8000/x?q=1", "[target] url")
