"""What went wrong with one HTTP exchange, and so what to do: stop, wait, try again, or ask differently."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any


class Failure(Exception):
    """`raw` is the body that came, if any."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw


class Fatal(Failure):
    """No call can succeed: a wrong key, address or model, or no quota left."""


class Throttled(Failure):
    """Too many requests; `retry_after` in seconds where the endpoint says so."""

    def __init__(self, message: str, raw: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, raw)
        self.retry_after = retry_after


class Transient(Failure):
    """May work next time. `refused_form`: or the endpoint cannot do the form of output asked for."""

    def __init__(self, message: str, raw: str = "", refused_form: bool = False) -> None:
        super().__init__(message, raw)
        self.refused_form = refused_form


class TimedOut(Transient):
    """No full reply before the deadline."""


class Rejected(Failure):
    """This request is not accepted as it is: another form of it may be."""


_ADVICE = {
    401: "the key is missing or wrong: check the variable named by api_key_env",
    402: "no credit left",
    403: "the key may not use this model or address",
    404: "no such model or path: check model and base_url (it usually ends in /v1)",
}
_NO_QUOTA = re.compile(
    r"insufficient_quota|quota_exceeded|billing_hard_limit|billing_not_active|insufficient (?:credit|balance|funds)"
    r"|exceeded your current quota|credit balance is too low",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context.{0,12}(?:length|size|window)|maximum context|too many tokens|exceed_context", re.IGNORECASE
)


def raise_for(status: int, headers: Mapping[str, str], body: str) -> None:
    """Nothing for a 200; otherwise the failure that fits."""
    if status == 200:
        return
    said = told(body)
    message = f"HTTP {status}{f': {said}' if said else ''}"
    if status in _ADVICE:
        raise Fatal(f"{message}; {_ADVICE[status]}", body)
    if 300 <= status < 400:
        raise Fatal(
            f"HTTP {status}: base_url redirects to {headers.get('location', 'elsewhere')}; give that one",
            body,
        )
    wait = retry_after(headers)
    if status == 429 and _NO_QUOTA.search(body):
        raise Fatal(f"{message}; the quota is used up", body)
    if status == 429 or (status == 503 and wait is not None):
        raise Throttled(message, body, wait)
    if status in {408, 409, 425} or status >= 500:
        raise Transient(message, body, refused_form=status in {500, 501})
    raise Rejected(message, body)


def too_long(rejected: Rejected) -> bool:
    """Whether the request was rejected for its length, so that no other form of it will do."""
    return bool(_TOO_LONG.search(rejected.raw))


def told(body: str) -> str:
    """The endpoint's own message, on one short line."""
    try:
        given: Any = json.loads(body)
    except (ValueError, RecursionError):
        text = "" if "<html" in body.lower() or "<!doctype" in body.lower() else body
        return " ".join(text.split())[:200] or ("an HTML page" if body.strip() else "")
    while isinstance(given, dict):
        given = next((given[key] for key in ("error", "message", "detail", "code") if given.get(key)), "")
    return " ".join(str(given).split())[:200]


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait, from `Retry-After` as seconds or as a date; None where it is absent or makes no sense."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        written = headers["retry-after"].strip()
        if re.fullmatch(r"\d+(\.\d+)?", written):
            return float(written)
        date = parsedate_to_datetime(written)
    except (KeyError, ValueError, TypeError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
