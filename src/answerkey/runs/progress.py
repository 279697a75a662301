"""Progress of a run: a bar in terminals and notebooks, a line every ten seconds elsewhere."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from typing import Any, TextIO

from answerkey.runs.control import GroupCounts, Watch
from answerkey.text import duration, format_count, printable
from answerkey.types import Outcome, Status

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BETWEEN_REDRAWS = 0.5
_UNDECIDED = {Status.ERROR, Status.UNSCORED, Status.SCORED}
_BAR_FORMAT = (
    "{percentage:3.0f}%|{bar:10}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_fmt}] {desc}"
)

Clock = Callable[[], float]


def make_progress(
    quiet: bool = False, stream: TextIO | None = None, *, only_interactive: bool = False
) -> Watch:
    """The progress display for a stream, by default standard error; standard output is for data.

    With `only_interactive` there is a bar in terminals and notebooks, and nothing elsewhere.
    """
    # Looked up at the call: pytest and notebooks replace the stream.
    out = sys.stderr if stream is None else stream
    if quiet:
        return Quiet(out)
    in_notebook = only_interactive and "ipykernel" in sys.modules
    if in_notebook or _can_redraw(out):
        return ProgressBar(ProgressFigures(), out)
    if only_interactive:
        return Quiet(out)
    return Lines(ProgressFigures(), out)


def _can_redraw(stream: TextIO) -> bool:
    # A dumb terminal shows control characters instead of moving the cursor.
    return stream.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}


class ProgressFigures:
    """The figures so far.

    Cases done before a resume count towards the total, but not towards the rate.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self.total = 0
        self.done = 0
        self.done_before = 0
        self.decided = 0
        self.passed = 0
        self.errors = 0
        self.unscored = 0
        self.scored = 0
        self.score_sum = 0.0
        self.slowest: tuple[float, str] = (0.0, "")
        self.began = clock()

    def start(self, total: int, done: int) -> None:
        self.total = total
        self.done = done
        self.done_before = done
        self.began = self._clock()

    def add(self, outcome: Outcome) -> None:
        verdict = outcome.verdict
        self.done += 1
        self.errors += verdict.status == Status.ERROR
        self.unscored += verdict.status == Status.UNSCORED
        self.decided += verdict.status not in _UNDECIDED
        self.passed += verdict.passed
        if verdict.score is not None:
            self.scored += 1
            self.score_sum += verdict.score
        if outcome.response.seconds is not None:
            self.slowest = max(self.slowest, (outcome.response.seconds, outcome.case.id))

    def add_group(self, group: GroupCounts) -> None:
        """Add the results of many cases that are counted as done."""
        self.errors += group.errors
        self.decided += group.scored
        self.passed += group.passed
        self.scored += group.scored
        self.score_sum += group.score_sum

    @property
    def rate(self) -> float:
        """Cases per second since the start of this process."""
        elapsed = self._clock() - self.began
        if elapsed <= 0:
            # The clock may not have moved since the start.
            return 0.0
        return (self.done - self.done_before) / elapsed

    def pace(self) -> str:
        if not self.rate:
            return "-/s"
        if self.rate >= 1:
            rate = f"{self.rate:.1f}/s"
        else:
            rate = f"{self.rate * 60:.1f}/min"
        seconds_left = max(self.total - self.done, 0) / self.rate
        if not seconds_left:
            return rate
        return f"{rate}, {duration(seconds_left)} left"

    def quality(self) -> str:
        """Each figure with its denominator: `92 % of 120 passed, mean 0.81 over 118, 9 failed`."""
        parts: list[str] = []
        if self.decided:
            share = 100 * self.passed / self.decided
            parts.append(f"{share:.0f} % of {self.decided} passed")
        if self.scored:
            parts.append(f"mean {self.score_sum / self.scored:.3g} over {self.scored}")
        if self.decided:
            parts.append(f"{self.decided - self.passed} failed")
        if self.unscored:
            parts.append(f"{self.unscored} unscored")
        if self.errors:
            parts.append(format_count(self.errors, "error"))
        seconds, case_id = self.slowest
        if case_id:
            # An id from the user's file may hold control characters, or be a whole question.
            parts.append(f"slowest {duration(seconds)} ({printable(case_id)[:40]})")
        return ", ".join(parts)


class Quiet(Watch):
    """Notes only."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def note(self, text: str) -> None:
        print(printable(text), file=self._stream, flush=True)


class Display(Quiet):
    """Shows the figures so far; a subclass draws them in `_begin` and `_update`."""

    def __init__(
        self, figures: ProgressFigures, stream: TextIO, clock: Clock = time.monotonic
    ) -> None:
        super().__init__(stream)
        self._figures = figures
        self._clock = clock
        self._has_begun = False

    def start(self, total: int, done: int = 0) -> None:
        self._figures.start(total, done)
        self._has_begun = True
        self._begin()

    def outcome(self, outcome: Outcome) -> None:
        self._figures.add(outcome)
        self._update()

    def group(self, group: GroupCounts) -> None:
        self._figures.done += group.cases
        self._figures.add_group(group)
        self._update()

    def earlier(self, group: GroupCounts) -> None:
        self._figures.add_group(group)

    def _begin(self) -> None: ...
    def _update(self) -> None: ...


class Lines(Display):
    """A line every ten seconds and one at the end, so that a CI log stays short."""

    _last_time = 0.0
    _last_done = -1

    def _begin(self) -> None:
        self._last_time = self._clock()
        cases = format_count(self._figures.total, "case")
        done = self._figures.done
        self.note(f"{cases}, {done} already done" if done else cases)

    def _update(self) -> None:
        if self._clock() - self._last_time >= _SECONDS_BETWEEN_LINES:
            self._write_figures()

    def finish(self) -> None:
        # The last line would repeat itself if nothing was done since.
        if self._has_begun and self._figures.done != self._last_done:
            self._write_figures()

    def _write_figures(self) -> None:
        figures = self._figures
        self._last_time = self._clock()
        self._last_done = figures.done
        count = f"{figures.done}/{figures.total}"
        if figures.total:
            count += f" ({100 * figures.done / figures.total:.0f} %)"
        parts = [count, figures.pace(), figures.quality()]
        self.note(", ".join(part for part in parts if part))


class ProgressBar(Display):
    """A bar that is redrawn in place. Whatever is printed meanwhile appears above it."""

    def _begin(self) -> None:
        with warnings.catch_warnings():
            # In a notebook without ipywidgets tqdm warns and draws a bar of text, which will do.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm

            self._bar: Any = tqdm(
                total=self._figures.total,
                initial=self._figures.done,
                file=self._stream,
                unit="case",
                bar_format=_BAR_FORMAT,
                dynamic_ncols=True,
            )
        self._redirection = self._redirect_prints()
        self._is_over = threading.Event()
        # tqdm draws when a case ends; with a slow bot the elapsed time must move meanwhile.
        threading.Thread(target=self._keep_redrawing, name="progress", daemon=True).start()

    def _keep_redrawing(self) -> None:
        while not self._is_over.wait(_SECONDS_BETWEEN_REDRAWS):
            self._bar.refresh()

    def _redirect_prints(self) -> ExitStack:
        """A bot may print while it answers."""
        stack = ExitStack()
        if sys.stdout.isatty():
            stack.enter_context(redirect_stdout(_LinesAbove(self._bar, sys.stdout)))
        if sys.stderr.isatty():
            stack.enter_context(redirect_stderr(_LinesAbove(self._bar, sys.stderr)))
        return stack

    def note(self, text: str) -> None:
        # The bar does not exist yet, or is closed.
        if not self._has_begun:
            super().note(text)
            return
        _LinesAbove(self._bar, self._stream).write(f"{printable(text)}\n")

    def _update(self) -> None:
        self._bar.set_description_str(self._figures.quality(), refresh=False)
        # `update` takes a difference, the figures are totals.
        self._bar.update(self._figures.done - self._bar.n)

    def finish(self) -> None:
        if not self._has_begun:
            return
        self._has_begun = False
        self._is_over.set()
        # Before the bar is closed: what is printed later must not redraw it.
        self._redirection.close()
        self._bar.refresh()
        self._bar.close()


class _LinesAbove(io.TextIOBase):
    """A terminal's stream while the bar is shown: each whole line is written above it.

    `tqdm.write` does not clear the bar for a stream that somebody has redirected.
    """

    def __init__(self, bar: Any, stream: TextIO) -> None:
        self._bar = bar
        self._stream = stream
        self._line = ""

    def write(self, text: str) -> int:
        lines, newline, self._line = (self._line + text).rpartition("\n")
        if newline:
            with self._bar.get_lock():
                self._bar.clear(nolock=True)
                self._stream.write(lines + newline)
                self._stream.flush()
                self._bar.refresh(nolock=True)
        return len(text)

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
