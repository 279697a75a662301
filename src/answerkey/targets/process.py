"""One child process spoken to line by line, with a deadline."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO

from answerkey.targets.respond import MAX_SIZE

_GRACE = 2.0
_PIPE = 16_384  # the least that a pipe holds


_running: set[subprocess.Popen[bytes]] = set()


def kill_all() -> None:
    """Every program that is still running, at once: for a process that is about to end without closing anything."""
    for child in tuple(_running):
        _signal(child, signal.SIGKILL)


class Died(Exception):
    """The program ended; the message has its exit code and its last words."""


class OutOfStep(Exception):
    """The program wrote a line that nobody asked for; the message is that line."""


class LineTooLong(Exception):
    """A line beyond the size limit."""


class Process:
    """Started at the first exchange, and again at the next one after it died or was killed."""

    def __init__(self, run: list[str], folder: Path) -> None:
        self._run, self._folder = run, folder
        self._child: subprocess.Popen[bytes] | None = None
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._last_words: deque[str] = deque(maxlen=3)

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """The line that the program answers with; TimeoutError, Died, OutOfStep or LineTooLong where it does not."""
        child = self._running()
        if not self._lines.empty() and (unasked := self._lines.get()):
            raise OutOfStep(unasked.decode("utf-8", "replace").strip()[:150])
        _write(child, line)
        try:
            reply = self._lines.get(timeout=seconds)
        except Empty:
            raise TimeoutError from None
        if not reply:
            raise Died(self._epitaph(child))
        if len(reply) > MAX_SIZE:
            raise LineTooLong
        return reply

    def kill(self) -> None:
        """Ends it at once, with every process it started."""
        child, self._child = self._child, None
        if child is not None:
            _signal(child, signal.SIGKILL)
            child.wait()
            _close_input(child)
            _running.discard(child)

    def stop(self) -> None:
        """Lets it end: end of input, then a polite signal, then kill."""
        child = self._child
        if child is not None:
            _close_input(child)
            try:
                child.wait(_GRACE)
            except subprocess.TimeoutExpired:
                _signal(child, signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(_GRACE)
        self.kill()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is not None:
            self.kill()  # it died between two questions, which is no question's fault
        if self._child is None:
            # Its own group: Ctrl-C at our terminal is ours to handle, and killing it takes its children along.
            self._child = subprocess.Popen(
                self._run, cwd=self._folder, start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            _running.add(self._child)
            self._lines, self._last_words = SimpleQueue(), deque(maxlen=3)
            for read, stream, into in (
                (_read_lines, self._child.stdout, self._lines),
                (_read_words, self._child.stderr, self._last_words),
            ):
                threading.Thread(target=read, args=(stream, into), daemon=True).start()
        return self._child

    def _epitaph(self, child: subprocess.Popen[bytes]) -> str:
        try:
            code = child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        ended = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        words = " | ".join(self._last_words)
        return f"{ended}: {words}" if words else ended


def _write(child: subprocess.Popen[bytes], line: bytes) -> None:
    """A program that reads nothing would block a write larger than its pipe for ever: such a write gets a thread."""

    def write() -> None:
        with contextlib.suppress(OSError, ValueError):  # a broken pipe is noticed at the reading end
            assert child.stdin is not None
            child.stdin.write(line)
            child.stdin.flush()

    if len(line) < _PIPE:
        write()
    else:
        threading.Thread(target=write, daemon=True).start()


def _read_lines(stream: IO[bytes], lines: SimpleQueue[bytes]) -> None:
    """Every line into the queue; an empty one is the end. Blank lines are nobody's reply."""
    with contextlib.suppress(OSError, ValueError), stream:
        while line := stream.readline(MAX_SIZE + 1):
            if line.strip():
                lines.put(line)
    lines.put(b"")


def _read_words(stream: IO[bytes], words: deque[str]) -> None:
    with contextlib.suppress(OSError, ValueError), stream:
        while line := stream.readline(4096):
            if text := line.decode("utf-8", "replace").strip():
                words.append(text[:200])


def _signal(child: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child.pid, number)


def _close_input(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError):
        assert child.stdin is not None
        child.stdin.close()
