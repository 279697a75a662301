"""Going on with a run that was cut off near its end, beside starting again. Prints the ratio.

    python -m benchmarks.resume [--cases 20000] [--done 0.95]
    python -m benchmarks.resume --stored 1000000

A tool that keeps nothing starts again: the same command from the beginning stands for it. The database of a whole run is
cut to the share that is done. Processor time of the whole command, reports and all. With --stored, only how long it takes
to find out what is left of a run with so many finished cases; its rows are copies of a few, at places of their own.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from answerkey.runs.execute import execute_suite
from answerkey.runs.manifest import write_manifest
from answerkey.runs.repair import prepare_resume
from answerkey.runs.resume import finished_before
from answerkey.runs.store import read_manifest
from answerkey.runs.suite import load_suite
from benchmarks.peers import processor_seconds
from benchmarks.scoring import METRICS, make_cases

SUITE = 'name = "resume"\ncases = ["{log}"]\nmetrics = [{metrics}]\nembedding = "none"\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--done", type=float, default=0.95)
    parser.add_argument("--stored", type=int)
    asked = parser.parse_args()
    if asked.stored:
        measure_state(asked.stored)
        return
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


def measure_state(count: int) -> None:
    """The time of `prepare_resume` and of counting what is finished, in a run with `count` cases."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        log = make_cases(home, 256)
        (home / "suite.toml").write_text(SUITE.format(log=log.name, metrics='"exact_match"'))
        run = execute_suite(load_suite(home / "suite.toml")).folder
        multiply(run / "run.sqlite", count)
        size = (run / "run.sqlite").stat().st_size / 1e6
        write_manifest(run, replace(read_manifest(run), records=None).as_begun())
        clock = time.perf_counter()
        processor = time.process_time()
        state = prepare_resume(run)
        finished = finished_before(run, state).cases
        used = time.process_time() - processor
        passed = time.perf_counter() - clock
    if finished != count:
        raise SystemExit(f"{finished} cases are finished, expected {count}")
    print(
        f"{count:,} finished cases in {size:,.0f} MB: what is left is known after {used:.1f} s of "
        f"processor time, {passed:.1f} s on the clock"
    )


def multiply(path: Path, count: int) -> None:
    """Copy the rows of a run until it has so many cases."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("answers", "verdicts"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            shifted = {"place": "place + ?1", "n": "n + ?1", "number": "number + ?1"}
            values = ", ".join(shifted.get(name, name) for name in columns)
            (have,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            while have < count:
                connection.execute(
                    f"INSERT INTO {table} SELECT {values} FROM {table} WHERE place < ?2",
                    (have, count - have),
                )
                have = min(2 * have, count)


def forget(path: Path, count: int) -> None:
    """The run as it was when it had so many answers."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("answers", "verdicts"):
            connection.execute(f"DELETE FROM {table} WHERE place >= ?", (count,))
        for table in ("cases", "scores", "texts"):
            connection.execute(f"DELETE FROM {table} WHERE n >= ?", (count,))


if __name__ == "__main__":
    main()
