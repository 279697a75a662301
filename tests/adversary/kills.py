"""Kills answerkey with SIGKILL at a chosen step of every phase, continues, and counts what was lost, doubled, left or asked again.

`python -m tests.adversary.kills --kills 300 [--sharded 40] [--ray 6]`. Each command runs in a fork of this process, which has imported everything;
it kills itself at its nth step, so a busy machine changes nothing. Ray, which can't be forked, is killed from outside.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import pkgutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from tests.adversary.attack import PROFILE
from tests.support.stored_run import query, stored_answers

from answerkey.runs.database import transaction

WORKERS, CASES = 3, 12
_WRITE = os.write
BOT = """
import os, sys, time
def answer(question):
    with open({log!r}, "a") as file:
        file.write(question + "\\n")
    sys.audit("step.bot")
    time.sleep(0.002)
    return "It is " + question
"""
METRIC = """
import sys
from answerkey import metric
@metric("stepwise")
def stepwise(case, response):
    sys.audit("step.metric")
    return 1.0
"""
STEPS = ("open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.truncate", "step.")
PHASES = ("startup", "asking", "scoring", "reports", "rescore", "compare", "sweep")


def main_in_fork(
    arguments: list[str],
    step: int | None,
    torn: bool = False,
    count: Callable[[str], Any] | None = None,
) -> int:
    """The exit code, or -9 where it killed itself at that step; `count` is called with the name of each step."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        errors = os.open("errors.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for number, to in ((0, nowhere), (1, nowhere), (2, errors)):
            os.dup2(to, number)
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(n, "w", closefd=False), encoding="utf-8", write_through=True)
            for n in (1, 2)
        )
        _hook(step, torn, count)
        sys.argv = ["answerkey", *arguments]
        from answerkey.cli.main import main

        main()
    except SystemExit as ended:
        os._exit(ended.code if isinstance(ended.code, int) else 70)
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(70)


def _hook(step: int | None, torn: bool, count: Callable[[str], Any] | None) -> None:
    done = 0

    def reached(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal done
        if not event.startswith(STEPS) or (event == "open" and not _writes(arguments)):
            return
        if count:
            count(event)
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1

    def half(file: int, data: Any) -> int:
        if torn and done == step:
            _WRITE(file, bytes(data)[: len(data) // 2])
        sys.audit("step.write")
        return _WRITE(file, data)

    os.write = half  # type: ignore[assignment]
    from answerkey.runs import run_writer

    run_writer.transaction = _transaction_in_steps
    sys.addaudithook(reached)


@contextmanager
def _transaction_in_steps(connection: sqlite3.Connection) -> Generator[None]:
    """SQLite writes without Python: the steps are before, within and after its transactions."""
    sys.audit("step.begin")
    with transaction(connection):
        yield
        sys.audit("step.commit")
    sys.audit("step.committed")


def _writes(arguments: tuple[Any, ...]) -> bool:
    _, mode, flags = arguments
    return (
        bool(flags & (os.O_WRONLY | os.O_RDWR))
        if isinstance(flags, int)
        else "r" not in (mode or "r")
    )


def steps_of(arguments: list[str]) -> list[str]:
    """The names of all steps of a command that is left to end."""
    reader, writer = os.pipe()
    code = main_in_fork(arguments, None, count=lambda event: _WRITE(writer, f"{event}\n".encode()))
    os.close(writer)
    with os.fdopen(reader) as file:
        listed = file.read().split()
    assert code == 0, (arguments, code, Path("errors.txt").read_text()[-2000:])
    return listed


def import_everything() -> None:
    """Import everything before the forks: importing takes most of the time of a small run."""
    import answerkey

    for module in pkgutil.walk_packages(answerkey.__path__, "answerkey."):
        if not module.name.endswith(("__main__", "bot", "ray")):
            importlib.import_module(module.name)
    for name in ("numpy", "scipy.stats", "scipy.sparse", "bm25s", "yaml", "jinja2"):
        importlib.import_module(name)


class World:
    """A suite in the present folder, a finished run of it, and a second one to compare with."""

    def __init__(self, folder: Path) -> None:
        os.chdir(folder)
        os.environ["ANSWERKEY_CACHE"] = str(folder / "cache")
        self.log = folder / "asked.txt"
        rows = [
            {"id": f"q{n}", "question": f"What is {n}?", "expected": f"It is {n}."}
            for n in range(CASES)
        ]
        Path("cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        Path("bot.py").write_text(BOT.format(log=str(self.log)))
        Path("extra.py").write_text(METRIC)
        Path("profile.toml").write_text(PROFILE)
        head = f'cases = ["cases.jsonl"]\nprofile = "profile.toml"\nmodules = ["extra"]\nmetrics = ["stepwise"]\n[run]\nworkers = {WORKERS}\n'
        Path("suite.toml").write_text(f'{head}[target]\ncall = "bot:answer"\n')
        Path("docs").mkdir()
        Path("docs/a.txt").write_text("What is 1? It is 1.")
        Path("docs/b.txt").write_text("What is 2? It is 2.")
        labelled = [{**row, "relevant": {"a.txt": 1}} for row in rows]
        Path("labelled.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labelled))
        Path("sweep.toml").write_text(
            'cases = ["labelled.jsonl"]\n[retrieval]\ndocuments = "docs"\nalphas = [0.0]\nks = [1]\npool = 5\n'
        )
        self.sharded: list[str] = []
        self.run = ["run", "suite.toml", "--no-charts", "--quiet", "--out"]
        self.steps = steps_of([*self.run, "first"])
        self.first = next(Path("first").glob("*/run.json")).parent
        self.rescore = [
            "rescore",
            str(self.first),
            "--profile",
            "profile.toml",
            "--allow-code",  # of the suite's module, which the run names
            "--no-charts",
            "--quiet",
            "--out",
        ]
        self.compare = ["compare", str(self.first), str(self.first), "--out"]
        self.sweep = ["sweep", "sweep.toml", "--no-plots", "--out"]
        commands = {"rescore": self.rescore, "compare": self.compare, "sweep": self.sweep}
        for name, command in commands.items():
            steps_of([*command, f"{name}0"])  # fills the caches, which takes steps of its own
        self.others = {name: steps_of([*command, f"{name}1"]) for name, command in commands.items()}

    def step(self, phase: str, rng: Random) -> int:
        """A step of the phase, by its place among those of a run that was left to end."""
        if phase in self.others:
            return rng.randrange(len(self.others[phase]))
        bots = [n for n, name in enumerate(self.steps) if name == "step.bot"]
        metrics = [n for n, name in enumerate(self.steps) if name == "step.metric"]
        first, last = {"startup": (0, bots[0]), "asking": (bots[0], bots[-1] + 2), "scoring": (metrics[0], metrics[-1] + 3),
                       "reports": (metrics[-1] + 3, len(self.steps))}[phase]  # fmt: skip
        return rng.randrange(first, max(last, first + 1))


def kill_once(world: World, phase: str, rng: Random, counts: Counter[str]) -> None:
    out = f"out{counts['kills']}"
    before = {
        path: path.read_bytes()
        for path in world.first.iterdir()
        if path.suffix in (".jsonl", ".json")
    }
    world.log.write_text("")
    command = {"rescore": world.rescore, "compare": world.compare, "sweep": world.sweep}.get(
        phase, world.run
    )
    code = main_in_fork([*command, out], world.step(phase, rng), torn=rng.random() < 0.5)
    counts["kills"] += 1
    counts[f"killed in {phase}"] += code == -signal.SIGKILL
    kept = _records(Path(out))
    _continue(world, phase, command, out, counts)
    counts["stray"] += len(_strays(Path(out)))
    if phase not in ("compare", "sweep"):
        _check_run(Path(out), kept, counts)
    asked = Counter(world.log.read_text().splitlines())
    again = sum(asked.values()) - len(asked)
    counts["asked again"] += again
    counts["asked again, most"] = max(counts["asked again, most"], again)
    counts["asked too often"] += again > WORKERS
    changed = [path for path, data in before.items() if path.read_bytes() != data]
    counts["other files changed"] += len(changed) if phase in ("rescore", "compare", "sweep") else 0


def _continue(world: World, phase: str, command: list[str], out: str, counts: Counter[str]) -> None:
    """Resumes a run, or calls another command again; then the reports are written where the kill kept them from it."""
    run = _newest(Path(out))
    if phase == "rescore" and run is not None:
        again = ["rescore", str(run), "--resume", "--allow-code", "--no-charts", "--quiet"]
    elif phase in ("compare", "sweep") or run is None:
        again = [*command, out]
    else:
        again = ["run", str(run), "--resume", "--no-charts", "--quiet"]
    code = main_in_fork(again, None)
    counts["not continued"] += code != 0
    if code:
        print(phase, again, code, Path("errors.txt").read_text()[-600:], file=sys.stderr)
    if phase not in ("compare", "sweep") and main_in_fork(
        ["report", str(_newest(Path(out))), "--no-charts"], None
    ):
        counts["no report"] += 1


def _newest(out: Path) -> Path | None:
    return max((path.parent for path in out.glob("*/run.json")), default=None)


def _records(out: Path) -> dict[str, set[str]]:
    """The answers and verdicts that are stored, by table."""
    run = _newest(out)
    if run is None or not stored_answers(run):
        return {}
    return {
        "answers": {str(row) for row in query(run, "SELECT id, response_json FROM answers")},
        "verdicts": {str(row) for row in query(run, "SELECT id, scored_json FROM verdicts")},
    }


def _check_run(out: Path, kept: dict[str, set[str]], counts: Counter[str]) -> None:
    run = _newest(out)
    assert run is not None
    ids = [json.loads(line)["id"] for line in (run / "results.jsonl").read_text().splitlines()]
    counts["lost"] += CASES - len(set(ids))
    counts["doubled"] += len(ids) - len(set(ids))
    now = _records(out)
    counts["lost"] += sum(len(rows - now.get(name, set())) for name, rows in kept.items())
    counts["doubled"] += len(stored_answers(run)) - CASES


def _strays(folder: Path) -> list[Path]:
    """Files with a name that no user asked for, and files that are cut short."""
    found = [path for path in folder.rglob("*") if path.is_file() and path.name.startswith(".")]
    for path in folder.rglob("*.json"):
        try:
            json.loads(path.read_text())
        except ValueError:
            found.append(path)
    for path in found:
        print("stray:", path, file=sys.stderr)
    return found


RECORDED = 600  # three shards for two processes
DEADLY = """
import os, signal
from pathlib import Path
from answerkey import metric
@metric("deadly")
def deadly(case, response):
    with open(f"seen-{os.getpid()}.txt", "a") as file:
        file.write(case.id + "\\n")
    if Path(f"kill-{case.id}").exists():
        Path(f"kill-{case.id}").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return 1.0
"""


def _write_recorded(count: int, more: str = "") -> list[str]:
    """Writes recorded.toml with so many answers; returns their ids."""
    rows = [
        {"id": f"q{n}", "question": f"What is {n}?", "expected": f"{n}", "answer": f"It is {n}."}
        for n in range(count)
    ]
    Path("recorded.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("recorded.toml").write_text(
        f'cases = ["recorded.jsonl"]\nprofile = "profile.toml"\n{more}'
    )
    return [f"q{n}" for n in range(count)]


def kill_sharded(world: World, rng: Random, counts: Counter[str]) -> None:
    """A run in shards: either the run itself is killed at one of its steps, or a process of it."""
    Path("deadly.py").write_text(DEADLY)
    ids = _write_recorded(RECORDED, 'modules = ["deadly"]\nmetrics = ["deadly"]\n')
    out = f"sharded{counts['kills']}"
    command = ["run", "recorded.toml", "--jobs", "2", "--no-charts", "--quiet", "--out"]
    if not world.sharded:
        world.sharded = steps_of([*command, "sharded-whole"])
    for path in Path().glob("seen-*.txt"):
        path.unlink()
    counts["kills"] += 1
    if rng.random() < 0.5:
        Path(f"kill-{rng.choice(ids)}").touch()
        code = main_in_fork([*command, out], None)
        counts["killed processes of shards"] += 1
        counts["not continued"] += code != 0
    else:
        step = rng.randrange(len(world.sharded))
        code = main_in_fork([*command, out], step, torn=rng.random() < 0.5)
        counts["killed in shards"] += code == -signal.SIGKILL
        kept = set(_stored_with_shards(_newest(Path(out))))
        _continue(world, "shards", command, out, counts)
        counts["lost"] += len(kept - set(_stored_with_shards(_newest(Path(out)))))
    stored = _stored_with_shards(_newest(Path(out)))
    counts["lost"] += len(set(ids) - set(stored))
    counts["doubled"] += len(stored) - len(set(stored))
    seen = [case for path in Path().glob("seen-*.txt") for case in path.read_text().split()]
    # Two processes score a batch of 256 each, which is stored as a whole.
    counts["scored too often"] += len(seen) - len(set(seen)) > 2 * 256
    counts["stray"] += len(_strays(Path(out)))


RAY_QUESTIONS = 60  # eight shards for two workers
RAY_ASKING = 4  # questions at the same time, two in each worker
RAY_BOT = """
import os, signal, time
from pathlib import Path
FOLDER = Path(__file__).parent
def answer(question):
    with open(FOLDER / "asked-on-ray.txt", "a") as file:
        file.write(question + "\\n")
    time.sleep(0.02)
    kill = FOLDER / f"kill-{question}"
    if kill.exists():
        kill.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return "It is " + question
"""


def kill_ray(rng: Random, counts: Counter[str], seconds: float) -> None:
    """A live run on Ray, of which either a worker is killed, or everything at once from outside."""
    out = f"ray{counts['kills']}"
    ids = _write_live_on_ray()
    asked = Path("asked-on-ray.txt")
    asked.write_text("")
    counts["kills"] += 1
    if rng.random() < 0.6:
        Path(f"kill-Q{rng.randrange(RAY_QUESTIONS)}").touch()
        code = _start_on_ray(out).wait(seconds)
        counts["killed workers of Ray"] += not list(Path().glob("kill-Q*"))
    else:
        run = _start_on_ray(out)
        _kill_in_the_middle(run, asked, rng, seconds)
        counts["killed in Ray"] += run.returncode == -signal.SIGKILL
        kept = set(_stored_with_shards(_newest(Path(out))))
        resumed = _start_on_ray(out, *(["--resume"] if _newest(Path(out)) else []))
        code = resumed.wait(seconds)
        counts["lost"] += len(kept - set(_stored_with_shards(_newest(Path(out)))))
    counts["not continued"] += code != 0
    if code:
        print("Ray", code, Path("errors.txt").read_text()[-1500:], file=sys.stderr)
    stored = _stored_with_shards(_newest(Path(out)))
    counts["lost"] += len(set(ids) - set(stored))
    counts["doubled"] += len(stored) - len(set(stored))
    questions = Counter(asked.read_text().splitlines())
    again = questions.total() - len(questions)
    counts["asked again on Ray"] += again
    counts["asked again on Ray, most"] = max(counts["asked again on Ray, most"], again)
    counts["asked too often"] += again > RAY_ASKING
    counts["stray"] += len(_strays(Path(out)))


def _write_live_on_ray() -> list[str]:
    """Writes live.toml with a bot that kills its process when a file says so; returns the ids."""
    ids = [f"q{n}" for n in range(RAY_QUESTIONS)]
    rows = [{"id": id, "question": f"Q{n}", "expected": f"It is Q{n}"} for n, id in enumerate(ids)]
    Path("live.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("ray_bot.py").write_text(RAY_BOT)
    Path("live.toml").write_text(
        f'cases = ["live.jsonl"]\nmetrics = ["exact_match"]\nembedding = "none"\n'
        f'[run]\nworkers = {RAY_ASKING}\n[target]\ncall = "ray_bot:answer"\n'
    )
    return ids


def _start_on_ray(out: str, *more: str) -> subprocess.Popen[bytes]:
    arguments = ["run", "live.toml", "--engine", "ray", "--no-charts", "--quiet", "--out", out]
    with Path("errors.txt").open("a") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "answerkey", *arguments, *more],
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
            stdout=errors,
            stderr=errors,
            start_new_session=True,
        )


def _kill_in_the_middle(
    run: subprocess.Popen[bytes], asked: Path, rng: Random, seconds: float
) -> None:
    """Kill a run with all its processes when it has asked some number of questions."""
    enough = rng.randrange(RAY_QUESTIONS)
    until = time.monotonic() + seconds
    while time.monotonic() < until and run.poll() is None:
        if len(asked.read_text().splitlines()) >= enough and enough > 0:
            break
        time.sleep(0.01)
    with suppress(ProcessLookupError):  # it may have ended just now
        os.killpg(run.pid, signal.SIGKILL)
    run.wait()


def _stored_with_shards(run: Path | None) -> list[str]:
    """The ids of the answers that a run and its shards have stored."""
    if run is None:
        return []
    shards = sorted((run / "shards").glob("*"))
    return [case for folder in (run, *shards) for case in stored_answers(folder)]


def kill_many(kills: int, seed: int, on_ray: int, sharded: int = 0) -> Counter[str]:
    rng, counts = Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="kills") as folder:
        import_everything()
        world = World(Path(folder))
        for n in range(kills - on_ray - sharded):
            kill_once(world, PHASES[n % len(PHASES)], rng, counts)
        for _ in range(sharded):
            kill_sharded(world, rng, counts)
        for _ in range(on_ray):
            kill_ray(rng, counts, 300)
        os.chdir("/")
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--ray", type=int, default=0)
    parser.add_argument("--sharded", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    print(json.dumps(kill_many(chosen.kills, chosen.seed, chosen.ray, chosen.sharded), indent=1))
