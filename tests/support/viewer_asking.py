"""Ask the viewer's application directly, without a socket, or look at a page in a browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio

Watch = Callable[..., Any]  # the fixture `watch`


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        def refuse(word: str) -> Any:
            raise AssertionError(f"{word} is no JSON")

        return json.loads(self.body, parse_constant=refuse)


def ask(
    app: Any,
    address: str,
    *,
    method: str = "GET",
    host: str = "127.0.0.1:8765",
    body: bytes = b"",
    **headers: str,
) -> Reply:
    """`headers` by name with underscores: `cookie=…`, `origin=…`."""
    path, _, query = address.partition("?")
    given = {"host": host, **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8765),
    }  # fmt: skip
    start: dict[str, Any] = {}
    parts: list[bytes] = []
    sent = False
    ended = anyio.Event()

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if sent:
            await ended.wait()
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        else:
            parts.append(message.get("body", b""))
            if not message.get("more_body"):
                ended.set()

    async def run() -> None:
        await app(scope, receive, send)

    anyio.run(run)
    return Reply(
        start["status"],
        {name.decode(): value.decode() for name, value in start["headers"]},
        b"".join(parts),
    )


def charts_are_drawn(page: Any) -> None:
    """Parts of the page that hold a chart are opened; the policy of a report allows no polling inside the page."""
    page.evaluate(
        "document.querySelectorAll('details').forEach(part => { if (part.querySelector('.chart')) part.open = true })"
    )
    for figure in page.locator(".chart").all():
        figure.scroll_into_view_if_needed()
        figure.locator(".plot svg").wait_for()
