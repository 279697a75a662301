"""Going on with a run that was cut off near its end, beside starting again. Prints the ratio.

    python -m benchmarks.resume [--cases 20000] [--done 0.95]

A tool that keeps no journal starts again: the same command from the beginning stands for it. The journals of a whole run are
cut to the share that is done, with a torn last line as a kill leaves it. Processor time of the whole command, reports and all.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.peers import processor_seconds
from benchmarks.scoring import METRICS, make_cases

SUITE = 'name = "resume"\ncases = ["{log}"]\nmetrics = [{metrics}]\nembedding = "none"\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--done", type=float, default=0.95)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        log = make_cases(home, asked.cases)
        metrics = ", ".join(f'"{metric}"' for metric in METRICS)
        (home / "suite.toml").write_text(SUITE.format(log=log.name, metrics=metrics))
        command = [
            sys.executable,
            "-m",
            "answerkey",
            "run",
            home / "suite.toml",
            "--quiet",
            "--no-charts",
        ]
        whole, _ = processor_seconds(command)
        (run,) = (home / "results").iterdir()
        whole_lines = len((run / "results.jsonl").read_bytes().splitlines())
        for journal in ("responses.jsonl", "scores.jsonl"):
            cut(run / journal, asked.done)
        resumed, _ = processor_seconds([*command, "--resume"])
        lines = len((run / "results.jsonl").read_bytes().splitlines())
        shutil.rmtree(run)
    if lines != whole_lines or lines != asked.cases:
        raise SystemExit(f"{lines} results after resuming, expected {asked.cases}")
    print(
        f"{asked.cases:,} recorded cases, {len(METRICS)} metrics, {asked.done:.0%} done when it was killed; processor time"
    )
    print(
        f"from the beginning {whole:.1f} s   resumed {resumed:.1f} s (every case is read, and every report written)   "
        f"{whole / resumed:.1f} times as fast"
    )


def cut(path: Path, share: float) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    kept = 1 + int((len(lines) - 1) * share)
    path.write_bytes(b"".join(lines[:kept]) + lines[kept][: len(lines[kept]) // 2])


if __name__ == "__main__":
    main()
