"""A log of recorded interactions scored and summarised: what a case costs and how much memory it takes as the log grows.

    python -m benchmarks.scale [--cases 1000000] [--small 10000] [--ray] [--workers 2]

Every interaction is about 1 KB: a question, an expected answer, an answer, two passages, a route, criteria. Ours is the whole
command (`answerkey run`: read, check, score, journal, summary, every report but the pictures), in processor time, which a
busy machine changes little. With --ray the same log is scored on Ray inside this machine, and its summary must be the
same to the last digit. Ends with code 1 where memory reaches 1 GB, a case costs over 1.2 times as much, or digits differ.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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
print("MEMORY", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
WORDS = """
    refund policy order warehouse annual leave employee manager revenue quarter growth customer return receipt member store
    online delivery the of a in for is was within after before days months approved carried report invoice payment branch
"""
VOCABULARY = WORDS.split()
ROUTES = ("sales_kpi", "hr_kpi", "documents", "visual")
LARGEST_RATIO, MOST_MEMORY = 1.2, 1024
NOT_THE_RUN = ("timestamp", "created")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--small", type=int, default=10_000)
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--home", type=Path, help="where the log and the runs are made and kept; else in a place that is removed"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as aside:
        home = asked.home or Path(aside)
        home.mkdir(parents=True, exist_ok=True)
        return measure(home, asked)


def measure(home: Path, asked: argparse.Namespace) -> int:
    missed: list[str] = []
    size = make_log(home / f"log_{asked.cases}.jsonl", asked.cases).stat().st_size / asked.cases
    print(f"{asked.cases:,} recorded interactions of {size:,.0f} bytes, {len(METRICS)} metrics, processor time")
    # The small run before and after the large one: a machine that others use is not the same at both ends of an hour.
    before, small_memory, _ = run(home, asked.small)
    large, memory, summary = run(home, asked.cases)
    small = (before + run(home, asked.small)[0]) / 2
    ratio = (large / asked.cases) / (small / asked.small)
    print(
        f"local: {asked.cases / large:,.0f} cases/s, most memory {memory} MB "
        f"({small_memory} MB and {asked.small / small:,.0f} cases/s at {asked.small:,})"
    )
    print(
        f"a case at {asked.cases:,} costs {ratio:.2f} times one at {asked.small:,} (to reach: {LARGEST_RATIO} or less)"
    )
    if memory >= MOST_MEMORY:
        missed.append(f"memory {memory} MB")
    if ratio > LARGEST_RATIO:
        missed.append(f"cost ratio {ratio:.2f}")
    if asked.ray:
        began = time.perf_counter()
        _, driver, other = run(home, asked.cases, "--engine", "ray", "--workers", str(asked.workers))
        same = figures(other) == figures(summary)
        print(
            f"ray, {asked.workers} workers: {time.perf_counter() - began:.0f} s on the clock, driver's most memory {driver} MB; "
            f"summary {'the same to the last digit' if same else 'DIFFERS'}"
        )
        if not same:
            missed.append("the summaries differ")
    if missed:
        print(f"missed: {'; '.join(missed)}")
    return 1 if missed else 0


def run(home: Path, count: int, *more: str) -> tuple[float, int, Path]:
    """Processor seconds with all child processes, the most memory of the command itself in MB, and its summary."""
    log = make_log(home / f"log_{count}.jsonl", count)
    out = home / f"runs_{count}{'_'.join(more)}".replace("--", "_")
    (home / "suite.toml").write_text(SUITE.format(log=log.name, metrics=json.dumps(METRICS), out=out.name))
    command = ["run", home / "suite.toml", "--quiet", "--no-charts", *more]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, command)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"answerkey {' '.join(map(str, command))} failed:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = int(done.stdout.rpartition("MEMORY")[2])
    return seconds, memory, max(out.glob("*/summary.json"), key=lambda path: path.stat().st_mtime)


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
                "answer_criteria": {"must_contain": [chance.choice(VOCABULARY)], "numerical_range": [1000, 50_000]},
            }
            file.write(json.dumps(row) + "\n")
    return path.with_suffix(".new").rename(path)


if __name__ == "__main__":
    sys.exit(main())
