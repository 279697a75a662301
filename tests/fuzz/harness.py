"""Runs one fuzz input in this process, and says what is wrong with the way it ended.

An input is data (`FuzzInput`), so that one that failed can be saved and replayed by a normal test.
"""

from __future__ import annotations

import base64
import gc
import io
import json
import os
import re
import resource
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

CODES = {
    0: ("PASS", "DONE"),
    1: ("FAIL",),
    2: ("INVALID",),
    3: ("INCOMPLETE",),
    130: ("INTERRUPTED",),
}
HANG = 10.0  # seconds, without those in which other processes had the processor
MOST_MEMORY = 600_000  # kB that one input may add
MEMORY_LIMIT = 2_000_000_000  # bytes that all inputs of a process may allocate: what asks for more fails at that place
# Control and direction characters, which must not reach a terminal: tab and line feed may.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Fields of a case that name its file, and ids that are made from its name.
_OF_THE_FILE = {"source_file"}
_NOT_A_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:nan|inf|infinity)(?![\w])", re.IGNORECASE)


@dataclass(frozen=True)
class FuzzInput:
    """`kind` is command, formats, reply or request; `base` names a folder of the world that is copied into the working folder."""

    kind: str
    surface: str
    args: list[str]
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    stdin: bytes = b""
    base: str = ""

    def to_json(self) -> str:
        packed = {name: _packed(data) for name, data in self.files.items()}
        return (
            json.dumps({**asdict(self), "files": packed, "stdin": _packed(self.stdin)}, indent=1)
            + "\n"
        )

    @staticmethod
    def from_json(text: str) -> FuzzInput:
        given = json.loads(text)
        files = {name: _unpacked(data) for name, data in given["files"].items()}
        return FuzzInput(**{**given, "files": files, "stdin": _unpacked(given["stdin"])})


def _packed(data: bytes) -> str | list[str]:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return ["base64", base64.b64encode(data).decode()]


def _unpacked(given: str | list[str]) -> bytes:
    return given.encode("utf-8") if isinstance(given, str) else base64.b64decode(given[1])


class Hang(BaseException):
    """A BaseException, so that no code of ours catches it."""


@dataclass
class Ended:
    """How an input ended: its code (or HTTP status), what it printed, and what is wrong with that ("" for nothing)."""

    code: int = 0
    out: str = ""
    err: str = ""
    wrong: str = ""
    seconds: float = 0.0


class Harness:
    """`world` holds the folders that inputs build on; each input gets a working folder of its own."""

    def __init__(self, world: Path) -> None:
        self.world, self.work = world, world / "a" / "b" / "work"  # deep, so that `..` stays inside
        self._replies: dict[str, Callable[[str], Any]] | None = None

    def run(self, given: FuzzInput) -> Ended:
        """The ending, after a second try where the first took too long: the machine may be busy."""
        ended = self._run(given)
        return self._run(given) if ended.wrong.startswith("hang") else ended

    def _run(self, given: FuzzInput) -> Ended:
        self._prepare(given)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.monotonic()
        ended = Ended()
        try:
            with _time_limit():
                run = {
                    "command": self._command,
                    "formats": self._formats,
                    "reply": self._reply,
                    "request": self._request,
                }[given.kind]
                run(given, ended)
        except Hang:
            ended.wrong = f"hang: more than {HANG:g} s"
        except BaseException as error:  # whatever it is, it is what we look for
            ended.wrong = f"{type(error).__name__}: {str(error)[:300]} {_where(error)}"
        ended.seconds = time.monotonic() - start
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
        if not ended.wrong and grown > MOST_MEMORY:
            ended.wrong = f"memory: {grown // 1000} MB more"
        return ended

    def _prepare(self, given: FuzzInput) -> None:
        os.chdir(self.world)
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        if given.base:
            shutil.copytree(self.world / given.base, self.work / given.base)
        for name, data in given.files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        os.chdir(self.work)

    def _command(self, given: FuzzInput, ended: Ended) -> None:
        from answerkey.cli.main import main

        kept = sys.argv, sys.stdin, sys.stdout, sys.stderr
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        sys.argv = ["answerkey", *given.args]
        sys.stdin = io.TextIOWrapper(io.BytesIO(given.stdin), encoding="utf-8")
        sys.stdout, sys.stderr = out, err
        try:
            main()
        except SystemExit as left:
            ended.code = left.code if isinstance(left.code, int) else -1
        finally:
            sys.argv, sys.stdin, sys.stdout, sys.stderr = kept
            out.flush()
            err.flush()
            ended.out, ended.err = (
                each.buffer.getvalue().decode("utf-8", "surrogateescape") for each in (out, err)
            )  # type: ignore[attr-defined]
        ended.wrong = self._wrong(given, ended)

    def _formats(self, given: FuzzInput, ended: Ended) -> None:
        """The same data in several files: each of them is read as the same cases, or none is."""
        readings: dict[str, str] = {}
        for name in given.files:
            self._command(replace(given, args=["cases", name, "--json"]), ended)
            if ended.wrong:
                return
            readings[name] = "refused"
            if ended.code == 0:
                cases = [
                    {key: field for key, field in case.items() if key not in _OF_THE_FILE}
                    for case in json.loads(ended.out)
                ]
                readings[name] = json.dumps(cases, sort_keys=True)
        if len(set(readings.values())) > 1:
            shown = {name: text[:150] for name, text in readings.items()}
            ended.wrong = f"formats differ: {shown}"

    def _wrong(self, given: FuzzInput, ended: Ended) -> str:
        if ended.code not in CODES or "Traceback (most recent" in ended.err:
            lines = ended.err.strip().splitlines()
            places = [line.strip() for line in lines if line.lstrip().startswith("File ")]
            return f"exit {ended.code}: {lines[-1][:300] if lines else ''} {' '.join(places[-1:])}"
        last = (ended.err.strip().splitlines() or [""])[-1]
        if ended.code and not last.startswith(CODES[ended.code]):
            return f"exit {ended.code}, but the last line is {last[:200]!r}"
        if any("\udc80" <= char <= "\udcff" for char in ended.out + ended.err):
            return "output that is not UTF-8"
        if unsafe := _UNSAFE.search(ended.out + ended.err):
            return f"the output has the control character {unsafe[0]!r}"
        if "--json" in given.args and ended.out.strip() and ended.code in (0, 1):
            try:
                json.loads(ended.out, parse_constant=_refuse)
            except ValueError as error:
                return f"not strict JSON: {error}: {ended.out[:200]!r}"
        elif (found := _NOT_A_NUMBER.search(ended.out)) and not _holds_nan(given):
            return f"{found[0]} in the output: {ended.out[max(0, found.start() - 80) : found.end() + 40]!r}"
        return self._wrong_files(given)

    def _wrong_files(self, given: FuzzInput) -> str:
        for path in self.work.rglob("*"):
            name = path.relative_to(self.work).as_posix()
            if (
                not path.is_file()
                or name in given.files
                or (given.base and (self.world / name).exists())
            ):
                continue
            if path.name.startswith("."):
                return f"a stray file: {name}"
            if path.suffix in (".json", ".jsonl", ".txt", ".md", ".csv", ".xml", ".html", ".toml"):
                try:
                    text = path.read_bytes().decode("utf-8")
                    for each in (
                        text.split("\n")
                        if path.suffix == ".jsonl"
                        else [text]
                        if path.suffix == ".json"
                        else []
                    ):
                        _ = each.strip() and json.loads(each, parse_constant=_refuse)
                except ValueError as error:
                    return f"{name}: {error}"
        return ""

    def _reply(self, given: FuzzInput, ended: Ended) -> None:
        if self._replies is None:
            from tests.fuzz.replies import PARSERS

            self._replies = PARSERS
        result = self._replies[given.args[0]](given.stdin.decode("utf-8", "surrogatepass"))
        ended.out = repr(result)[:2000]
        found = _NOT_A_NUMBER.search(ended.out)
        if (
            found and not isinstance(result, str) and not _holds_nan(given)
        ):  # a message may say that there is NaN
            ended.wrong = f"{found[0]} in {ended.out[:300]}"

    def _request(self, given: FuzzInput, ended: Ended) -> None:
        from tests.support.viewer_asking import ask

        from answerkey.viewer.app import make_app
        from answerkey.viewer.guard import Rules

        method, address, host, origin = given.args
        reply = ask(
            make_app(self.work / given.base, Rules()),
            address,
            method=method,
            host=host,
            origin=origin,
            body=given.stdin,
        )
        ended.code, ended.out = reply.status, reply.body.decode("utf-8", "surrogateescape")
        if reply.status >= 500:
            ended.wrong = f"HTTP {reply.status}: {ended.out[:300]!r}"
        elif reply.headers.get("content-type", "").startswith("application/json"):
            try:
                json.loads(ended.out, parse_constant=_refuse)
            except ValueError as error:
                ended.wrong = f"not strict JSON: {error}"


def _where(error: BaseException) -> str:
    """The last place of ours in a traceback."""
    found, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "/answerkey/" in name:
            found = f"({name.rpartition('/answerkey/')[2]}:{trace.tb_lineno})"
        trace = trace.tb_next
    return found


def _holds_nan(given: FuzzInput) -> bool:
    """Whether the input itself has such words, which an output may repeat."""
    data = b" ".join(
        [
            *given.files.values(),
            given.stdin,
            *(arg.encode("utf-8", "replace") for arg in given.args),
        ]
    )
    return re.search(rb"nan|inf|e\+?\d{3}|\d{300}", data.lower()) is not None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} in JSON")


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: Any) -> None:
        if time.monotonic() - start - (_waited() - waited) > HANG:
            raise Hang

    start, waited = time.monotonic(), _waited()
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, HANG, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _waited() -> float:
    """Seconds in which this thread could have run, but other processes had the processor; 0 where the system does not count them."""
    with suppress(OSError, IndexError, ValueError):
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def limit_memory() -> None:
    """Allow the process at most `MEMORY_LIMIT` more memory than now."""
    with suppress(OSError, IndexError, ValueError):
        data_pages = int(Path("/proc/self/statm").read_text().split()[5])
        resource.setrlimit(
            resource.RLIMIT_DATA, (data_pages * resource.getpagesize() + MEMORY_LIMIT,) * 2
        )


def memory_used() -> int:
    """kB of this process now; 0 where the system does not tell."""
    with suppress(OSError, IndexError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1000
    return 0


def isolate() -> None:
    """No network, no server, no sound on standard streams: what a fuzz run must not do to its machine."""
    import answerkey.viewer.server

    def refuse(self: socket.socket, address: object) -> None:
        if self.family == socket.AF_UNIX:
            return connect(self, address)  # type: ignore[arg-type]
        raise ConnectionRefusedError(111, "Connection refused")

    connect = socket.socket.connect
    socket.socket.connect = refuse  # type: ignore[method-assign]
    answerkey.viewer.server.serve_viewer = lambda *_, **__: None
    os.environ["NO_COLOR"] = "1"
    for name in [name for name in os.environ if "KEY" in name or "TOKEN" in name]:
        del os.environ[name]
    gc.freeze()


def threads_left() -> list[str]:
    with suppress(RuntimeError):
        return [
            thread.name for thread in threading.enumerate() if thread is not threading.main_thread()
        ]
    return []
