"""L1: Ctrl-C while modules load ends with exit code 130 and one line, without a traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Sends SIGINT to itself, or raises what Python 3.11 makes of it, when a module is looked for.
_PROGRAM = """
import os, signal, sys

class Descriptor:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != {module!r}:
            return None
        if {wrapped}:
            type("Owner", (), {{"field": Descriptor()}})
        os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
if {usual}:
    # A test run that was started in the background ignores SIGINT, and so would this process.
    signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["answerkey", "metrics"]
from answerkey.cli.entry import start
start()
"""


@pytest.mark.parametrize(
    ("module", "wrapped"),
    [
        ("click", False),
        ("answerkey.cli.help", False),
        ("answerkey.cli.catalogue", False),
        ("answerkey.cli.catalogue", True),
    ],
)
def test_an_interrupt_while_modules_load(module: str, wrapped: bool) -> None:
    program = _PROGRAM.format(module=module, wrapped=wrapped, usual=True)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 130, ended.stderr
    assert ended.stderr.lstrip() == "INTERRUPTED: stopped before anything was finished\n"
    assert ended.stdout == ""


def test_an_ignored_interrupt_stays_ignored() -> None:
    program = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + _PROGRAM.format(
        module="click", wrapped=False, usual=False
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
