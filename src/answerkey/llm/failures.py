"""The ways in which a call to an endpoint can fail, and which of them a reply is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from answerkey.coerce.values import is_mapping
from answerkey.net import retry_after

# Errors that every further call would get too, with the setting that causes them.
_ADVICE = {
    401: "the key is missing or wrong: check the variable named by api_key_env",
    402: "no credit left",
    403: "the key may not use this model or address",
    404: "no such model or path: check model and base_url (it usually ends in /v1)",
}
# OpenAI and others answer 429 for an empty account as for too many requests; waiting helps only with the second.
_NO_QUOTA = re.compile(
    r"insufficient_quota|quota_exceeded|billing_hard_limit|billing_not_active|insufficient (?:credit|balance|funds)"
    r"|exceeded your current quota|credit balance is too low",
    re.IGNORECASE,
)


class ExchangeFailure(Exception):
    """A failed exchange; its class says what to do, `raw` is the body that came, if any."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw


class Fatal(ExchangeFailure):
    """No call can succeed: a wrong key, address or model, or no quota left."""


class Throttled(ExchangeFailure):
    """Too many requests; `wait` in seconds where the endpoint asks for it."""

    def __init__(self, message: str, raw: str = "", wait: float | None = None) -> None:
        super().__init__(message, raw)
        self.wait = wait


class Transient(ExchangeFailure):
    """May work next time. `refused_form`: or the endpoint does not support the form of output asked for."""

    def __init__(self, message: str, raw: str = "", refused_form: bool = False) -> None:
        super().__init__(message, raw)
        self.refused_form = refused_form


class TimedOut(Transient):
    """No full reply before the deadline."""


class Rejected(ExchangeFailure):
    """This request is not accepted as it is: another form of it may be."""


def raise_for(status: int, headers: Mapping[str, str], body: str) -> None:
    """Raise the failure that fits the status; none for a 200."""
    if status == 200:
        return
    detail = endpoint_message(body)
    message = f"HTTP {status}{f': {detail}' if detail else ''}"
    if status in _ADVICE:
        raise Fatal(f"{message}; {_ADVICE[status]}", body)
    # A redirect is not followed: the key would be sent to another address.
    if 300 <= status < 400:
        where = " ".join(headers.get("location", "another address").split())[:200]
        raise Fatal(f"HTTP {status}: base_url redirects to {where}; use that address", body)
    wait = retry_after(headers)
    if status == 429 and _NO_QUOTA.search(body):
        raise Fatal(f"{message}; the quota is used up", body)
    # 503 with Retry-After is a rate limit under another name; without it, a server that is starting or down.
    if status == 429 or (status == 503 and wait is not None):
        raise Throttled(message, body, wait)
    if status in {408, 409, 425} or status >= 500:
        raise Transient(message, body, refused_form=status in {500, 501})
    raise Rejected(message, body)


def endpoint_message(body: str) -> str:
    """The endpoint's own message, on one short line."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        # The page of a proxy or of a wrong address: its text would fill the screen and say nothing.
        if "<html" in body.lower() or "<!doctype" in body.lower():
            text = ""
        else:
            text = body
        return " ".join(text.split())[:200] or ("an HTML page" if body.strip() else "")
    while is_mapping(value):
        value = next(
            (value[key] for key in ("error", "message", "detail", "code") if value.get(key)), ""
        )
    return " ".join(str(value).split())[:200]
