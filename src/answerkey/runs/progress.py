"""Progress of a run: a bar in a terminal, a line every ten seconds elsewhere, nothing with --quiet."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from html import escape
from typing import Any, TextIO

from answerkey.runs.control import Watch
from answerkey.runs.tally import OutcomeTally
from answerkey.text import duration, format_count, printable
from answerkey.types import Outcome, Status

_LINE_EVERY = 10.0
_REDRAW_EVERY = 0.2
_NO_JUDGEMENT = {"ERROR", "UNSCORED", "SCORED"}

Clock = Callable[[], float]


def make_progress(
    quiet: bool = False, stream: TextIO | None = None, *, only_interactive: bool = False
) -> Watch:
    """The progress display for a stream, by default standard error; standard output is for data. With
    `only_interactive` there is a bar in terminals and notebooks, and nothing elsewhere."""
    out = stream if stream is not None else sys.stderr
    if quiet:
        return Quiet(out)
    if "ipykernel" in sys.modules and only_interactive:
        return NotebookBar(ProgressFigures(), sys.stderr)
    if out.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}:
        return Bar(ProgressFigures(), out)
    return Quiet(out) if only_interactive else Lines(ProgressFigures(), out)


class ProgressFigures:
    """The figures so far. Cases done before a resume count towards the total, but not towards the rate."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self.total = self.done = self.before = 0
        self.judged = self.passed = self.errors = self.scored = 0
        self.sum = 0.0
        self.slowest: tuple[float, str] = (0.0, "")
        self.began = clock()

    def start(self, total: int, done: int) -> None:
        self.total, self.done, self.before, self.began = total, done, done, self._clock()

    def add(self, outcome: Outcome) -> None:
        verdict = outcome.verdict
        self.done += 1
        self.errors += verdict.status == Status.ERROR
        self.judged += verdict.status not in _NO_JUDGEMENT
        self.passed += verdict.passed
        if verdict.score is not None:
            self.scored += 1
            self.sum += verdict.score
        if outcome.response.seconds is not None:
            self.slowest = max(self.slowest, (outcome.response.seconds, outcome.case.id))

    def add_group(self, group: OutcomeTally) -> None:
        """Add the results of many cases that are counted as done."""
        self.errors += group.error_count
        self.judged += group.judged
        self.passed += group.passed
        self.scored += group.overall.count
        self.sum += (group.overall.mean or 0.0) * group.overall.count

    @property
    def rate(self) -> float:
        """Cases per second since the start of this process."""
        elapsed = self._clock() - self.began
        return (self.done - self.before) / elapsed if elapsed > 0 else 0.0

    def pace(self) -> str:
        if not self.rate:
            return "-/s"
        left = max(self.total - self.done, 0) / self.rate
        rate = f"{self.rate:.1f}/s" if self.rate >= 1 else f"{self.rate * 60:.1f}/min"
        return f"{rate}, {duration(left)} left" if left else rate

    def quality(self) -> str:
        """Each figure with its denominator: `92 % of 120 passed, mean 0.81 over 118, 9 failed, 2 errors, slowest 4.2 s`."""
        parts: list[str] = []
        if self.judged:
            parts.append(
                f"{self.passed / self.judged:.0%} of {self.judged} passed".replace("%", " %")
            )
        if self.scored:
            parts.append(f"mean {self.sum / self.scored:.3g} over {self.scored}")
        if self.judged:
            parts.append(f"{self.judged - self.passed} failed")
        if self.errors:
            parts.append(format_count(self.errors, "error"))
        if self.slowest[1]:
            parts.append(f"slowest {duration(self.slowest[0])} ({printable(self.slowest[1])[:40]})")
        return ", ".join(parts)


class Quiet(Watch):
    """Notes only."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def note(self, text: str) -> None:
        print(printable(text), file=self._stream, flush=True)


class Display(Quiet):
    """What shows the figures so far; `_begin` and `_changed` show them."""

    def __init__(
        self, figures: ProgressFigures, stream: TextIO, clock: Clock = time.monotonic
    ) -> None:
        super().__init__(stream)
        self._figures, self._clock, self._last, self._begun = figures, clock, 0.0, False

    def start(self, total: int, done: int = 0) -> None:
        self._figures.start(total, done)
        self._begun = True
        self._begin()

    def outcome(self, outcome: Outcome) -> None:
        self._figures.add(outcome)
        self._changed()

    def group(self, group: OutcomeTally) -> None:
        self._figures.done += group.count
        self._figures.add_group(group)
        self._changed()

    def earlier(self, group: OutcomeTally) -> None:
        self._figures.add_group(group)

    def _begin(self) -> None: ...
    def _changed(self) -> None: ...


class Lines(Display):
    """A line every ten seconds and one at the end, so that a CI log stays short."""

    _written = -1

    def _begin(self) -> None:
        total, done = self._figures.total, self._figures.done
        self._last = self._clock()
        self.note(format_count(total, "case") + (f", {done} already done" if done else ""))

    def _changed(self) -> None:
        if self._clock() - self._last >= _LINE_EVERY:
            self._write_figures()

    def finish(self) -> None:
        if self._begun and self._figures.done != self._written:
            self._write_figures()

    def _write_figures(self) -> None:
        figures = self._figures
        self._last, self._written = self._clock(), figures.done
        share = f" ({figures.done / figures.total:.0%})".replace("%", " %") if figures.total else ""
        parts = [f"{figures.done}/{figures.total}{share}", figures.pace(), figures.quality()]
        self.note(", ".join(part for part in parts if part))


class Bar(Display):
    """Two rows that are redrawn in place: the bar with its pace, and the figures so far. What is printed meanwhile,
    also by the bot, appears above them."""

    def __init__(self, figures: ProgressFigures, stream: TextIO) -> None:
        super().__init__(figures, stream)
        self._lock, self._over = threading.RLock(), threading.Event()
        self._wrapped: dict[str, _AboveBar] = {}
        self._rows = 0  # on the screen now

    def _begin(self) -> None:
        for name in ("stdout", "stderr"):
            if (stream := getattr(sys, name)).isatty():
                self._wrapped[name] = _AboveBar(self, stream)
                setattr(sys, name, self._wrapped[name])
        self._stream.write("\x1b[?25l")
        self._draw()

        def redraw() -> None:
            while not self._over.wait(_REDRAW_EVERY):
                self._draw()

        threading.Thread(target=redraw, name="progress", daemon=True).start()

    def note(self, text: str) -> None:
        self.write_above(self._stream, f"{printable(text)}\n")

    def write_above(self, stream: TextIO, text: str) -> None:
        with self._lock:
            self._stream.write("\x1b[1A\x1b[2K" * self._rows)
            self._stream.flush()
            self._rows = 0
            stream.write(text)
            stream.flush()
            if not self._over.is_set():
                self._draw()

    def finish(self) -> None:
        if self._over.is_set() or not self._begun:
            return
        with self._lock:
            self._over.set()
            self._draw()
            self._stream.write("\x1b[?25h")
            self._stream.flush()
        for name, wrapped in self._wrapped.items():
            stream = wrapped.finish()
            if getattr(sys, name) is wrapped:  # else somebody put another in its place meanwhile
                setattr(sys, name, stream)

    def _draw(self) -> None:
        figures = self._figures
        with self._lock:
            filled = round(30 * min(figures.done / max(figures.total, 1), 1))
            width = shutil.get_terminal_size().columns
            bar = f"{'━' * filled}{'╌' * (30 - filled)} {figures.done}/{figures.total} {figures.pace()}"
            rows = [bar, figures.quality()]
            shown = "".join(
                f"\r\x1b[2K{row if len(row) < width else row[: width - 2] + '…'}\n" for row in rows
            )
            self._stream.write("\x1b[1A" * self._rows + shown)
            self._stream.flush()
            self._rows = len(rows)


class _AboveBar:
    """Standard output or error while the bar is shown: whole lines are written above it."""

    def __init__(self, bar: Bar, stream: TextIO) -> None:
        self._bar, self._stream, self._begun = bar, stream, ""

    def write(self, text: str) -> int:
        lines, newline, self._begun = (self._begun + text).rpartition("\n")
        if newline:
            self._bar.write_above(self._stream, lines + newline)
        return len(text)

    def flush(self) -> None:
        """A line that was begun is written when it ends, or when the bar does."""

    def finish(self) -> TextIO:
        self._stream.write(self._begun)
        return self._stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class NotebookBar(Display):
    """One line under the cell with a bar, the pace and the figures so far, updated in place."""

    def _begin(self) -> None:
        from IPython.display import HTML, display  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

        self._html = HTML
        self._shown: Any = display(self._line(), display_id=True)

    def _changed(self) -> None:
        if self._clock() - self._last >= _REDRAW_EVERY:
            self._last = self._clock()
            self._shown.update(self._line())

    def finish(self) -> None:
        if self._begun:
            self._shown.update(self._line())

    def _line(self) -> Any:
        figures = self._figures
        text = ", ".join(part for part in (figures.pace(), figures.quality()) if part)
        bar = f'<progress max="{max(figures.total, 1)}" value="{figures.done}"></progress>'
        return self._html(f"{bar} {figures.done}/{figures.total}, {escape(text)}")
