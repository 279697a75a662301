"""A program as a target: one JSON line in, one JSON line out; started again when it dies."""

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
from answerkey.targets.reply_fields import Fields, read_fields
from answerkey.targets.respond import MAX_SIZE, FailedExchange, content_error, infrastructure_error
from answerkey.targets.templates import history_turns
from answerkey.types import Question, Response
from answerkey.user_code import environment_secrets

_GRACE = 2.0  # seconds to end after its input is closed, and after SIGTERM
_PIPE = 16_384  # the least that a pipe holds
# Programs that run, so that a process which exits without closing anything can kill them.
_children: set[subprocess.Popen[bytes]] = set()


class CommandTarget:
    """Asks one of `processes` copies of the program.

    A question waits for a free copy; that wait is not timed.
    """

    def __init__(
        self, run: list[str], folder: Path, processes: int, timeout: float, fields: Fields
    ) -> None:
        self._timeout = timeout
        self._fields = fields
        self._all = [Process(run, folder) for _ in range(processes)]
        self._free: SimpleQueue[Process] = SimpleQueue()
        for process in self._all:
            self._free.put(process)

    def ask(self, question: Question) -> Response:
        sent: dict[str, object] = {
            "id": question.id,
            "question": question.text,
            "history": history_turns(question),
        }
        if question.files:
            sent["files"] = list(question.files)
        process = self._free.get()
        try:
            start = perf_counter()
            # ASCII only, so that a program reads it whatever encoding its input has.
            line = json.dumps(sent, ensure_ascii=True).encode() + b"\n"
            response = self._exchange(process, line, question.id)
            return replace(response, seconds=perf_counter() - start)
        finally:
            self._free.put(process)

    def close(self) -> None:
        for process in self._all:
            process.stop()

    def _exchange(self, process: Process, line: bytes, question_id: str) -> Response:
        try:
            reply = _parse_reply(process.exchange(line, self._timeout), question_id)
        except FailedExchange as failed:
            process.kill()  # a late line would be taken for the answer to the next question
            return failed.response
        return self._fields.read(reply)


def _parse_reply(line: bytes, question_id: str) -> object:
    try:
        reply: object = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        failure = content_error("the reply is not valid UTF-8", str(error))
        raise FailedExchange(failure) from None
    except (ValueError, RecursionError):
        detail = f'"{_start(line)}"; print anything else to standard error'
        raise FailedExchange(content_error("the reply is not JSON", detail)) from None
    if not is_mapping(reply):
        return reply
    if reply.get("id") not in (None, question_id):
        detail = f"id {reply['id']!r}, expected {question_id!r}"
        raise FailedExchange(content_error("a reply to another question", detail))
    return {key: value for key, value in reply.items() if key != "id"}


def _start(line: bytes) -> str:
    return " ".join(line.decode("utf-8", "replace").split())[:150]


def make_command_target(table: Mapping[str, object], folder: Path, timeout: float) -> CommandTarget:
    """A path in the first word of the command line is relative to the suite's folder."""
    settings = read_table(CommandTable, table, "[target]")
    written = toml_text(settings.run)
    command = settings.run
    if isinstance(command, str):
        try:
            command = shlex.split(command)
        except ValueError as error:
            raise SettingsError(f"[target] run = {written}: {str(error).lower()}") from None
    if not command or not command[0]:
        expected = 'expected a command, such as ["./bot", "--fast"]'
        raise SettingsError(f"[target] run = {written}: {expected}")
    program = _find_program(command[0], folder)
    fields = read_fields(settings)
    return CommandTarget([program, *command[1:]], folder, settings.processes, timeout, fields)


def _find_program(written: str, folder: Path) -> str:
    name = written
    # As a shell does: a word with a slash is a path, any other is looked up in PATH.
    if "/" in written:
        name = str((folder / written).resolve())
    program = shutil.which(name)
    if program is not None:
        return program
    if Path(name).is_file():
        hint = "not executable: chmod +x it"
    else:
        hint = "no such program"
    raise SettingsError(f'[target] run: "{written}": {hint} ({name})')


def kill_all() -> None:
    """Kill every program that is still running."""
    for child in tuple(_children):
        _signal(child, signal.SIGKILL)


class Process:
    """Started at the first exchange, and again at the next one after it died or was killed."""

    def __init__(self, run: list[str], folder: Path) -> None:
        self._run = run
        self._folder = folder
        self._child: subprocess.Popen[bytes] | None = None
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        # The last lines on standard error usually say why a program ended.
        self._last_lines: deque[str] = deque(maxlen=3)
        self._errors = threading.Thread()

    def exchange(self, line: bytes, seconds: float) -> bytes:
        """The line that the program answers with; FailedExchange where there is none."""
        try:
            child = self._started_child()
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
            reason = self._exit_reason(child)
            raise FailedExchange(infrastructure_error("the program ended", reason))
        if len(reply) > MAX_SIZE:
            size = f"more than {MAX_SIZE // 1_000_000} MB"
            raise FailedExchange(content_error("the reply is too large", size))
        return reply

    def kill(self) -> None:
        """Kill it with every process it started."""
        child = self._child
        self._child = None
        if child is not None:
            _signal(child, signal.SIGKILL)
            child.wait()
            _close_input(child)
            _children.discard(child)

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

    def _started_child(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is not None:
            self.kill()  # it died between two questions, which is no question's fault
        if self._child is None:
            # Its own group: Ctrl-C at our terminal is ours to handle, and killing the group takes
            # the program's children along.
            self._child = subprocess.Popen(
                self._run,
                cwd=self._folder,
                start_new_session=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            _children.add(self._child)
            self._lines = SimpleQueue()
            self._last_lines = deque(maxlen=3)
            out = (self._child.stdout, self._lines)
            errors = (self._child.stderr, self._last_lines)
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
        reason = f"exit code {code}"
        if code < 0:
            reason = f"killed by {signal.Signals(-code).name}"
        words = environment_secrets().hide(" | ".join(self._last_lines))
        return f"{reason}: {words}" if words else reason


def _write(child: subprocess.Popen[bytes], line: bytes) -> None:
    """Write a line. A large one gets a thread, as the program may read nothing."""

    def write() -> None:
        # A broken pipe is noticed at the reading end.
        with contextlib.suppress(OSError, ValueError):
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
