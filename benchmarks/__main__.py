"""Every benchmark, one after the other, each in a process of its own; writes benchmarks/RESULTS.md.

    make bench                                   # or: python -m benchmarks
    python -m benchmarks --full                  # the sizes of the targets: 1,000,000 cases; hours
    python -m benchmarks --quick                 # small sizes, minutes
    python -m benchmarks --only ranking,sweep    # some of them; the others keep the result they had
    python -m benchmarks --data DIR              # with the public collections that `retrieval` needs

A benchmark that fails, or takes longer than its time, is reported as failed. Ends with code 1 where one did.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.peers import ROOT
from benchmarks.results import Result, machine, write_results
from benchmarks.table import BENCHMARKS, Benchmark

KEPT = ROOT / "benchmarks" / "results.json"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_const", const="quick", dest="size", default="sizes")
    sizes.add_argument("--full", action="store_const", const="full", dest="size")
    parser.add_argument("--only", default=",".join(BENCHMARKS), help="names, comma-separated")
    parser.add_argument("--data", type=Path, help="a folder with public collections")
    asked = parser.parse_args()
    unknown = [name for name in asked.only.split(",") if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    kept = json.loads(KEPT.read_text()) if KEPT.is_file() else {}
    for name in asked.only.split(","):
        print(f"{name} …", file=sys.stderr, flush=True)
        result = run(
            name, BENCHMARKS[name], size=asked.size, data=asked.data and asked.data.resolve()
        )
        print(
            "\n".join(f"  {line}" for line in (result["lines"] or [result["problem"]])),
            file=sys.stderr,
            flush=True,
        )
        kept[name] = result
        KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        write_results(
            ROOT / "benchmarks" / "RESULTS.md",
            {each: kept[each] for each in BENCHMARKS if each in kept},
        )
    return 1 if any(kept[name]["state"] == "failed" for name in asked.only.split(",")) else 0


def run(name: str, benchmark: Benchmark, *, size: str, data: Path | None) -> Result:
    """What a benchmark printed; or why it was left out or failed."""
    words = list(getattr(benchmark, size))
    minutes = benchmark.full_minutes if size == "full" else benchmark.minutes
    command = ["python", "-m", f"benchmarks.{name}", *words]
    about = {
        "command": " ".join(command),
        "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
    }
    if benchmark.needs_data and data is None:
        return Result(
            **about,
            state="left out",
            problem="it needs --data DIR with public collections",
            lines=[],
            seconds=0.0,
        )
    if benchmark.needs_data:
        words += ["--data", str(data)]
        about["command"] += " --data DIR"
    began = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", *words],
            cwd=ROOT, capture_output=True, text=True, timeout=minutes * 60, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        late = f"it took longer than {minutes} minutes"
        return Result(**about, state="failed", problem=late, lines=[], seconds=minutes * 60.0)
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    problem = (
        ""
        if done.returncode == 0
        else (done.stderr.strip().splitlines() or lines or [f"code {done.returncode}"])[-1]
    )
    state = "done" if done.returncode == 0 else "failed"
    return Result(
        **about,
        state=state,
        problem=problem,
        lines=lines,
        seconds=round(time.monotonic() - began, 1),
    )


if __name__ == "__main__":
    sys.exit(main())
