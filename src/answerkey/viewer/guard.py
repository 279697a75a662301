"""Access to the viewer: the browser of this machine, or anyone with the token.

A page of another site must not reach the viewer through the reader's browser: checking the Host header stops DNS
rebinding, checking the Origin of a POST stops forged forms, and the policy of every page stops foreign scripts.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from answerkey.errors import SettingsError

COOKIE = "answerkey_token"
LEAST_TOKEN = 16  # characters; a shorter one could be guessed by trying
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    # A run's files may hold HTML of a bot: no browser shall guess that one of them is a page.
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # A run in progress changes, and the answers of a bot may be confidential.
    "Cache-Control": "no-store",
}


def _parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    address = _parse_address(host)
    if address is None:
        return host == "localhost"
    return address.is_loopback


@dataclass(frozen=True, slots=True)
class Rules:
    """`host` is the address the server listens on; beyond loopback a token is required."""

    host: str = "127.0.0.1"
    token: str = ""

    def __post_init__(self) -> None:
        if not is_loopback(self.host) and not self.token:
            raise SettingsError(
                f"--host {self.host} makes your runs visible to other machines: "
                "set a token in ANSWERKEY_VIEW_TOKEN "
                "(create one: python3 -c 'import secrets; print(secrets.token_urlsafe())')"
            )
        if self.token and len(self.token) < LEAST_TOKEN:
            raise SettingsError(
                f"the token has {len(self.token)} characters; at least {LEAST_TOKEN} are required"
            )

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server.

        An address cannot be rebound by DNS; a foreign name could.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if is_loopback(name) or name == self.host.lower():
            return True
        return not is_loopback(self.host) and (
            _parse_address(name) is not None or name == socket.gethostname().lower()
        )


class Guard:
    """Wraps the whole application: refuses foreign requests, and adds the headers of every reply."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self.app = app
        self.rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _add_headers(message["headers"])
            await send(message)

        reply = self._refuse(Request(scope)) or self.app
        await reply(scope, receive, send_with_headers)

    def _refuse(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if not self.rules.knows(host):
            return PlainTextResponse(f"This server does not answer for {host!r}.", 421)
        if request.method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Only GET and POST.", 405)
        # A browser sends the origin with every POST; a forged form of another site has its own.
        origin = request.headers.get("origin", "").partition("://")[2]
        if request.method == "POST" and origin != host:
            return PlainTextResponse("Forms are only accepted from a page of this viewer.", 403)
        if self.rules.token:
            return self._check_token(request)
        return None

    def _check_token(self, request: Request) -> Response | None:
        """None for a reader with the cookie.

        A token in the address is exchanged for the cookie, and removed from the address.
        """
        if self._is_token(request.cookies.get(COOKIE, "")):
            return None
        if request.method == "GET" and self._is_token(request.query_params.get("token", "")):
            rest = [(k, v) for k, v in request.query_params.multi_items() if k != "token"]
            query = f"?{urlencode(rest)}" if rest else ""
            reply = RedirectResponse(f"{request.url.path}{query}", 303)
            reply.set_cookie(COOKIE, self.rules.token, httponly=True, samesite="strict")
            return reply
        return PlainTextResponse(
            "A token is required: open the address that `answerkey view` printed.", 401
        )

    def _is_token(self, text: str) -> bool:
        # Compared in constant time: the time of a plain comparison tells how much was right.
        return secrets.compare_digest(text.encode("utf-8", "replace"), self.rules.token.encode())


def _add_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The usual headers, unless the reply has its own."""
    present = {name.lower() for name, _ in headers}
    usual = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
    return [*headers, *(header for header in usual if header[0] not in present)]
