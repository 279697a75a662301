"""One limiter for all calls of a run: how many at once, when to wait, when to give up.

A refusal (429) pauses every call, not only the refused one, and halves how many go at once; each success
lets one more through again. Refusals of calls that were already under way belong to the same wave and
count once, so the waiting time doubles by the wave. After too many waves, or too many failed calls in a row,
the limiter stops: every call, waiting or new, then ends with the same `EndpointError`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from answerkey.errors import EndpointError
from answerkey.net import back_off

log = logging.getLogger("answerkey.llm")


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """Retry limits, in seconds and counts. The shortest wait grows even when the endpoint asks for less."""

    first_wait: float = 0.5
    longest_wait: float = 16.0
    longest_wait_when_asked: float = 4.0
    longest_retry_after: float = 300.0
    refusals: int = 12
    failed_calls: int = 25
    minute: float = 60.0  # shorter in tests
    between_notices: float = 5.0

    def wait(self, tries: int) -> float:
        """Back-off with jitter before the next of `tries` + 1 tries: doubling, a quarter up or down."""
        return back_off(tries, self.first_wait, self.longest_wait)


class Limiter:
    def __init__(
        self, concurrency: int, requests_per_minute: int = 0, patience: RetryLimits | None = None
    ) -> None:
        self.patience = patience or RetryLimits()
        self._most = concurrency
        self._allowed = concurrency
        self._per_minute = requests_per_minute
        self._sent: deque[float] = deque()
        self._in_use = 0
        self._wave = 0
        self._refused_waves = 0
        self._failed_calls = 0
        self._paused_until = 0.0
        self._last_notice = -1e9
        self._stopped = ""
        self._changed = threading.Condition()

    @contextmanager
    def slot(self) -> Generator[int]:
        """Wait for a turn; what is given back names the wave, for `note_refusal`."""
        with self._changed:
            while True:
                self._check()
                now = time.monotonic()
                wait = self._time_to_wait(now)
                if wait == 0:
                    break
                self._changed.wait(wait)
            self._in_use += 1
            self._sent.append(now)
            wave = self._wave
        try:
            yield wave
        finally:
            with self._changed:
                self._in_use -= 1
                self._changed.notify()

    def _time_to_wait(self, now: float) -> float | None:
        """Seconds until a call may go, 0 for now, None for until another ends."""
        if self._paused_until > now:
            return self._paused_until - now
        if self._in_use >= self._allowed:
            return None
        while self._sent and (not self._per_minute or self._sent[0] <= now - self.patience.minute):
            self._sent.popleft()
        if self._per_minute and len(self._sent) >= self._per_minute:
            wait = self._sent[0] + self.patience.minute - now
            self._warn(f"requests_per_minute = {self._per_minute} reached: waiting {wait:.0f} s")
            return wait
        return 0

    def note_refusal(self, wave: int, retry_after: float | None) -> None:
        """The endpoint answered 429: pause all calls for as long as it asks, or with a growing wait when it does not."""
        with self._changed:
            if retry_after is not None and retry_after > self.patience.longest_retry_after:
                return self._stop(
                    f"the endpoint asks to wait {retry_after:.0f} s (429): resume later, or use another key"
                )
            wait = retry_after or 0.0
            if retry_after is None:
                own = self.patience.longest_wait
            else:
                own = self.patience.longest_wait_when_asked
            if wave == self._wave:
                self._wave += 1
                self._refused_waves += 1
                # Never below a quarter: a short burst of refusals must not make the rest of a run crawl.
                self._allowed = max(1, self._most // 4, self._allowed // 2)
                wait = max(wait, min(own, self.patience.wait(self._refused_waves)))
                if self._refused_waves > self.patience.refusals:
                    hint = "set requests_per_minute or a lower concurrency, and resume later"
                    return self._stop(
                        f"the endpoint kept refusing (429), {self._refused_waves} times in a row: {hint}"
                    )
            self._paused_until = max(self._paused_until, time.monotonic() + wait)
            self._warn(f"rate limit of the endpoint reached (429): waiting {wait:.1f} s")
        return None

    def note_success(self) -> None:
        with self._changed:
            self._refused_waves = self._failed_calls = 0
            if self._allowed < self._most:
                self._allowed += 1
                self._changed.notify_all()

    def call_failed(self, why: str) -> None:
        """A call failed after all its tries; too many of them in a row stop the run."""
        with self._changed:
            self._failed_calls += 1
            if self._failed_calls >= self.patience.failed_calls:
                self._stop(f"{self._failed_calls} calls in a row failed, the last with: {why}")

    def back_off(self, tries: int) -> None:
        """Sleep before another try; ends early, with the error, when the limiter is stopped."""
        until = time.monotonic() + self.patience.wait(tries)
        with self._changed:
            while (left := until - time.monotonic()) > 0:
                self._check()
                self._changed.wait(left)

    def stop(self, why: str) -> None:
        """No further call can succeed: all that wait are woken and end."""
        with self._changed:
            self._stop(why)

    def check(self) -> None:
        with self._changed:
            self._check()

    def _stop(self, why: str) -> None:
        self._stopped = self._stopped or why
        self._changed.notify_all()

    def _check(self) -> None:
        if self._stopped:
            raise EndpointError(self._stopped)

    def _warn(self, line: str) -> None:
        now = time.monotonic()
        if now - self._last_notice >= self.patience.between_notices:
            self._last_notice = now
            log.warning(line)
