"""A bot on loopback for tests: answers JSON over HTTP, remembers what it was asked, and can be told to misbehave."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Bot:
    """`reply(body)` gives the JSON to send; or (status, content type, bytes) to send exactly that,
    with an address as fourth where it redirects."""

    def __init__(
        self, reply: Callable[[Any], Any] | None = None, delay: float = 0.0, port: int = 0
    ) -> None:
        self.reply = reply or (lambda body: {"answer": f"About {body['question']}"})
        self.delay = delay
        self.asked: Counter[str] = Counter()
        self.requests: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _handler(self))
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def took(self, request: dict[str, Any]) -> None:
        with self._lock:
            self.requests.append(request)
            if isinstance(request["body"], dict) and "question" in request["body"]:
                self.asked[request["body"]["question"]] += 1

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Bot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


def _handler(bot: Bot) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                body = json.loads(raw)
            except ValueError:
                body = raw.decode("utf-8", "replace")
            bot.took(
                {
                    "method": self.command,
                    "path": self.path,
                    "headers": dict(self.headers),
                    "body": body,
                }
            )
            time.sleep(bot.delay)
            reply = bot.reply(body if raw else self.path)
            if not (isinstance(reply, tuple) and len(reply) in (3, 4)):
                reply = (200, "application/json", json.dumps(reply).encode())
            status, kind, content, *where = reply
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            if status // 100 == 3:
                self.send_header("Location", *where or ["http://elsewhere.invalid/"])
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST

        def log_message(self, *_: object) -> None:
            pass

    return Handler
