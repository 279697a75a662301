"""Recorded cases with every deterministic metric, beside pydantic-evals. Prints cases a second, the ratio and memory.

    python -m benchmarks.scoring [--cases N] [--peer-cases N]

Ours is the whole command: read, score, journal, summary, every report. The peer runs two ways: with evaluators as
its users write them (sacrebleu, rouge-score), and with our own metric functions, so that only the harness differs.
It is timed on fewer cases. Ratios are of the time a case takes once the program runs: each side is timed on two sizes
and the start, which is the same for both, taken out. The lines on the clock compare whole runs on the clock: ours with a process
per core, as it is by default, and the peer, which has one.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.peers import ROOT, peer_python, processor_seconds, version_of

METRICS = (
    "exact_match", "keyword_recall", "token_f1", "rouge_l", "chrf", "answer_length", "politeness", "latency_ms",
    "contains", "contains_any", "not_contains", "number_in_range", "number_close", "regex", "citation_validity",
    "citation_coverage", "abstention",
)  # fmt: skip
WORDS = (
    "sales", "revenue", "report", "month", "year", "product", "store", "leave", "policy", "employee", "refund", "return",
    "price", "total", "average", "growth", "please", "thank", "sorry", "branch", "stock", "order", "12%", "RM 1,200.50", "[1]",
)  # fmt: skip
PROGRAM = """
import resource
from answerkey.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


HOWS = {
    "users": "evaluators as its users write them",
    "ours": "our metric functions in its harness",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--peer-cases", type=int, default=2_000)
    asked = parser.parse_args()
    few, peer_few = max(asked.cases // 10, 1), max(asked.peer_cases // 10, 1)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        seconds, memory, _ = measure_ours(home, asked.cases, "--jobs", "1")
        few_seconds, few_memory, _ = measure_ours(home, few, "--jobs", "1")
        clock = measure_ours(home, asked.cases)[2] - measure_ours(home, few)[2]
        each = (seconds - few_seconds) / (asked.cases - few)
        print(f"{asked.cases:,} recorded cases, {len(METRICS)} metrics, processor time")
        print(
            f"answerkey {seconds:.1f} s, {asked.cases / seconds:,.0f} cases/s with its start, {1 / each:,.0f} without; "
            f"most memory {memory} MB ({few_memory} MB for a tenth of them)"
        )
        python = peer_python(
            "pydantic-evals",
            ["pydantic-evals", "sacrebleu", "rouge-score", "rapidfuzz", "numpy", "msgspec"],
        )
        version = version_of(python, "pydantic-evals")
        for how, told in HOWS.items():
            many, start = (
                measure_peer(python, make_cases(home, n), how) for n in (asked.peer_cases, peer_few)
            )
            peer_each, peer_clock = (
                (a - b) / (asked.peer_cases - peer_few) for a, b in zip(many, start, strict=True)
            )
            print(
                f"pydantic-evals {version}, {told}: {1 / peer_each:,.0f} cases/s without its start "
                f"({asked.peer_cases:,} timed)   {peer_each / each:.1f} times as fast"
            )
            print(
                f"on the clock, with a process per core: {(asked.cases - few) / clock:,.0f} cases/s beside "
                f"{1 / peer_clock:,.0f}   {peer_clock * (asked.cases - few) / clock:.1f} times as fast"
            )


def measure_peer(python: Path, cases: Path, how: str) -> tuple[float, float]:
    """Seconds of processor time and on the clock."""
    script = ROOT / "benchmarks" / "peer_pydantic_evals.py"
    env = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": "/usr/bin"}
    began = time.perf_counter()
    return processor_seconds([python, script, cases, how], env=env)[0], time.perf_counter() - began


def measure_ours(home: Path, count: int, *more: str) -> tuple[float, int, float]:
    """Processor seconds, the most memory in MB, and seconds on the clock of `answerkey score` on so many cases."""
    path = make_cases(home, count)
    command = [
        "score",
        path,
        "--metrics",
        ",".join(METRICS),
        "--quiet",
        "--no-charts",
        "--out",
        home / "results",
    ]
    began = time.perf_counter()
    seconds, shown = processor_seconds([sys.executable, "-c", PROGRAM, *command, *more])
    return seconds, int(shown.strip().splitlines()[-1]), time.perf_counter() - began


def make_cases(home: Path, count: int) -> Path:
    picker = random.Random(1)
    path = home / f"cases_{count}.jsonl"

    def text(words: int) -> str:
        return " ".join(picker.choices(WORDS, k=words))

    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            criteria = {
                "must_contain": ["sales"],
                "must_contain_any": ["price"],
                "must_not_contain": ["fake"],
                "expected_value": 12,
                "numerical_range": [10, 20],
            }
            row = {
                "id": f"c{number}",
                "question": text(8),
                "expected": text(25),
                "answer": text(30),
                "response_time": 0.5,
                "answer_criteria": criteria,
            }
            file.write(json.dumps(row) + "\n")
    return path


if __name__ == "__main__":
    main()
