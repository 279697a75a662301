"""A program as a target: one JSON line in, one JSON line out, over its pipes; started again when it dies."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import IO

from answerkey.coerce.values import is_mapping
from answerkey.config.declare import read_table, toml_text
from answerkey.config.target_tables import CommandTable
from answerkey.errors import SettingsError
from answerkey.targets.fields import Fields, history_turns, read_fields
from answerkey.targets.respond import MAX_SIZE, FailedExchange, content_error, infrastructure_error
from answerkey.types import Question, Response
from answerkey.user_code import environment_secrets

_GRACE = 2.0
_PIPE = 16_384  # the least that a pipe holds
_running: set[subprocess.Popen[bytes]] = set()


class CommandTarget:
    """Asks one of `processes` copies of the program; a question waits for a free one, and that wait is not timed."""

    def __init__(
        self, run: list[str], folder: Path, processes: int, timeout: float, fields: Fields
    ) -> None:
        self._timeout, self._fields = timeout, fields
        self._all = [Process(run, folder) for _ in range(processes)]
        self._free: SimpleQueue[Process] = SimpleQueue()
        for process in self._all:
            self._free.put(process)

    def ask(self, question: Question) -> Response:
        sent = {"id": question.id, "question": question.text, "history": history_turns(question)}
        process = self._free.get()
        try:
            start = perf_counter()
            response = self._exchange(
                process, json.dumps(sent, ensure_ascii=True).encode() + b"\n", question.id
            )
            return replace(response, seconds=perf_counter() - start)
        finally:
            self._free.put(process)

    def close(self) -> None:
        for process in self._all:
            process.stop()

    def _exchange(self, process: Process, line: bytes, question_id: str) -> Response:
        try:
            given = process.exchange(line, self._timeout)
            try:
                reply: object = json.loads(given.decode("utf-8"))
            except UnicodeDecodeError as error:
                raise FailedExchange(
                    content_error("the reply is not valid UTF-8", str(error))
                ) from None
            except (ValueError, RecursionError):
                detail = f'"{_start(given)}"; print anything else to standard error'
                raise FailedExchange(content_error("the reply is not JSON", detail)) from None
            if is_mapping(reply):
                if reply.get("id") not in (None, question_id):
                    detail = f"id {reply['id']!r}, expected {question_id!r}"
                    raise FailedExchange(content_error("a reply to another question", detail))
                reply = {key: value for key, value in reply.items() if key != "id"}
        except FailedExchange as failed:
            process.kill()  # a late line would be taken for the answer to the next question
            return failed.response
        return self._fields.read(reply)


def _start(line: bytes) -> str:
    return " ".join(line.decode("utf-8", "replace").split())[:150]


def make_command_target(table: Mapping[str, object], folder: Path, timeout: float) -> CommandTarget:
    """A path in the first word of the command line is relative to the suite's folder."""
    settings = read_table(CommandTable, table, "[target]")
    given = settings.run
    try:
        run = shlex.split(given) if isinstance(given, str) else given
    except ValueError as error:
        raise SettingsError(f"[target] run = {toml_text(given)}: {str(error).lower()}") from None
    if not run or not run[0]:
        raise SettingsError(
            f'[target] run = {toml_text(given)}: expected a command, such as ["./bot", "--fast"]'
        )
    name = str((folder / run[0]).resolve()) if "/" in run[0] else run[0]
    found = shutil.which(name)
    if found is None:
        hint = "not executable: chmod +x it" if Path(name).is_file() else "no such program"
        raise SettingsError(f'[target] run: "{run[0]}": {hint} ({name})')
    return CommandTarget(
        [found, *run[1:]], folder, settings.processes, timeout, read_fields(settings)
    )


def kill_all() -> None:
    """Kill every program that is still running: for a process that exits without closing anything."""
    for child in tuple(_running):
        _signal(child, signal.SIGKILL)


class Process:
    """Started at the first exchange, and again at the next one after it died or was killed."""

    def __init__(self, run: list[str], folder: Path) -> None:
        self._run, self._folder = run, folder
        self._child: subprocess.Popen[bytes] | None = None
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._last_lines: deque[str] = deque(maxlen=3)
        self._errors = threading.Thread()

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """The line that the program answers with; FailedExchange where there is none."""
        try:
            child = self._running()
        except OSError as error:
            raise FailedExchange(infrastructure_error("the program ended", str(error))) from None
        if not self._lines.empty() and (unasked := self._lines.get()):
            detail = f"it wrote a line that nobody asked for: {_start(unasked)}"
            raise FailedExchange(content_error("the program is out of step", detail))
        _write(child, line)
        try:
            reply = self._lines.get(timeout=seconds)
        except Empty:
            detail = f"no answer within {seconds:g} s; the program is started again"
            raise FailedExchange(infrastructure_error("timed out", detail)) from None
        if not reply:
            raise FailedExchange(
                infrastructure_error("the program ended", self._exit_reason(child))
            )
        if len(reply) > MAX_SIZE:
            raise FailedExchange(
                content_error("the reply is too large", f"more than {MAX_SIZE // 1_000_000} MB")
            )
        return reply

    def kill(self) -> None:
        """Kill it with every process it started."""
        child, self._child = self._child, None
        if child is not None:
            _signal(child, signal.SIGKILL)
            child.wait()
            _close_input(child)
            _running.discard(child)

    def stop(self) -> None:
        """Close its input, then send SIGTERM, then kill it."""
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
                self._run,
                cwd=self._folder,
                start_new_session=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            _running.add(self._child)
            self._lines, self._last_lines = SimpleQueue(), deque(maxlen=3)
            out, errors = (self._child.stdout, self._lines), (self._child.stderr, self._last_lines)
            self._errors = threading.Thread(target=_read_errors, args=errors, daemon=True)
            self._errors.start()
            threading.Thread(target=_read_lines, args=out, daemon=True).start()
        return self._child

    def _exit_reason(self, child: subprocess.Popen[bytes]) -> str:
        try:
            code = child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        self._errors.join(_GRACE)
        ended = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        words = environment_secrets().hide(" | ".join(self._last_lines))
        return f"{ended}: {words}" if words else ended


def _write(child: subprocess.Popen[bytes], line: bytes) -> None:
    """A program that reads nothing would block a write larger than its pipe for ever: such a write gets a thread."""

    def write() -> None:
        with contextlib.suppress(
            OSError, ValueError
        ):  # a broken pipe is noticed at the reading end
            assert child.stdin is not None
            child.stdin.write(line)
            child.stdin.flush()

    if len(line) < _PIPE:
        write()
    else:
        threading.Thread(target=write, daemon=True).start()


def _read_lines(stream: IO[bytes], lines: SimpleQueue[bytes]) -> None:
    """Every line into the queue; an empty one is the end. Blank lines are ignored."""
    with contextlib.suppress(OSError, ValueError), stream:
        while line := stream.readline(MAX_SIZE + 1):
            if line.strip():
                lines.put(line)
    lines.put(b"")


def _read_errors(stream: IO[bytes], words: deque[str]) -> None:
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
