"""A Ray cluster of two nodes on this machine, started as users do; one node is killed in the middle of a run.

    python -m benchmarks.cluster [--cases 100000] [--port 6399]

The second node has the address 127.0.0.2. The summary must equal that of a local run to the last digit, with every
case in it. Ends with code 1 where it does not.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from benchmarks.scale import PROGRAM, SUITE, figures, make_log

METRICS = '["exact_match", "keyword_recall", "token_f1", "rouge_l", "contains", "number_in_range"]'
RAY = Path(sys.executable).with_name("ray")
# Every node and the command need the same token; one of our own, so that none in the user's home is touched.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--port", type=int, default=6399)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        make_log(home / "log.jsonl", asked.cases)
        local, _ = finish(start(home, "local"), home / "local")
        nodes = [node(home, "--head", "--port", str(asked.port))]
        try:
            wait_until(lambda: connects(asked.port), 120)
            address = f"127.0.0.1:{asked.port}"
            nodes.append(node(home, "--address", address, "--node-ip-address", "127.0.0.2"))
            wait_until(lambda: nodes_alive(address) == 2, 240)
            run = start(home, "cluster", "--engine", "ray", "--address", address)
            wait_until(lambda: stored(home) >= asked.cases // 3 or run.poll() is not None, 900)
            before = stored(home)
            kill(nodes.pop())
            cluster, said = finish(run, home / "cluster")
        finally:
            for each in nodes:
                kill(each)
    same = cluster == local
    print(f"{asked.cases:,} cases on two nodes, one killed after {before:,} cases were merged")
    print(
        f"lost shards: {said.count('a process was lost')}; "
        f"summary {'the same to the last digit' if same else 'DIFFERS'}"
    )
    return 0 if same else 1


def node(home: Path, *options: str) -> subprocess.Popen[bytes]:
    """A node of one processor, in a process group of its own: killing the group is the loss of the machine."""
    fixed = (
        "--num-cpus",
        "1",
        "--object-store-memory",
        "100000000",
        "--block",
        "--disable-usage-stats",
    )
    head = (
        ("--include-dashboard", "false", "--temp-dir", f"/tmp/ray-{os.getpid()}")
        if "--head" in options
        else ()
    )
    log = (home / f"node{len(list(home.glob('node*')))}.log").open("wb")
    command = [str(RAY), "start", *options, *fixed, *head]
    return subprocess.Popen(
        command, stdout=log, stderr=log, env={**os.environ, **QUIET}, start_new_session=True
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """All processes of a node: those of its session."""
    found = subprocess.run(
        ["ps", "-s", str(process.pid), "-o", "pid="], capture_output=True, text=True, check=False
    )
    for pid in found.stdout.split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    process.wait()


def start(home: Path, out: str, *more: str) -> subprocess.Popen[str]:
    (home / f"{out}.toml").write_text(SUITE.format(log="log.jsonl", metrics=METRICS, out=out))
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        "run",
        str(home / f"{out}.toml"),
        "--no-charts",
        *more,
    ]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **QUIET},
    )


def finish(run: subprocess.Popen[str], out: Path) -> tuple[dict[str, object], str]:
    """The figures of the summary, and what was written to standard error."""
    _, said = run.communicate(timeout=1800)
    if run.returncode != 0:
        raise SystemExit(f"the run in {out.name} failed with {run.returncode}:\n{said[-3000:]}")
    summary = figures(next(out.glob("*/summary.json")))
    return {key: value for key, value in summary.items() if key not in ("name", "notes")}, said


def stored(home: Path) -> int:
    """How many cases the run on the cluster has taken over from its shards."""
    for path in home.glob("cluster/*/run.sqlite"):
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
            return int(connection.execute("SELECT count(*) FROM verdicts").fetchone()[0])
    return 0


def connects(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def nodes_alive(address: str) -> int:
    code = f"import ray; ray.init('{address}', logging_level='ERROR'); print(sum(n['Alive'] for n in ray.nodes()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **QUIET},
        check=False,
    )
    return int(done.stdout.split()[-1]) if done.returncode == 0 and done.stdout.strip() else 0


def wait_until(ready: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise SystemExit(f"not ready after {seconds:g} seconds")
        time.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main())
