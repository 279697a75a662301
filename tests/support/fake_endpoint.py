"""A chat endpoint on loopback that does what a test tells it, and counts what it was asked.

    with FakeEndpoint(lambda request: verdict(0.8)) as endpoint: ...

The function gets a `Request` and returns a `Said`, or one of the mischiefs below.
"""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Request:
    n: int
    headers: dict[str, str]
    body: dict[str, Any]
    at: float

    @property
    def text(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])

    @property
    def rung(self) -> str:
        if "tools" in self.body:
            return "tool"
        return self.body.get("response_format", {}).get("type", "prompt")


@dataclass(frozen=True)
class Said:
    status: int = 200
    body: str | bytes = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


class Hang:
    """Take the request and never answer."""


class Reset:
    """Take the request and reset the connection."""


@dataclass(frozen=True)
class Drip:
    """A byte now and then: of the headers, or after them of the body."""

    headers_first: bool = True
    every: float = 0.02


def completion(content: str | None, finish: str = "stop", **message: Any) -> Said:
    body = {
        "model": "fake-1",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    return Said(body=json.dumps(body))


def verdict(score: float, reason: str = "because") -> Said:
    return completion(json.dumps({"reason": reason, "score": score}))


def grades(
    accuracy: float = 4, completeness: float = 3, citation_quality: float = 5, coherence: float = 3
) -> Said:
    return completion(
        json.dumps(
            {
                "reasoning": "because",
                "accuracy": accuracy,
                "completeness": completeness,
                "citation_quality": citation_quality,
                "coherence": coherence,
            }
        )
    )


def error(status: int, message: str = "no", **headers: str) -> Said:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Said(status, json.dumps({"error": {"message": message}}), named)


class FakeEndpoint:
    def __init__(self, answer: Callable[[Request], Any], delay: float = 0.0) -> None:
        self.answer = answer
        self.delay = delay
        self.requests: list[Request] = []
        self.to_close: list[Any] = []
        self.connections = 0
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        endpoint = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                endpoint.serve(self)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 200
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", 0), Handler)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def settings(self, **more: Any) -> dict[str, Any]:
        return {"base_url": self.base_url, "model": "fake", "timeout": 5, **more}

    def __enter__(self) -> FakeEndpoint:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return self

    def closing(self, client: Any) -> Any:
        """Close the client with the endpoint."""
        self.to_close.append(client)
        return client

    def __exit__(self, *_: object) -> None:
        for client in self.to_close:
            client.close()
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    def serve(self, handler: socketserver.StreamRequestHandler) -> None:
        with self._lock:
            self.connections += 1
        try:
            while (request := self._read(handler)) is not None:
                with self._lock:
                    self._at_once += 1
                    self.most_at_once = max(self.most_at_once, self._at_once)
                if self.delay:
                    time.sleep(self.delay)
                said = self.answer(request)
                with self._lock:
                    self._at_once -= 1
                if not self._say(handler.connection, said):
                    return
        except OSError:
            pass

    def _read(self, handler: socketserver.StreamRequestHandler) -> Request | None:
        line = handler.rfile.readline()
        if not line:
            return None
        headers: dict[str, str] = {}
        while header := handler.rfile.readline().decode("latin-1").strip():
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        body = json.loads(handler.rfile.read(int(headers.get("content-length", 0))))
        with self._lock:
            request = Request(len(self.requests), headers, body, time.monotonic())
            self.requests.append(request)
        return request

    def _say(self, connection: socket.socket, said: Any) -> bool:
        """Whether the connection can be used again."""
        if isinstance(said, type):
            said = said()
        if isinstance(said, Hang):
            self._ended.wait()
            return False
        if isinstance(said, Reset):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            return False
        if isinstance(said, Drip):
            head = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n" + (
                b"" if said.headers_first else b"\r\n"
            )
            connection.sendall(head)
            while not self._ended.wait(said.every):
                connection.sendall(b"x")
            return False
        if said.delay:
            time.sleep(said.delay)
        body = said.body.encode() if isinstance(said.body, str) else said.body
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            **said.headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        connection.sendall(f"HTTP/1.1 {said.status} X\r\n{lines}\r\n".encode() + body)
        return True
