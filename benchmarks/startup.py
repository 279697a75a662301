"""What it costs to import answerkey and to ask it for help, beside importing its peers. Prints the ratios.

    python -m benchmarks.startup [--rounds 5]

Processor time of a fresh Python above that of `python -c pass`, with files already in memory; tools take turns and the
best of the rounds counts. `import answerkey` loads nothing until a name is used, so the ratios are of all that a run needs.
Each peer has an environment of its own under .venvs/, made on the first run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.judge import PEERS as JUDGING
from benchmarks.peers import peer_python, processor_seconds, version_of

QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "RAGAS_DO_NOT_TRACK": "true",
}
RUN = "import answerkey.runs.execute, answerkey.metrics.overlap, answerkey.reports.write"
NEEDED = "import all that a run needs"
HELP = "import sys; sys.argv = ['answerkey', '--help']; from answerkey.cli.main import main; main()"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    here = Path(sys.executable)
    programs = {
        "python -c pass": (here, "pass"),
        "import answerkey": (here, "import answerkey"),
        "answerkey --help": (here, HELP),
        NEEDED: (here, RUN),
    }
    versions: dict[str, str] = {}
    for label, module, package, python in peers():
        problem = why_not(python, module)
        if problem:
            print(
                f"{label} {version_of(python, package)}: left out, as installed it cannot be imported: {problem}"
            )
            continue
        programs[label] = (python, f"import {module}")
        versions[label] = version_of(python, package)
    best = measure(programs, rounds)
    nothing = best.pop("python -c pass")
    needed = max(best[NEEDED] - nothing, 0.001)
    print(f"processor time above `python -c pass` ({nothing * 1e3:.0f} ms), best of {rounds}")
    for label in ("import answerkey", "answerkey --help", NEEDED):
        print(f"{label}: {(best.pop(label) - nothing) * 1e3:.0f} ms")
    for label, seconds in best.items():
        print(
            f"import {label} {versions[label]}: {(seconds - nothing) * 1e3:.0f} ms   "
            f"all that a run of ours needs is {(seconds - nothing) / needed:.1f} times as fast"
        )


def peers() -> list[tuple[str, str, str, Path]]:
    """Label, module, package and Python of each peer; the environments of the judge benchmark serve here too."""
    judging = {"autoevals": "autoevals", "pydantic-evals": "pydantic_evals", "deepeval": "deepeval"}
    found = [
        (name, module, name, peer_python(f"judge-{name}", JUDGING[name]))
        for name, module in judging.items()
    ]
    found.append(("inspect", "inspect_ai", "inspect-ai", peer_python("inspect", ["inspect-ai"])))
    # ragas imports a module that later versions of langchain-community no longer have.
    found.append(
        ("ragas", "ragas", "ragas", peer_python("ragas", ["ragas", "langchain-community<0.4"]))
    )
    return found


def why_not(python: Path, module: str) -> str:
    """The last line of what a failing import says; empty where it works."""
    done = subprocess.run(
        [python, "-c", f"import {module}"],
        capture_output=True,
        text=True,
        env={**os.environ, **QUIET},
        check=False,
    )
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def measure(programs: dict[str, tuple[Path, str]], rounds: int) -> dict[str, float]:
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds + 1):  # one more: the first compiles and reads from disk
            for label, (python, code) in programs.items():
                seconds, _ = processor_seconds(
                    [python, "-c", code], cwd=folder, env={**os.environ, **QUIET}
                )
                best[label] = min(best.get(label, seconds), seconds)
    return best


if __name__ == "__main__":
    main()
