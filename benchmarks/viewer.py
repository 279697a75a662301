"""The viewer with a large run: processor time of the server per page, and its memory.

The run folder is made by this script: `--cases` cases with answers of `--length` characters, three metrics with details,
and a profile. The server is `answerkey view` in a process of its own; the times are processor time of the
server, with what it prepares in the background. `cold` is without anything in the cache folder, `reopened` a new server with it.
With `--runs`, so many runs of 1,000 cases are made as well, and their table side by side is timed.

    python -m benchmarks.viewer
    python -m benchmarks.viewer --cases 100000 --length 1000 --runs 20
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from answerkey.profiles import decide_verdict, load_profile
from answerkey.reports.write import write_reports
from answerkey.runs.manifest import stored_manifest
from answerkey.runs.store import FolderStore
from answerkey.types import Case, Outcome, Profile, Response, Score

PROFILE = {
    "name": "two-part",
    "version": 1,
    "pass": 0.6,
    "bands": [
        {"name": "good", "at": 0.6, "status": "PASSED"},
        {"name": "poor", "at": 0.0, "status": "FAILED"},
    ],
    "criteria": [
        {"metric": "fact_recall", "weight": 0.6},
        {"metric": "groundedness", "weight": 0.4},
    ],
}
BLOCK = 500
PAGES = {
    "first page": "", "sorted by a metric": "?sort=fact_recall", "filtered": "?type=t3", "last page": "?page=100",
    "charts": "?tab=charts", "one case": "/case/500", "the page as JSON": "?format=json",
    "search, few hits": "?q=%s+%s", "search, no hit": "?q=zebrafish+zq", "search, every case": "?q=Answer",
    "search while typing": "?q=%s+%s&part=cases",
}  # fmt: skip
_CASES_OF_MANY = 1000


def make_run(folder: Path, cases: int, length: int, seed: int = 7) -> list[str]:
    """A database as a run leaves it; returns the words of the answers."""
    source = random.Random(7)
    words = [
        "".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randint(3, 10)))
        for _ in range(5000)
    ]
    source.seed(seed)
    profile = load_profile(PROFILE)
    folder.mkdir(parents=True)
    record = {
            "format": 1, "name": folder.name, "created": "2026-01-01T00:00:00+00:00", "profile": PROFILE,
            "metrics": ["fact_recall", "groundedness", "token_f1"], "fingerprint": {}, "settings": {}, "count": cases,
            "partial": "",
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(record))
    with closing(FolderStore(folder, stored_manifest(folder))) as store:
        for start in range(0, cases, BLOCK):
            positions = range(start, min(start + BLOCK, cases))
            store.add_outcomes(
                (n, _outcome(n, seed, length, words, source, profile)) for n in positions
            )
    return words


def _outcome(
    n: int, seed: int, length: int, words: list[str], source: random.Random, profile: Profile
) -> Outcome:
    text = f"Answer {n}: " + " ".join(source.choices(words, k=length // 7))
    # The same in every run: runs are only compared on the same cases.
    said = [
        " ".join(words[(31 * n + 8 * k + place) % len(words)] for place in range(8))
        for k in range(4)
    ]
    facts = [{"text": each, "state": "found", "probability": 0.9, "quote": each} for each in said]
    sentences = [
        {"text": each, "start": 0, "end": 40, "flag": False, "probability": 0.1, "passage": 0}
        for each in said
    ]
    recall = (n * 7919 + seed * 31) % 1000 / 1000
    grounded = n * 104729 % 1000 / 1000
    scores = {
        "fact_recall": Score(recall, f"{recall:.0%} of the facts", details={"facts": facts}),
        "groundedness": Score(grounded, "4 sentences", details={"sentences": sentences}),
        "token_f1": Score(grounded),
    }
    case = Case(f"c{n}", f"Question number {n}: {said[0]}?", (". ".join(said),), type=f"t{n % 7}")
    response = Response(text[:length], route=f"r{n % 3}", seconds=n % 100 / 100, cost=seed / 1000)
    return Outcome(case, response, scores, decide_verdict(profile, case, response, scores))


class Server:
    """`answerkey view` of a folder, with its processor time and memory from the system's figures."""

    def __init__(self, root: Path, cache: Path) -> None:
        command = [sys.executable, "-m", "answerkey", "view", str(root), "--port", "0"]
        environment = os.environ | {"ANSWERKEY_CACHE": str(cache)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        assert self.process.stdout
        self.address = self.process.stdout.readline().decode().strip()

    def cpu(self) -> float:
        """Seconds of processor time so far, in steps of 10 ms."""
        after_name = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, what: str = "VmHWM") -> float:
        """MB; VmHWM is the most so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        figure = re.search(rf"{what}:\s+(\d+) kB", status)
        return int(figure[1]) / 1024 if figure else 0.0

    def get(self, address: str) -> tuple[float, float, int]:
        """Processor seconds, seconds on the clock, and bytes of a page."""
        before, began = self.cpu(), time.perf_counter()
        with urllib.request.urlopen(f"{self.address}{address}") as reply:
            size = len(reply.read())
        return self.cpu() - before, time.perf_counter() - began, size


@contextmanager
def serving(root: Path, cache: Path) -> Generator[Server]:
    server = Server(root, cache)
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=10_000)
    options.add_argument("--length", type=int, default=10_000)
    options.add_argument(
        "--no-reports", action="store_true", help="a run without summary.json, as one in progress"
    )
    options.add_argument("--runs", type=int, default=0, help="runs of 1,000 cases side by side")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root, cache = Path(place) / "results", Path(place) / "cache"
        words = make_run(root / "large", chosen.cases, chosen.length)
        size = sum(path.stat().st_size for path in (root / "large").iterdir()) / 1e6
        print(
            f"{chosen.cases:,} cases, {chosen.cases * chosen.length / 1e6:,.0f} MB of answers, {size:,.0f} MB of run.sqlite"
        )
        if not chosen.no_reports:
            os.environ["ANSWERKEY_CACHE"] = str(Path(place) / "cache of the run")
            write_reports(root / "large", charts=False)
        pages = {page: f"run/large{address}" for page, address in PAGES.items()}
        pages |= {"home": "", "label desk": "label/large"}
        if chosen.runs:
            names = [f"many_{n}" for n in range(chosen.runs)]
            for n, name in enumerate(names):
                make_run(root / name, _CASES_OF_MANY, 300, seed=n)
                write_reports(root / name, charts=False)
            pages["runs side by side"] = "many?" + "&".join(f"run={name}" for name in names)
            pages["two runs compared"] = f"compare?a={names[0]}&b={names[-1]}"
        for name in ("cold", "reopened"):
            with serving(root, cache) as server:
                started = server.cpu()
                time.sleep(1 if name == "cold" else 0)
                print(f"{name}: start {started * 1000:.0f} ms, {server.memory():.0f} MB")
                for page, address in pages.items():
                    filled = address.replace("%s", "{}").format(
                        *random.Random(page).sample(words, 2)
                    )
                    cpu, clock, sent = server.get(filled)
                    again = min(server.get(filled)[0] for _ in range(3))
                    figures = f"{cpu * 1000:.0f} ms ({clock * 1000:.0f} on the clock), again {again * 1000:.0f} ms"
                    print(f"  {page}: {figures}, {sent / 1024:.0f} KB")
                print(f"  most memory {server.memory():.0f} MB")


if __name__ == "__main__":
    main()
