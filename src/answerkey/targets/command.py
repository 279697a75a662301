"""A program as a target: one JSON line in, one JSON line out, over its pipes; started again when it dies."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from answerkey.config.declare import read_table, shown
from answerkey.config.target_tables import CommandTable
from answerkey.errors import SettingsError
from answerkey.targets.fields import Fields, read_fields
from answerkey.targets.process import Died, LineTooLong, OutOfStep, Process
from answerkey.targets.respond import MAX_SIZE, content_error, infrastructure_error
from answerkey.targets.template import turns
from answerkey.types import Question, Response


class CommandTarget:
    """Asks one of `processes` copies of the program; a question waits for a free one, and that wait is not timed."""

    def __init__(self, run: list[str], folder: Path, processes: int, timeout: float, fields: Fields) -> None:
        self._timeout, self._fields = timeout, fields
        self._all = [Process(run, folder) for _ in range(processes)]
        self._free: SimpleQueue[Process] = SimpleQueue()
        for process in self._all:
            self._free.put(process)

    def ask(self, question: Question) -> Response:
        sent = {"id": question.id, "question": question.text, "history": turns(question)}
        process = self._free.get()
        try:
            start = perf_counter()
            response = self._exchange(process, json.dumps(sent, ensure_ascii=True).encode() + b"\n", question.id)
            return replace(response, seconds=perf_counter() - start)
        finally:
            self._free.put(process)

    def close(self) -> None:
        for process in self._all:
            process.stop()

    def _exchange(self, process: Process, line: bytes, question_id: str) -> Response:
        try:
            reply = self._parse(process.exchange(line, self._timeout))
        except TimeoutError:
            process.kill()  # its late answer would be taken for that of the next question
            return infrastructure_error(
                "timed out", f"no answer within {self._timeout:g} s; the program is started again"
            )
        except LineTooLong:
            process.kill()
            return content_error("the reply is too large", f"more than {MAX_SIZE // 1_000_000} MB")
        except OutOfStep as error:
            process.kill()
            return content_error("the program is out of step", f"it wrote a line that nobody asked for: {error}")
        except (Died, OSError) as error:
            process.kill()
            return infrastructure_error("the program ended", str(error))
        if isinstance(reply, Response):
            process.kill()  # after a line that is no reply, which line answers which question is anybody's guess
            return reply
        if isinstance(reply, dict) and reply.get("id") not in (None, question_id):
            process.kill()
            return content_error("a reply to another question", f"id {reply['id']!r}, expected {question_id!r}")
        if isinstance(reply, dict):
            reply.pop("id", None)
        return self._fields.read(reply)

    def _parse(self, line: bytes) -> Any:
        try:
            return json.loads(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            return content_error("the reply is not valid UTF-8", str(error))
        except (ValueError, RecursionError):
            said = " ".join(line.decode("utf-8", "replace").split())[:150]
            return content_error("the reply is not JSON", f'"{said}"; print anything else to standard error')


def make(table: Mapping[str, Any], folder: Path, timeout: float) -> CommandTarget:
    settings = read_table(CommandTable, table, "[target]")
    program = _program(settings.run, folder)
    return CommandTarget(program, folder, settings.processes, timeout, read_fields(settings))


def _program(given: str | list[str], folder: Path) -> list[str]:
    """The command line; a path in its first word is relative to the suite's folder."""
    try:
        run = shlex.split(given) if isinstance(given, str) else given
    except ValueError as error:
        raise SettingsError(f"[target] run = {shown(given)}: {str(error).lower()}") from None
    if not run or not run[0]:
        raise SettingsError(f'[target] run = {shown(given)}: expected a command, such as ["./bot", "--fast"]')
    name = str((folder / run[0]).resolve()) if "/" in run[0] else run[0]
    found = shutil.which(name)
    if found is None:
        hint = "not executable: chmod +x it" if Path(name).is_file() else "no such program"
        raise SettingsError(f'[target] run: "{run[0]}": {hint} ({name})')
    return [found, *run[1:]]
