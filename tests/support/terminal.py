"""A command at a real pseudo-terminal, and what a person would see of it."""

from __future__ import annotations

import os
import pty
import re
import signal
import struct
import termios
from collections.abc import Callable
from fcntl import ioctl
from threading import Timer

LONGEST = 180.0  # seconds
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])")


def at_a_terminal(
    command: list[str], watch: Callable[[str, Callable[[int], None]], None] | None = None
) -> tuple[int, str]:
    """The exit code and all that was shown, 120 columns wide. `watch(shown so far, send_signal)` sees it grow."""
    child, master = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="120", LINES="40")
        os.environ.pop("NO_COLOR", None)
        os.execv(command[0], command)
    ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    shown = ""
    limit = Timer(
        LONGEST, os.kill, (child, signal.SIGKILL)
    )  # a test that waits for a message in vain must not hang
    limit.start()
    try:
        while piece := os.read(master, 65536):
            shown += piece.decode("utf-8", "replace")
            if watch:
                watch(shown, lambda number: os.kill(child, number))
    except OSError:  # how a pseudo-terminal says that the other end is gone
        pass
    os.close(master)
    limit.cancel()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown


def without_escapes(shown: str) -> str:
    return _ESCAPE.sub("", shown).replace("\r", "")
