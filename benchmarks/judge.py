"""200 judged cases at 20 calls at once, and 2,000 at 200, against an endpoint that takes 200 ms, beside three peers.

    python -m benchmarks.judge [--cases N] [--concurrency N] [--latency SECONDS] [--rounds N] [--real CASES] [--only A,B]

Every tool runs in a process of its own, with one call before the clock starts; the same question and answer are judged by one
call per case: one question, the criteria of the suite, those of each case, or both, with sentences, scales and checks. Time is a
multiple of the ideal, cases × latency / concurrency; processor time is that of the tool alone, not of the endpoint. The best of
the rounds counts, for each tool alike. With ten times as many calls at once, only one question and the fastest peer are
measured. A bare loop sends one prepared request and does nothing with the replies: what the endpoint allows. With `--real` mixed
criteria go to a llama.cpp server with a small model, 4 at once; the ideal is a bare loop that sends the same requests, as many
at once, by turns with ours. `--only "answerkey,bare loop,autoevals"` measures some tools, for more rounds on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from benchmarks.judge_tools import BARE, OURS, REAL, answerkey, answers  # noqa: E402
from benchmarks.peers import peer_python, version_of  # noqa: E402

PEERS = {
    "autoevals": ("autoevals", "openai"),
    "pydantic-evals": ("pydantic-evals", "pydantic-ai-slim[openai]"),
    "deepeval": ("deepeval",),
}

SLOTS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--concurrency", type=int, default=20)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--real", type=int, default=0, metavar="CASES")
    parser.add_argument("--only", default="", metavar="A,B")
    asked = parser.parse_args()
    ours, mine = multiprocessing.Pipe()
    endpoint = multiprocessing.get_context("spawn").Process(
        target=serve, args=(mine, asked.latency), daemon=True
    )
    endpoint.start()
    url = f"http://127.0.0.1:{ours.recv()}/v1"
    tools = dict.fromkeys([*OURS, BARE], Path(sys.executable))
    tools |= {name: peer_python(f"judge-{name}", packages) for name, packages in PEERS.items()}
    if asked.only:
        chosen = [name.strip() for name in asked.only.split(",")]
        compare({name: tools[name] for name in chosen}, url, asked)
        endpoint.terminate()
        return
    compare(tools, url, asked)
    asked.cases, asked.concurrency = asked.cases * 10, asked.concurrency * 10
    compare({name: tools[name] for name in (next(iter(OURS)), BARE, "autoevals")}, url, asked)
    endpoint.terminate()
    if asked.real:
        report_real(asked.real, SLOTS)


def compare(tools: dict[str, Path], url: str, asked: argparse.Namespace) -> None:
    best: dict[str, tuple[float, float]] = {}
    for _ in range(asked.rounds):
        for name, python in tools.items():
            seconds, processor = measure(python, name, url, asked)
            before = best.get(name, (seconds, processor))
            best[name] = (min(before[0], seconds), min(before[1], processor))
    report(best, tools, asked)


def measure(python: Path, name: str, url: str, asked: argparse.Namespace) -> tuple[float, float]:
    """Seconds in all, and milliseconds of processor time a case."""
    command = [python, HERE / "judge_tools.py", name, url, asked.cases, asked.concurrency]
    quiet = {
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "DEEPEVAL_DISABLE_DOTENV": "1",
        "ERROR_REPORTING": "NO",
    }
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, **quiet, "ANSWERKEY_CACHE": folder},
        )
    if done.returncode != 0:
        raise SystemExit(f"{name} failed:\n{done.stdout[-1000:]}{done.stderr[-3000:]}")
    told = json.loads(done.stdout.splitlines()[-1])
    if told["judged"] != asked.cases:
        raise SystemExit(f"{name} judged {told['judged']} of {asked.cases} cases")
    return told["seconds"], told["processor"] / asked.cases * 1000


def report(
    best: dict[str, tuple[float, float]], tools: dict[str, Path], asked: argparse.Namespace
) -> None:
    ideal = asked.cases * asked.latency / asked.concurrency
    print(
        f"{asked.cases} cases, {asked.concurrency} at once, {asked.latency * 1000:g} ms a call; ideal {ideal:.2f} s; "
        f"best of {asked.rounds}"
    )
    own = max(best[name][1] for name in OURS if name in best)
    for name, (seconds, processor) in best.items():
        label = (
            name if name == BARE else f"{name} {version_of(tools[name], name.partition(',')[0])}"
        )
        beside = "" if name in OURS or name == BARE else f", {processor / own:.1f} times ours"
        print(
            f"{label:<36} {seconds:6.2f} s, {seconds / ideal:.3f} times the ideal; {processor:6.2f} ms per case{beside}"
        )


def report_real(cases: int, slots: int) -> None:
    """The mixed criteria against a real model, and a bare loop with the same bodies; by turns, as the machine may be busy."""
    import pytest
    from tests.support.llama_server import LlamaServer

    try:
        server = LlamaServer(parallel=slots)
    except pytest.skip.Exception as reason:
        print(f"llama.cpp: left out: {reason}")
        return
    per_turn = min(2 * slots, cases)
    ours, own, bare, calls, done = 0.0, 0.0, 0.0, 0, 0
    with server, recording(server.base_url) as (url, bodies):
        settings = server.settings(
            base_url=url, url=url, max_tokens=160, timeout=600, concurrency=slots
        )
        run = answerkey(**{**REAL, **settings})
        run(answers(slots))  # not timed: every slot reads the beginning of the prompt
        for turn in range(1, cases // per_turn + 1):
            bodies.clear()
            began = time.perf_counter()
            done += run(
                [text.replace("see page ", f"see page {turn}") for text in answers(per_turn)]
            )
            ours += time.perf_counter() - began
            # With another page number, so that no prompt as a whole is known to the server.
            again = [body.replace(b"see page ", b"see page %d" % (turn + 50)) for body, _ in bodies]
            calls += len(again)
            own += sum(seconds for _, seconds in bodies) / slots
            with ThreadPoolExecutor(slots) as pool:
                began = time.perf_counter()
                list(
                    pool.map(lambda body: post(f"{server.base_url}/chat/completions", body), again)
                )
                bare += time.perf_counter() - began
    print(
        f"llama.cpp, mixed kinds: {done} of {cases // per_turn * per_turn} cases have a verdict or a stated error after "
        f"{calls} calls, {slots} at once: {ours:.1f} s, {ours / own:.3f} times what the calls themselves took; a bare loop "
        f"with the same calls {bare:.1f} s: {ours / bare:.3f} times the ideal"
    )


@contextmanager
def recording(base_url: str) -> Iterator[tuple[str, list[tuple[bytes, float]]]]:
    """An address that passes requests on to the server, and the bodies that came with the seconds that each took."""
    bodies: list[tuple[bytes, float]] = []

    class Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            began = time.perf_counter()
            reply = post(f"{base_url}/chat/completions", body)
            bodies.append((body, time.perf_counter() - began))
            self.send_response(200)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Passing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", bodies
    finally:
        server.shutdown()


def post(url: str, body: bytes) -> bytes:
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as reply:
        return reply.read()


def serve(told: Connection, latency: float) -> None:
    """A chat endpoint that costs little processor time and fits its verdict to how each tool asks."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                asked = await reader.readexactly(length)
                await asyncio.sleep(latency)
                body = completion(json.loads(asked))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
                writer.write(b"content-length: %d\r\n\r\n" % len(body) + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0, backlog=500)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def completion(asked: dict[str, Any]) -> bytes:
    verdict: dict[str, object] = {"reason": "It says so.", "score": 0.75}
    if (
        schema := asked.get("response_format", {})
        .get("json_schema", {})
        .get("schema", {})
        .get("properties", {})
    ):
        each = {"reason": "It says so.", "quote": "You have 30 days", "met": True, "score": 4}
        verdict |= {name: each for name in schema if name.startswith("c")}
    message: dict[str, object] = {"role": "assistant", "content": json.dumps(verdict)}
    tools = asked.get("tools")
    if isinstance(tools, list) and tools:
        arguments = json.dumps({**verdict, "pass": True, "reasons": "It says so.", "choice": "A"})
        function = {"name": tools[0]["function"]["name"], "arguments": arguments}
        call = {"id": "call_1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if tools else "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "fake",
            "choices": [choice],
            "usage": usage,
        }
    ).encode()


if __name__ == "__main__":
    main()
