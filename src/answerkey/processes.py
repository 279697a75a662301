"""Work spread over processes of our own, which exchange lines of JSON with this one.

Not `multiprocessing`: it would run the user's script again in each process, or copy threads that are at work in a model.
A process ends with its pipe, so none outlives a run that is killed, and Ctrl-C reaches only the run itself.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from queue import SimpleQueue
from typing import IO, Any, TypeVar, cast

from answerkey.errors import (
    EXIT_BUG,
    EXIT_INCOMPLETE,
    EXIT_INPUT,
    AnswerkeyError,
    IncompleteError,
    SettingsError,
)
from answerkey.files import json_line, read_json

T = TypeVar("T")
Work = Callable[[bytes], object]
_FAILED = b"!"  # begins a reply that is an error
_SERVE = (
    "import sys; sys.path[:] = {path!r}; from answerkey.processes import serve; serve({entry!r})"
)
# One thread per process: several would only slow each other down.
_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def available_cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def jobs_for(asked: int | None, pieces: int, *, enough: bool) -> int:
    """How many processes do so many pieces of work: those asked for, or one per core where there is `enough` to do."""
    return max(1, min(asked or (available_cores() if enough else 1), pieces))


def threads_to_use() -> int:
    """One per core, or as many as OMP_NUM_THREADS allows: one held to fewer must not start more threads than it has."""
    held = os.environ.get("OMP_NUM_THREADS", "")
    if held.isdecimal() and int(held):
        return min(available_cores(), int(held))
    return available_cores()


class Processes:
    """`count` processes. In each, `entry`, as in `module:function`, is called with `setup` and returns the work to do.

    The work takes a line of JSON and returns a JSON value, which arrives as a line. Errors of ours are raised as they were
    in the process.
    """

    def __init__(self, count: int, entry: str, setup: Any) -> None:
        self.count = count
        self._asked: SimpleQueue[tuple[object, Future[bytes]] | None] = SimpleQueue()
        program = _SERVE.format(path=[path or os.getcwd() for path in sys.path], entry=entry)
        for _ in range(count):
            process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **_THREADS},
                process_group=0,
            )
            threading.Thread(
                target=self._drive, args=(process, setup), daemon=True, name="answerkey-process"
            ).start()

    def begin(self, item: object) -> Future[bytes]:
        done: Future[bytes] = Future()
        self._asked.put((item, done))
        return done

    def map(self, items: Iterable[tuple[T, object]]) -> Iterator[tuple[T, bytes]]:
        """Each item with the result for its argument, in order, as soon as it is there; a few are begun ahead."""
        pending: deque[tuple[T, Future[bytes]]] = deque()
        for item, argument in items:
            pending.append((item, self.begin(argument)))
            while pending and (pending[0][1].done() or len(pending) > self.count + 1):
                first, done = pending.popleft()
                yield first, done.result()
        for item, done in pending:
            yield item, done.result()

    def close(self) -> None:
        for _ in range(self.count):
            self._asked.put(None)

    def _drive(self, process: subprocess.Popen[bytes], setup: Any) -> None:
        """The thread of one process: one item at a time, until there are no more."""
        to = cast("IO[bytes]", process.stdin)
        back = cast("IO[bytes]", process.stdout)
        setup_line = json_line(setup) + b"\n"  # sent once, before the first item
        while (asked := self._asked.get()) is not None:
            item, done = asked
            try:
                to.write(setup_line + json_line(item) + b"\n")
                to.flush()
                setup_line = b""
                reply = back.readline()
                if not reply.endswith(b"\n"):
                    raise _lost(process)
                if reply.startswith(_FAILED):
                    code, reason = read_json(reply.removeprefix(_FAILED))
                    kinds = {EXIT_INPUT: SettingsError, EXIT_INCOMPLETE: IncompleteError}
                    raise kinds.get(code, RuntimeError)(reason)
                done.set_result(reply)
            except OSError:
                done.set_exception(_lost(process))
            except BaseException as error:
                done.set_exception(error)
        with suppress(OSError):
            to.close()
        process.wait()
        back.close()


def _lost(process: subprocess.Popen[bytes]) -> IncompleteError:
    return IncompleteError(
        f"a scoring process ended unexpectedly (code {process.wait()}); check the memory of this machine, "
        "then continue with --resume, or with --jobs 1"
    )


def serve(entry: str) -> None:
    """The main program of a process: reads arguments, writes results. What the work prints goes to standard error."""
    gc.set_threshold(50_000)  # as the command line does
    asked = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    module, _, name = entry.partition(":")
    work: list[Work] = []
    setup = asked.readline()
    for line in asked:
        try:
            work = work or [getattr(import_module(module), name)(read_json(setup))]
            reply = json_line(work[0](line))
        except AnswerkeyError as error:
            reply = _FAILED + json_line([error.exit_code, str(error)])
        except BaseException:
            reply = _FAILED + json_line([EXIT_BUG, traceback.format_exc()])
        try:
            answers.write(reply + b"\n")
            answers.flush()
        except BrokenPipeError:
            os._exit(1)  # the run has ended
