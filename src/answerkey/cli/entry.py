"""The entry point of the program: Ctrl-C while the modules load ends with one line, too."""

import os
import signal
from types import FrameType

# Nothing else is imported up here: until the handler is set, Ctrl-C prints a traceback.


def start() -> None:
    """Load the command line, then run a command."""
    # A shell starts background jobs with SIGINT ignored; that stays as it is.
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_usual:
        signal.signal(signal.SIGINT, _stop)
    from answerkey.cli.main import main as run_command_line

    if is_usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command_line()


def _stop(number: int, frame: FrameType | None) -> None:
    # An exception would pass through half-loaded modules, which may turn it into another error.
    os.write(2, b"INTERRUPTED: stopped before anything was finished\n")
    os._exit(130)
