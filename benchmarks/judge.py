"""200 judged cases at 20 calls at once, against an endpoint that takes 200 ms, beside three peers. Prints the ratios.

    python benchmarks/judge.py [--cases N] [--concurrency N] [--latency SECONDS] [--rounds N]

Every tool runs in a process of its own, with one call before the clock starts; the same question and answer are judged by one
call a case. Time is told as a multiple of the ideal, cases × latency / concurrency; processor time is that of
the tool alone, not of the endpoint. The best of the rounds counts, for each tool alike.
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
from multiprocessing.connection import Connection
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from benchmarks.peers import peer_python, version_of  # noqa: E402

PEERS = {
    "autoevals": ("autoevals", "openai"),
    "pydantic-evals": ("pydantic-evals", "pydantic-ai-slim[openai]"),
    "deepeval": ("deepeval",),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--concurrency", type=int, default=20)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    ours, mine = multiprocessing.Pipe()
    endpoint = multiprocessing.get_context("spawn").Process(target=serve, args=(mine, asked.latency), daemon=True)
    endpoint.start()
    url = f"http://127.0.0.1:{ours.recv()}/v1"
    tools = {"answerkey": Path(sys.executable)}
    tools |= {name: peer_python(f"judge-{name}", packages) for name, packages in PEERS.items()}
    best: dict[str, tuple[float, float]] = {}
    for _ in range(asked.rounds):
        for name, python in tools.items():
            seconds, processor = measure(python, name, url, asked)
            before = best.get(name, (seconds, processor))
            best[name] = (min(before[0], seconds), min(before[1], processor))
    endpoint.terminate()
    report(best, tools, asked)


def measure(python: Path, name: str, url: str, asked: argparse.Namespace) -> tuple[float, float]:
    """Seconds in all, and milliseconds of processor time a case."""
    command = [python, HERE / "judge_tools.py", name, url, asked.cases, asked.concurrency]
    quiet = {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_DISABLE_DOTENV": "1", "ERROR_REPORTING": "NO"}
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


def report(best: dict[str, tuple[float, float]], tools: dict[str, Path], asked: argparse.Namespace) -> None:
    ideal = asked.cases * asked.latency / asked.concurrency
    print(
        f"{asked.cases} cases, {asked.concurrency} at once, {asked.latency * 1000:g} ms a call; ideal {ideal:.2f} s; "
        f"best of {asked.rounds}"
    )
    own = best["answerkey"][1]
    for name, (seconds, processor) in best.items():
        label = f"{name} {version_of(tools[name], name)}"
        beside = "" if name == "answerkey" else f", {processor / own:.1f} times ours"
        print(
            f"{label:<24} {seconds:6.2f} s, {seconds / ideal:.3f} times the ideal; {processor:6.2f} ms a case{beside}"
        )


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


def completion(asked: dict[str, object]) -> bytes:
    verdict: dict[str, object] = {"reason": "It says so.", "score": 0.75}
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
        {"id": "1", "object": "chat.completion", "created": 1, "model": "fake", "choices": [choice], "usage": usage}
    ).encode()


if __name__ == "__main__":
    main()
