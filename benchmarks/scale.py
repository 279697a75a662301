"""A log of recorded interactions scored and summarised: what a case costs and how much memory it takes as the log grows.

    python -m benchmarks.scale [--cases 1000000] [--small 10000] [--ray] [--workers 2]

Every interaction is about 1 KB: a question, an expected answer, an answer, two passages, a route, criteria. Ours is the whole
command (`answerkey run`: read, check, score, journal, summary, every report but the charts), with one process and with
--workers of them; with --ray on Ray inside this machine, too. All summaries must be the same to the last digit. Ends with
code 1 where they differ, where a process takes more than 250 MB, or a case costs over 1.2 times as much as in a small run.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import processor_seconds
from benchmarks.scoring import METRICS

SUITE = """
name = "scale"
cases = ["{log}"]
metrics = {metrics}
embedding = "none"
[run]
out = "{out}"
"""
PROGRAM = """
import resource
from answerkey.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
used = [resource.getrusage(who).ru_maxrss // 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print("MEMORY", *used)
"""
WORDS = """
    refund policy order warehouse annual leave employee manager revenue quarter growth customer return receipt member store
    online delivery the of a in for is was within after before days months approved carried report invoice payment branch
"""
VOCABULARY = WORDS.split()
ROUTES = ("sales_kpi", "hr_kpi", "documents", "visual")
LARGEST_RATIO, MOST_MEMORY = 1.2, 250
NOT_THE_RUN = ("timestamp", "created")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--small", type=int, default=10_000)
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--home",
        type=Path,
        help="where the log and the runs are made and kept; else in a place that is removed",
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as aside:
        home = asked.home or Path(aside)
        home.mkdir(parents=True, exist_ok=True)
        return measure(home, asked)


def measure(home: Path, asked: argparse.Namespace) -> int:
    missed: list[str] = []
    size = make_log(home / f"log_{asked.cases}.jsonl", asked.cases).stat().st_size / asked.cases
    print(f"{asked.cases:,} recorded interactions of {size:,.0f} bytes, {len(METRICS)} metrics")
    # The small run before and after the large one: a machine that others use is not the same at both ends of an hour.
    before = run(home, asked.small, "--jobs", "1")
    one = run(home, asked.cases, "--jobs", "1")
    small = (before.processor + run(home, asked.small, "--jobs", "1").processor) / 2
    ratio = (one.processor / asked.cases) / (small / asked.small)
    print(
        f"one process: {asked.cases / one.processor:,.0f} cases/s of processor time, {one.clock:.0f} s on the clock, most memory "
        f"{one.memory} MB ({before.memory} MB and {asked.small / small:,.0f} cases/s at {asked.small:,})"
    )
    print(
        f"a case at {asked.cases:,} costs {ratio:.2f} times one at {asked.small:,} (to reach: {LARGEST_RATIO} or less)"
    )
    several = run(home, asked.cases, "--jobs", str(asked.workers))
    print(
        f"{asked.workers} processes: {several.clock:.0f} s on the clock, {one.clock / several.clock:.2f} times as fast as one; "
        f"most memory {several.memory} MB, of a child {several.child} MB"
    )
    if max(one.memory, several.memory, several.child) > MOST_MEMORY:
        missed.append(f"a process takes more than {MOST_MEMORY} MB")
    if ratio > LARGEST_RATIO:
        missed.append(f"cost ratio {ratio:.2f}")
    if figures(several.summary) != figures(one.summary):
        missed.append(f"with {asked.workers} processes the summary differs")
    if asked.ray:
        ray = run(home, asked.cases, "--engine", "ray", "--workers", str(asked.workers))
        print(
            f"ray, {asked.workers} workers: {ray.clock:.0f} s on the clock, {several.clock / ray.clock:.2f} times as fast as "
            f"{asked.workers} processes; driver's most memory {ray.memory} MB"
        )
        if figures(ray.summary) != figures(one.summary):
            missed.append("on Ray the summary differs")
    print(
        f"missed: {'; '.join(missed)}" if missed else "all summaries are the same to the last digit"
    )
    return 1 if missed else 0


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of processor time with all child processes and on the clock; most memory in MB of the command and of a child."""

    processor: float
    clock: float
    memory: int
    child: int
    summary: Path


def run(home: Path, count: int, *more: str) -> Measured:
    log = make_log(home / f"log_{count}.jsonl", count)
    out = home / f"runs_{count}{'_'.join(more)}".replace("--", "_")
    (home / "suite.toml").write_text(
        SUITE.format(log=log.name, metrics=json.dumps(METRICS), out=out.name)
    )
    command = ["run", home / "suite.toml", "--quiet", "--no-charts", *more]
    began = time.perf_counter()
    seconds, shown = processor_seconds([sys.executable, "-c", PROGRAM, *command])
    memory, child = map(int, shown.rpartition("MEMORY")[2].split())
    summary = max(out.glob("*/summary.json"), key=lambda path: path.stat().st_mtime)
    return Measured(seconds, time.perf_counter() - began, memory, child, summary)


def figures(path: Path) -> dict[str, object]:
    """The summary without the times it was made at, and without what was set for one engine only."""
    summary = json.loads(path.read_text())
    return {key: value for key, value in summary.items() if key not in (*NOT_THE_RUN, "settings")}


def make_log(path: Path, count: int) -> Path:
    """The same log at every call, made once."""
    if path.is_file():
        return path
    chance = random.Random(11)

    def text(words: int) -> str:
        return " ".join(chance.choices(VOCABULARY, k=words))

    with path.with_suffix(".new").open("w", encoding="utf-8") as file:
        for number in range(count):
            route = chance.choice(ROUTES)
            row = {
                "id": f"i{number}",
                "question": f"{text(10)}?",
                "expected": text(25),
                "answer": f"{text(28)} RM {chance.randint(100, 99_999):,} [1]. {text(12)}.",
                "contexts": [text(30), text(24)],
                "route": route,
                "expected_route": route if chance.random() < 0.8 else "documents",
                "type": chance.choice(("kpi", "policy", "howto")),
                "response_time": round(chance.lognormvariate(0, 0.5), 3),
                "answer_criteria": {
                    "must_contain": [chance.choice(VOCABULARY)],
                    "numerical_range": [1000, 50_000],
                },
            }
            file.write(json.dumps(row) + "\n")
    return path.with_suffix(".new").rename(path)


if __name__ == "__main__":
    sys.exit(main())
