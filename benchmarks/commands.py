"""Whole commands as users type them: a small run with all reports, a judged run, the demo. Prints times and ratios.

    python -m benchmarks.commands [--rounds 3]

The small run and the demo are in processor time, beside `python -c pass`. The judged run is on the clock, from the shell: 200
cases, 20 calls at once, 200 ms each, so ideally 2 s; what is above that is starting, scoring and writing reports. The best of
the rounds counts.
"""

from __future__ import annotations

import argparse
import compileall
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.judge import serve
from benchmarks.judge_tools import EXPECTED, QUESTION, answers
from benchmarks.peers import ROOT, processor_seconds

LATENCY, AT_ONCE, JUDGED, SMALL = 0.2, 20, 200, 20
ANSWERKEY = (sys.executable, "-c", "from answerkey.cli.main import main; main()")
SUITE = """
name = "bench"
cases = ["cases.jsonl"]
metrics = ["token_f1", "keyword_recall", "rouge_l", {metrics}]
{more}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    compileall.compile_dir(ROOT / "src", quiet=1)  # as an installed package is
    nothing = min(processor_seconds([sys.executable, "-c", "pass"])[0] for _ in range(rounds))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        small = min(
            processor_seconds(run_of(home, SMALL), env=environment(home))[0] for _ in range(rounds)
        )
        print(
            f"a run of {SMALL} recorded cases, all reports: {small:.2f} s of processor time (budget 0.6)"
        )
        print(f"that is {small / nothing:.0f} times `python -c pass`")
        demo = min(
            processor_seconds([*ANSWERKEY, "demo"], cwd=home, env=environment(home))[0]
            for _ in range(1)
        )
        print(f"the demo: {demo:.1f} s of processor time (budget 12)")
        seconds = min(judged(home) for _ in range(rounds))
    ideal = JUDGED * LATENCY / AT_ONCE
    print(
        f"a run of {JUDGED} judged cases, {AT_ONCE} at once, {LATENCY * 1e3:g} ms a call: {seconds:.2f} s on the clock"
    )
    print(f"the ideal is {ideal:.2f} s, so {seconds - ideal:+.2f} s (budget +0.90)")


def run_of(
    home: Path, count: int, metrics: str = "", more: str = 'embedding = "none"'
) -> list[object]:
    """The command that runs so many recorded cases."""
    rows = [
        {
            "id": f"c{n}",
            "question": f"{QUESTION} ({n})",
            "expected": EXPECTED,
            "answer": text,
            "contexts": [EXPECTED],
        }
        for n, text in enumerate(answers(count))
    ]
    (home / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (home / "suite.toml").write_text(SUITE.format(metrics=metrics, more=more))
    return [*ANSWERKEY, "run", home / "suite.toml", "--quiet"]


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "ANSWERKEY_CACHE": str(home / "cache")}


def judged(home: Path) -> float:
    """Seconds on the clock of the judged run; the judge remembers nothing."""
    ours, mine = multiprocessing.Pipe()
    endpoint = multiprocessing.get_context("spawn").Process(
        target=serve, args=(mine, LATENCY), daemon=True
    )
    endpoint.start()
    judge = f'[judge]\nbase_url = "http://127.0.0.1:{ours.recv()}/v1"\nmodel = "fake"\nconcurrency = {AT_ONCE}\ncache = false'
    command = run_of(home, JUDGED, '"judge.relevance"', f'embedding = "none"\n{judge}')
    began = time.perf_counter()
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env=environment(home),
        check=False,
    )
    seconds = time.perf_counter() - began
    endpoint.terminate()
    if done.returncode not in (0, 1):
        raise SystemExit(f"the judged run failed:\n{done.stderr}")
    return seconds


if __name__ == "__main__":
    main()
