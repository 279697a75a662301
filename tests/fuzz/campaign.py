"""`make fuzz MINUTES=20`: as many inputs as fit into the time; what fails is saved under tests/fuzz/cases.

The inputs run in a process of their own, so that one that kills it (a crash in a library, no memory left) is found too.
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
from pathlib import Path
from typing import Any

from tests.fuzz.harness import Ended, FuzzInput, Harness, isolate, threads_left
from tests.fuzz.surfaces import generate
from tests.fuzz.world import make_world

SAVED = Path(__file__).parent / "cases"
MEMORY = Path("/dev/shm")  # files that are only in memory, where the system has such a folder
LONGEST = 60.0  # seconds without an end, after which the process is killed


def fuzz(minutes: float, seed: int, most: int | None, save: bool) -> int:
    """The number of inputs that failed in a way that no other did before."""
    counts: Counter[str] = Counter()
    found: dict[str, str] = {}
    until, index = time.monotonic() + minutes * 60, 0
    with tempfile.TemporaryDirectory(prefix="fuzz", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        world = make_world(Path(folder))
        while time.monotonic() < until and (most is None or index < most):
            index = _one_process(world, seed, index, until, most, counts, found)
        for name, wrong in found.items():
            print(f"{name}: {wrong}")
            if save:
                given = generate(seed, int(name.split(":")[1]), world)
                SAVED.mkdir(exist_ok=True)
                (SAVED / f"{_file_name(given, wrong)}.json").write_text(given.to_json(), encoding="utf-8")
    surfaces = {name.removeprefix("surface "): n for name, n in sorted(counts.items()) if name.startswith("surface ")}
    codes = {name.removeprefix("code "): n for name, n in sorted(counts.items()) if name.startswith("code ")}
    print(json.dumps({"inputs": counts["inputs"], "seed": seed, "surfaces": surfaces, "codes": codes, "slowest": counts["slowest ms"] / 1000,
                      "threads": counts["threads"], "failed": counts["failed"], "different failures": len(found)}, indent=1))  # fmt: skip
    return len(found)


def replay() -> int:
    """How many of the saved inputs fail again."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="fuzz", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        world = make_world(Path(folder))
        isolate()
        harness = Harness(world)
        for path in sorted(SAVED.glob("*.json")):
            if wrong := harness.run(FuzzInput.from_json(path.read_text(encoding="utf-8"))).wrong:
                failed += 1
                print(f"{path.name}: {wrong}")
        os.chdir(SAVED)
    return failed


def _one_process(
    world: Path, seed: int, start: int, until: float, most: int | None, counts: Counter[str], found: dict[str, str]
) -> int:
    """Runs inputs in a new process until it ends, in whatever way; the index to go on from."""
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(writer, str(world), seed, start, until, most), daemon=True)
    child.start()
    writer.close()
    index = start
    try:
        while reader.poll(LONGEST + 60 if index == start else LONGEST):
            index, surface, ended, threads = reader.recv()
            _count(counts, found, f"{seed}:{index}", surface, ended, threads)
            index += 1
        wrong = f"hang: no end after {LONGEST:g} s"
    except EOFError:
        child.join(5)
        wrong = "" if child.exitcode == 0 else f"the process ended with {child.exitcode}"
    if child.is_alive():
        child.kill()
    if wrong:
        given = generate(seed, index, world)
        _count(counts, found, f"{seed}:{index}", given.surface, Ended(wrong=wrong), 0)
        index += 1
    return index


def _work(writer: Any, world: str, seed: int, start: int, until: float, most: int | None) -> None:
    folder = Path(world)
    isolate()
    os.environ["ANSWERKEY_CACHE"] = str(folder / "cache")
    harness = Harness(folder)
    index = start
    while time.monotonic() < until and (most is None or index < most):
        given = generate(seed, index, folder)
        ended = harness.run(given)
        ended.out = ended.err = ""
        writer.send((index, given.surface, ended, len(threads_left())))
        index += 1


def _count(counts: Counter[str], found: dict[str, str], name: str, surface: str, ended: Ended, threads: int) -> None:
    counts["inputs"] += 1
    counts[f"surface {surface}"] += 1
    counts[f"code {ended.code}"] += 1
    counts["slowest ms"] = max(counts["slowest ms"], int(ended.seconds * 1000))
    counts["threads"] = max(counts["threads"], threads)
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
    words = re.findall(r"[a-z]+", f"{given.surface} {re.sub(r'please report.*', '', wrong)}".lower())
    return "_".join(words)[:60]
