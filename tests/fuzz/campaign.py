"""`make fuzz MINUTES=20`: as many inputs as fit into the time; what fails is saved under tests/fuzz/cases.

The inputs run in processes of their own, one per core unless the time is short, so that one that kills it (a crash in a library, no memory left) is found too.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.fuzz.harness import (
    Ended,
    FuzzInput,
    Harness,
    isolate,
    limit_memory,
    memory_used,
    threads_left,
)
from tests.fuzz.surfaces import generate
from tests.fuzz.world import make_world

SAVED = Path(__file__).parent / "cases"
MEMORY = Path("/dev/shm")  # files that are only in memory, where the system has such a folder
LONGEST = 120.0  # seconds without an end, after which the process is killed


def fuzz(minutes: float, seed: int, most: int | None, save: bool) -> int:
    """The number of inputs that failed in a way that no other did before."""
    counts: Counter[str] = Counter()
    found: dict[str, str] = {}
    until, cores = time.monotonic() + minutes * 60, os.cpu_count() or 1 if minutes > 2 else 1
    with tempfile.TemporaryDirectory(
        prefix="fuzz", dir=MEMORY if MEMORY.is_dir() else None
    ) as folder:
        worlds = [make_world(Path(folder) / str(n)) for n in range(cores)]
        world = worlds[0]
        plans = [
            _Plan(each, seed, range(n, most or sys.maxsize, cores), until)
            for n, each in enumerate(worlds)
        ]
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(lambda plan: _all_processes(plan, counts, found), plans))
        for name, wrong in found.items():
            print(f"{name}: {wrong}")
            if save:
                given = generate(seed, int(name.split(":")[1]), world)
                SAVED.mkdir(exist_ok=True)
                (SAVED / f"{_file_name(given, wrong)}.json").write_text(
                    given.to_json(), encoding="utf-8"
                )
    surfaces = {
        name.removeprefix("surface "): n
        for name, n in sorted(counts.items())
        if name.startswith("surface ")
    }
    codes = {
        name.removeprefix("code "): n
        for name, n in sorted(counts.items())
        if name.startswith("code ")
    }
    print(json.dumps({"inputs": counts["inputs"], "seed": seed, "surfaces": surfaces, "codes": codes, "slowest": counts["slowest ms"] / 1000,
                      "threads": counts["threads"], "most memory in MB": counts["memory"] // 1000, "failed": counts["failed"], "different failures": len(found)}, indent=1))  # fmt: skip
    return len(found)


def replay() -> int:
    """How many of the saved inputs fail again."""
    failed = 0
    with tempfile.TemporaryDirectory(
        prefix="fuzz", dir=MEMORY if MEMORY.is_dir() else None
    ) as folder:
        world = make_world(Path(folder))
        isolate()
        harness = Harness(world)
        for path in sorted(SAVED.glob("*.json")):
            if wrong := harness.run(FuzzInput.from_json(path.read_text(encoding="utf-8"))).wrong:
                failed += 1
                print(f"{path.name}: {wrong}")
        os.chdir(SAVED)
    return failed


@dataclass(frozen=True)
class _Plan:
    """The inputs that the processes work through, one index each."""

    world: Path
    seed: int
    indices: range
    until: float


def _all_processes(plan: _Plan, counts: Counter[str], found: dict[str, str]) -> None:
    while plan.indices and time.monotonic() < plan.until:
        done = _one_process(plan, counts, found)
        plan = replace(plan, indices=plan.indices[done:])


def _one_process(plan: _Plan, counts: Counter[str], found: dict[str, str]) -> int:
    """Runs inputs in a new process until it ends, in whatever way; how many it ran."""
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(writer, plan), daemon=True)
    child.start()
    writer.close()
    done = 0
    try:
        while reader.poll(LONGEST if done else LONGEST + 60):
            surface, ended, threads, memory = reader.recv()
            _count(counts, found, f"{plan.seed}:{plan.indices[done]}", surface, ended)
            counts["threads"] = max(counts["threads"], threads)
            counts["memory"] = max(counts["memory"], memory)
            done += 1
        wrong = f"hang: no end after {LONGEST:g} s"
    except EOFError:
        child.join(5)
        wrong = "" if child.exitcode == 0 else f"the process ended with {child.exitcode}"
    if child.is_alive():
        child.kill()
    if wrong and done < len(plan.indices):
        index = plan.indices[done]
        surface = generate(plan.seed, index, plan.world).surface
        _count(counts, found, f"{plan.seed}:{index}", surface, Ended(wrong=wrong))
        done += 1
    return done


def _work(writer: Any, plan: _Plan) -> None:
    isolate()
    limit_memory()
    os.environ["ANSWERKEY_CACHE"] = str(plan.world / "cache")
    harness = Harness(plan.world)
    for index in plan.indices:
        if time.monotonic() > plan.until:
            break
        given = generate(plan.seed, index, plan.world)
        ended = harness.run(given)
        ended.out = ended.err = ""
        writer.send((given.surface, ended, len(threads_left()), memory_used()))


def _count(
    counts: Counter[str], found: dict[str, str], name: str, surface: str, ended: Ended
) -> None:
    counts["inputs"] += 1
    counts[f"surface {surface}"] += 1
    counts[f"code {ended.code}"] += 1
    counts["slowest ms"] = max(counts["slowest ms"], int(ended.seconds * 1000))
    if ended.wrong:
        counts["failed"] += 1
        kind = _kind(ended.wrong)
        if kind not in {_kind(wrong) for wrong in found.values()}:
            found[name] = ended.wrong
            print(f"{name} {surface}: {ended.wrong}", file=sys.stderr, flush=True)


def _kind(wrong: str) -> str:
    """The same for the same failure: its last place where it has one, else its words without numbers and quotes."""
    if place := re.search(r'File "[^"]*", line \d+, in \w+|\([\w/]+\.py:\d+\)', wrong):
        return place[0]
    return re.sub(r"\d+|'.*|\".*", "", wrong)[:60]


def _file_name(given: FuzzInput, wrong: str) -> str:
    words = re.findall(
        r"[a-z]+", f"{given.surface} {re.sub(r'please report.*', '', wrong)}".lower()
    )
    return "_".join(words)[:60]
