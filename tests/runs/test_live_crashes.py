"""Whatever is killed, and whenever: the folder stays valid, the run goes on, and no answered question is asked again."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.live_suite import question
from tests.support.results import latest_run
from tests.support.stored_run import query, stored_answers

from answerkey.runs.store import read_outcomes

pytestmark = [pytest.mark.network, pytest.mark.slow]

COUNT = 250
SUITE = """
name = "live"
cases = ["cases.jsonl"]
profile = "rubric"
embedding = "none"
[target]
url = "http://127.0.0.1:{bot}/"
[judge]
base_url = "http://127.0.0.1:{judge}/v1"
model = "tiny"
cache = false
[run]
workers = 4
"""


class Server:
    """A bot or a judge that can be killed and started again on the same port."""

    def __init__(self, role: str, log: Path) -> None:
        self.role, self.log = role, log
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    def start(self) -> None:
        script = Path(__file__).parents[1] / "support" / "serve_live.py"
        command = [sys.executable, str(script), self.role, str(self.port), str(self.log)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


class World:
    """A suite, its bot and its judge, and what the bot has been asked so far."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "asked.log"
        folder.mkdir()
        self.log.touch()
        self.bot, self.judge = Server("bot", self.log), Server("judge", folder / "judge.log")
        (folder / "suite.toml").write_text(SUITE.format(bot=self.bot.port, judge=self.judge.port))
        cases = [
            {"id": f"c{n}", "question": question(n), "expected": f"topic{n} explained"}
            for n in range(COUNT)
        ]
        (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cases))

    def close(self) -> None:
        self.bot.kill()
        self.judge.kill()

    def asked(self) -> Counter[str]:
        return Counter(self.log.read_text().splitlines())

    def start(self) -> subprocess.Popen[str]:
        resume = ["--resume"] if latest_run(self.folder / "results", "live") else []
        command = [
            sys.executable,
            "-m",
            "answerkey",
            "run",
            "suite.toml",
            "--no-charts",
            "--quiet",
            *resume,
        ]
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def answered(self) -> set[str]:
        """The questions whose answer is in the journal: from now on, nobody may ask them again."""
        folder = latest_run(self.folder / "results", "live")
        if not stored_answers(folder):
            return set()
        list(read_outcomes(folder))  # and it can be read, whatever happened
        stored = query(folder, "SELECT case_json FROM answers WHERE NOT failed")
        return {json.loads(case)["question"] for (case,) in stored}


def kill_ours(process: subprocess.Popen[str], world: World) -> int:
    process.kill()
    return -signal.SIGKILL


def kill_the_bot(process: subprocess.Popen[str], world: World) -> int:
    world.bot.kill()
    process.wait(60)
    world.bot.start()
    return 3


def kill_the_judge(process: subprocess.Popen[str], world: World) -> int:
    """It comes back, as a supervised one does; then the run is ended, so that there is more to disturb."""
    world.judge.kill()
    time.sleep(random.random() * 0.2)
    world.judge.start()
    process.send_signal(signal.SIGINT)
    return 130


def interrupt(process: subprocess.Popen[str], world: World) -> int:
    process.send_signal(signal.SIGINT)
    return 130


def interrupt_twice(process: subprocess.Popen[str], world: World) -> int:
    process.send_signal(signal.SIGINT)
    time.sleep(random.random() * 0.05)
    process.send_signal(signal.SIGINT)
    return 130


def terminate(process: subprocess.Popen[str], world: World) -> int:
    process.send_signal(signal.SIGTERM)
    return 130


TROUBLES: list[Callable[[subprocess.Popen[str], World], int]] = [
    kill_ours, kill_the_bot, kill_the_judge, interrupt, interrupt_twice, terminate,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_six_troubles_in_one_run(tmp_path: Path, seed: int) -> None:
    """Six kinds of trouble in five orders: thirty trials, each at a moment of its own."""
    random.seed(seed)
    world = World(tmp_path / "world")
    settled: dict[str, int] = {}
    try:
        for trouble in random.sample(TROUBLES, len(TROUBLES)):
            before, more = sum(world.asked().values()), random.randrange(20)
            process = world.start()

            def is_due(
                process: subprocess.Popen[str] = process, questions: int = before + more
            ) -> bool:
                return process.poll() is not None or sum(world.asked().values()) > questions

            wait_until(is_due)
            time.sleep(random.random() * 0.03)
            assert process.poll() is None, (
                f"it ended before the trouble: {process.communicate()[1]}"
            )
            expected = trouble(process, world)
            told = process.communicate(timeout=60)[1]
            # A signal before the run takes it, or when it is done with it, ends the process as the system does: 128 + n.
            ended = process.returncode
            code = ended if ended >= 0 or ended == expected else 128 - ended
            assert code in (expected, 143), f"{trouble.__name__}: {ended} {told}"
            if ended == 130 and trouble is not interrupt_twice:
                assert told.strip().splitlines()[-1].startswith("INTERRUPTED")
            asked = world.asked()
            settled.update({text: asked[text] for text in world.answered() if text not in settled})
        last = world.start()
        told = last.communicate(timeout=120)[1]
        assert last.returncode == 0, told
        asked = world.asked()
        assert {text: asked[text] for text in settled} == settled, (
            "what was answered is never asked again"
        )
        outcomes = list(read_outcomes(latest_run(world.folder / "results", "live") or Path()))
        assert [o.case.id for o in outcomes] == [f"c{n}" for n in range(COUNT)]
        assert all(o.verdict.passed for o in outcomes)
        assert 40 < len(settled) < COUNT, "the trials were spread over the run"
    finally:
        world.close()


def wait_until(ready: Callable[[], bool]) -> None:
    for _ in range(6000):
        if ready():
            return
        time.sleep(0.01)
    pytest.fail("nothing happened for a minute")
