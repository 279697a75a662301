"""Going on with a run that was cut off near its end, beside starting again. Prints the ratio.

    python -m benchmarks.resume [--cases 20000] [--done 0.95]

A tool that keeps no journal starts again: the same command from the beginning stands for it. The journals of a whole run are
cut to the share that is done, with a torn last line as a kill leaves it. Processor time of the whole command, reports and all.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
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
        forget(run / "run.sqlite", int(asked.cases * asked.done))
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


def forget(path: Path, count: int) -> None:
    """The run as it was when it had so many answers."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("answers", "verdicts"):
            connection.execute(f"DELETE FROM {table} WHERE place >= ?", (count,))
        for table in ("cases", "scores", "texts"):
            connection.execute(f"DELETE FROM {table} WHERE n >= ?", (count,))


if __name__ == "__main__":
    main()
