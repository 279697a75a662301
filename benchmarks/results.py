"""RESULTS.md: a table with each benchmark, the command that gives it and the ratios it printed, then all it printed."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NotRequired, TypedDict

from benchmarks.peers import HOME
from benchmarks.table import BENCHMARKS

# "3.2 times as fast", "at 1.05 times the ideal", "costs 1.03 times one at …"
_RATIO = re.compile(r"(\d[\d,]*\.?\d*) times (as|the|one|ours|what)")
_FASTER = re.compile(
    r"(\d[\d,]*\.?\d*) times (?:as fast|as long|ours)"
)  # above 1 where ours is the faster
_HERE = ("answerkey", "numpy", "scipy", "statsmodels", "onnxruntime", "tokenizers", "bm25s", "duckdb", "pyarrow", "ray",
         "pytrec_eval-terrier", "rank-bm25", "faiss-cpu")  # fmt: skip


class Result(TypedDict):
    command: str
    at: str
    machine: str
    state: str
    problem: str
    lines: list[str]
    seconds: float
    note: NotRequired[str]


def write_results(path: Path, results: dict[str, Result]) -> None:
    path.write_text("\n".join(_page(results)) + "\n", encoding="utf-8")


def _page(results: dict[str, Result]) -> list[str]:
    page = [
        "# Benchmarks",
        "",
        "Written by `python -m benchmarks` (`make bench`), some benchmarks at a time: each says below when, and on what machine;",
        "one that was not run by that command says so. Each line is what a command printed; ratios compare",
        "two things measured in one run, most of them in processor time, so that other work on the machine changes little.",
        "The commands state the sizes; `--full` gives those of the targets.",
        "",
        "| benchmark | shows | beside | ratios | command |",
        "|---|---|---|---|---|",
        *(_row(name, result) for name, result in results.items()),
        "",
        "## Where a peer is faster",
        "",
        *(_slower(results) or ["In none of these."]),
        "",
        "## Versions",
        "",
        f"- ours: {', '.join(_versions_here())}",
        *_versions_of_peers(),
        "",
        "## All that was printed",
    ]
    for name, result in results.items():
        told = result["lines"] + (
            [f"{result['state']}: {result['problem']}"] if result["problem"] else []
        )
        page += [
            "",
            f"### {name}",
            "",
            f"{result['at']}, {result['seconds']:.0f} s on the clock; {result['machine']}",
            "",
        ]
        page += [f"Note: {result['note']}", ""] if "note" in result else []
        page += ["```", f"$ {result['command']}", *told, "```"]
    return page


def _row(name: str, result: Result) -> str:
    benchmark = BENCHMARKS[name]
    ratios = [line for line in result["lines"] if _RATIO.search(line)] or result["lines"]
    told = "<br>".join(_cell(line) for line in ratios)
    if result["state"] != "done":
        told = "<br>".join(
            [f"**{result['state']}**: {_cell(result['problem'])}", *([told] if told else [])]
        )
    if "note" in result:
        told += f"<br>*{_cell(result['note'])}*"
    return f"| {name} | {benchmark.shows} | {benchmark.beside} | {told} | `{result['command']}` |"


def _slower(results: dict[str, Result]) -> list[str]:
    """Every line with a ratio below 1 of those that tell who is faster, and every peer that took less time."""
    told: list[str] = []
    for name, result in results.items():
        told += [
            f"- {name}: {line}"
            for line in result["lines"]
            if any(float(found.replace(",", "")) < 1 for found in _FASTER.findall(line))
        ]
        told += _quicker_peer(name, result)
    return told


def _quicker_peer(name: str, result: Result) -> list[str]:
    lines = BENCHMARKS[name].seconds
    if lines is None or result["state"] != "done":
        return []
    peer, ours = (
        next(
            found
            for line in result["lines"]
            if (found := re.match(rf"({start}) +([\d.]+) s", line))
        )
        for start in lines
    )
    return (
        [f"- {name}: {peer[1]} {peer[2]} s, {ours[1]} {ours[2]} s"]
        if float(peer[2]) < float(ours[2])
        else []
    )


def _cell(text: str) -> str:
    return re.sub(r" {2,}", " · ", text).replace("|", "\\|")


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, load {load:.1f} at the start"
    )


def _processor() -> str:
    try:
        told = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "unknown"
    found = re.search(r"model name\s*:\s*(.+)", told)
    return found[1].strip() if found else platform.processor() or "unknown"


def _versions_here() -> list[str]:
    found: list[str] = []
    for name in _HERE:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


def _versions_of_peers() -> list[str]:
    """What was asked for in each environment under .venvs/."""
    told: list[str] = []
    for ready in sorted(HOME.glob("*/bin/python")):
        home = ready.parents[1]
        names = _asked_for(home)
        code = f"from importlib.metadata import version; print(', '.join(n + ' ' + version(n) for n in {names!r}))"
        done = subprocess.run([ready, "-c", code], capture_output=True, text=True, check=False)
        if done.returncode == 0 and names:
            told.append(f"- .venvs/{home.name}: {done.stdout.strip()}")
    return told


def _asked_for(home: Path) -> list[str]:
    listed = home / ".ready"
    if home.name == "sentence-transformers" and not listed.is_file():
        return ["sentence-transformers", "torch"]
    texts = listed.read_text().split("\n") if listed.is_file() else []
    return [re.split(r"[\[<>=! ]", text)[0] for text in texts if text]
