"""A whole run against a bot that takes 50 ms, beside the ideal and beside a bare loop over threads. Prints the ratios.

    python benchmarks/live.py [--cases N] [--workers N] [--latency SECONDS]

The ideal is cases × latency / workers: the time in which nothing but the bot is waited for. The bare loop asks the
same questions with the same HTTP library and throws the answers away; a run journals, scores and judges them as well.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

import httpx2

from answerkey.runs.control import Watch
from answerkey.runs.execute import execute_suite
from answerkey.runs.suite import load_suite
from answerkey.types import Outcome

SUITE = """
name = "live"
cases = ["cases.jsonl"]
metrics = ["keyword_recall", "token_f1"]
[target]
url = "{url}"
[run]
workers = {workers}
[embedding]
model = "none"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--latency", type=float, default=0.05)
    asked = parser.parse_args()
    ours, mine = multiprocessing.Pipe()
    bot = multiprocessing.get_context("spawn").Process(
        target=serve, args=(mine, asked.latency), daemon=True
    )
    bot.start()
    url = f"http://127.0.0.1:{ours.recv()}/"
    ideal = asked.cases * asked.latency / asked.workers
    bare = loop_over_threads(url, asked.cases, asked.workers)
    run, whole, answering = full_run(url, asked.cases, asked.workers)
    bot.terminate()
    print(
        f"{asked.cases} cases, {asked.workers} workers, {asked.latency * 1000:g} ms a question; ideal {ideal:.2f} s"
    )
    print(f"bare loop  {bare:6.2f} s, {bare / ideal:.3f} times the ideal")
    print(
        f"a run      {run:6.2f} s, {run / ideal:.3f} times the ideal (first question to last verdict)"
    )
    print(
        f"           {run / answering:.3f} times what the answers themselves took at {asked.workers} at once, {answering:.2f} s"
    )
    print(
        f"           {whole:6.2f} s with loading and checking everything before and closing after"
    )


def loop_over_threads(url: str, cases: int, workers: int) -> float:
    limits = httpx2.Limits(max_connections=workers)
    with (
        httpx2.Client(trust_env=False, limits=limits) as client,
        ThreadPoolExecutor(workers) as pool,
    ):

        def ask(number: int) -> str:
            return client.post(url, json={"question": f"Question {number}"}).json()["answer"]

        start = time.perf_counter()
        list(pool.map(ask, range(cases)))
        return time.perf_counter() - start


def full_run(url: str, cases: int, workers: int) -> tuple[float, float, float]:
    """Seconds from the first question to the last verdict, of the whole call, and of the answers, `workers` at once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [
            {"id": f"c{n}", "question": f"Question {n}", "expected": f"Answer {n}"}
            for n in range(cases)
        ]
        (folder / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (folder / "suite.toml").write_text(SUITE.format(url=url, workers=workers))
        marks: list[float] = []
        seconds: list[float] = []

        class Marks(Watch):
            def start(self, total: int, done: int) -> None:
                marks.append(time.perf_counter())

            def outcome(self, outcome: Outcome) -> None:
                marks.append(time.perf_counter())
                seconds.append(outcome.response.seconds or 0.0)

        begin = time.perf_counter()
        finished = execute_suite(load_suite(folder / "suite.toml"), watch=Marks())
        whole = time.perf_counter() - begin
        if finished.partial:
            raise SystemExit(f"the run did not end: {finished.partial}")
        return marks[-1] - marks[0], whole, sum(seconds) / workers


def serve(told: Connection, latency: float) -> None:
    """A bot that costs next to no processor time, so that what is measured is the asking."""
    body = json.dumps({"answer": "Answer"}).encode()
    reply = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        % len(body)
        + body
    )

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                await reader.readexactly(length)
                await asyncio.sleep(latency)
                writer.write(reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


if __name__ == "__main__":
    main()
