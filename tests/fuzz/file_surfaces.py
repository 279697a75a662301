"""Surfaces that are files or standard input: tables, labels, rankings, profiles and interactions."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from random import Random
from typing import Any

import yaml
from tests.fuzz.harness import FuzzInput
from tests.fuzz.mutate import NUMBERS, TEXTS, change, dumps, garble, text_bytes
from tests.fuzz.world import (
    CHECK,
    MARKDOWN,
    PROFILE,
    QRELS,
    RANK_CSV,
    ROWS,
    RUN,
    SHAPES,
    parquet,
    toml,
)

METRICS = (
    "ndcg@10",
    "recall@5",
    "precision@1",
    "mrr",
    "map",
    "f1@3",
    "hit_rate@5",
    "ndcg@0",
    "recall@99999999999999999999",
    "x@5",
    "",
)


def command_input(
    surface: str, args: list[str], files: dict[str, bytes], stdin: bytes = b"", base: str = ""
) -> FuzzInput:
    return FuzzInput("command", surface, [argument(arg) for arg in args], files, stdin, base)


def argument(text: str) -> str:
    """The text as a shell can pass it: without NUL, and without half characters."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def often(rng: Random, data: bytes, share: float = 0.5) -> bytes:
    return garble(rng, data) if rng.random() < share else data


def table_file(rng: Random, rows: Any, ending: str) -> bytes:
    """The rows in a format, changed as values, as bytes, or both."""
    made = change(rng, rows) if rng.random() < 0.7 else rows
    listed = [row for row in made if isinstance(row, dict)] if isinstance(made, list) else []
    if ending == ".jsonl":
        data = "\n".join(dumps(rng, row) for row in (made if isinstance(made, list) else [made]))
    elif ending in (".csv", ".tsv"):
        data = _csv(rng, listed, "\t" if ending == ".tsv" else rng.choice(",,,;"))
    elif ending in (".yaml", ".yml"):
        try:
            data = yaml.safe_dump(made, allow_unicode=rng.random() < 0.5)
        except (yaml.YAMLError, RecursionError, ValueError):
            data = "- &a [x]\n" + "".join(f"- &a{n} [*a, *a, *a]\n" for n in range(9))
    elif ending == ".parquet":
        return often(rng, parquet(listed or ROWS), 0.6)
    else:
        data = dumps(rng, made)
    return often(rng, text_bytes(data), 0.4)


def _csv(rng: Random, rows: list[dict[str, Any]], delimiter: str) -> str:
    file = io.StringIO()
    names = list(dict.fromkeys(str(name) for row in rows for name in row)) or ["question"]
    writer = csv.writer(file, delimiter=delimiter, escapechar="\\")
    writer.writerow(names)
    for row in rows:
        writer.writerow(
            [
                item if isinstance(item, str) else dumps(rng, item)
                for item in (row.get(name, "") for name in names)
            ]
        )
    return file.getvalue()


def readers(rng: Random, world: Path) -> FuzzInput:
    ending = rng.choice(
        (
            ".json",
            ".jsonl",
            ".csv",
            ".tsv",
            ".yaml",
            ".md",
            ".parquet",
            ".qrels",
            ".json",
            ".jsonl",
            ".csv",
            ".ndjson",
        )
    )
    if ending == ".md":
        data = garble(rng, MARKDOWN.encode())
    elif ending == ".qrels":
        data = garble(rng, QRELS.encode())
    else:
        data = table_file(rng, rng.choice(SHAPES) if ending in (".json", ".yaml") else ROWS, ending)
    files = {f"cases{ending}": data}
    if rng.random() < 0.1:
        files["cases2.jsonl"] = table_file(rng, [{"id": "q1", "expected": "x"}], ".jsonl")
    return command_input(
        f"reader {ending}", ["cases", *files, *rng.choice((["--json"], []))], files
    )


def beir(rng: Random, world: Path) -> FuzzInput:
    files = {
        "b/queries.jsonl": b'{"_id": "q1", "text": "Open?"}\n{"_id": "q2", "text": "Who?"}\n',
        "b/corpus.jsonl": b'{"_id": "d1", "title": "t", "text": "x"}\n{"_id": "d2", "text": "y"}\n',
        "b/qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t0\n",
    }
    name = rng.choice(list(files))
    return command_input(
        "reader BEIR", ["cases", "b", "--json"], {**files, name: garble(rng, files[name])}
    )


def score(rng: Random, world: Path) -> FuzzInput:
    ending = rng.choice((".json", ".jsonl", ".csv", ".parquet"))
    files = {f"c{ending}": table_file(rng, ROWS, ending), "p.toml": toml(PROFILE).encode()}
    args = ["score", f"c{ending}", "--profile", "p.toml", "--no-charts", "--out", "out"]
    if rng.random() < 0.3:
        files["answers.jsonl"] = table_file(
            rng, [{"id": row["id"], "answer": "At nine."} for row in ROWS], ".jsonl"
        )
        args += ["--answers", "answers.jsonl"]
    return command_input("score", [*args, *rng.choice((["--json"], []))], files)


def profile(rng: Random, world: Path) -> FuzzInput:
    made = change(rng, PROFILE)
    data = toml(made).encode("utf-8", "replace") if isinstance(made, dict) else b"x"
    files = {"c.jsonl": dumps(rng, ROWS[0]).encode(), "p.toml": often(rng, data, 0.2)}
    return command_input(
        "profile",
        ["score", "c.jsonl", "--profile", "p.toml", "--no-charts", "--out", "out", "--json"],
        files,
    )


def rank(rng: Random, world: Path) -> FuzzInput:
    metrics = ",".join(rng.sample(METRICS, rng.randrange(1, 4)))
    if rng.random() < 0.3:
        files = {"r.csv": garble(rng, RANK_CSV.encode())}
        args = ["rank", "--run", "r.csv", "--metrics", metrics]
    else:
        labels: Any = rng.choice(({"q1": ["d1"], "q2": {"d3": 2}}, {"q1": {"d1": 1, "d2": 0}}))
        ranked: Any = rng.choice(
            ({"q1": ["d1", "d2", "d1"], "q2": ["d3"]}, {"q1": {"d1": 0.5, "d2": 0.25}})
        )
        files = {
            "q.json": dumps(rng, change(rng, labels)).encode("utf-8", "replace"),
            "r.json": dumps(rng, change(rng, ranked)).encode("utf-8", "replace"),
        }
        if rng.random() < 0.4:
            files = {"q.qrels": often(rng, QRELS.encode()), "r.run": garble(rng, RUN.encode())}
        args = [
            "rank",
            "--qrels",
            next(iter(files)),
            "--run",
            list(files)[-1],
            "--metrics",
            metrics,
        ]
    unit = rng.choice(([], ["--unit", "chunk"], ["--unit", "page"]))
    return command_input("rank", [*args, *unit, *rng.choice((["--json"], []))], files)


def calibrate(rng: Random, world: Path) -> FuzzInput:
    rows = [
        {**ROWS[n % 2], "id": f"q{n}", "label": n % 3 % 2, "expected": "At nine."} for n in range(8)
    ]
    ending = rng.choice((".jsonl", ".csv"))
    return command_input(
        "calibrate",
        ["calibrate", f"l{ending}", "--metric", "token_f1", "--json"],
        {f"l{ending}": table_file(rng, rows, ending)},
    )


def diagnose(rng: Random, world: Path) -> FuzzInput:
    files = {
        "q.qrels": often(rng, QRELS.encode()),
        "r.run": often(rng, RUN.encode()),
        "ids.txt": often(rng, b"d1\nd2\nd9\n"),
    }
    return command_input(
        "diagnose",
        ["diagnose", "--qrels", "q.qrels", "--run", "r.run", "--index-ids", "ids.txt", "--json"],
        files,
    )


def check(rng: Random, world: Path) -> FuzzInput:
    stdin = often(rng, text_bytes(dumps(rng, change(rng, CHECK))), 0.3)
    return command_input(
        "check", ["check", "--json"] if rng.random() < 0.7 else ["check"], {}, stdin
    )


def notices(rng: Random, world: Path) -> FuzzInput:
    """Hostile column names and values, which notices and errors repeat."""
    hostile = rng.choice(("\x1b[2J", "\u202e", "\x9b31m", "\x07", "\u2066", "\r", "\x7f"))
    name = f"x{hostile}{rng.choice(TEXTS)}"
    rows = [
        {**row, name: rng.choice((hostile, "b")), "id": f"{row['id']}{hostile}"} for row in ROWS
    ]
    ending = rng.choice((".json", ".jsonl", ".csv", ".tsv", ".yaml"))
    command = rng.choice(
        (["cases"], ["score", "--metrics", "token_f1", "--no-charts", "--out", "out"])
    )
    files = {f"cases{ending}": table_file(rng, rows, ending)}
    return command_input(f"notices {command[0]}", [command[0], *files, *command[1:]], files)


def long_names(rng: Random, world: Path) -> FuzzInput:
    """A very long text wherever a name is expected."""
    name = rng.choice(("x", "é", "a/", "日")) * rng.choice((200, 256, 300, 4096, 70_000))
    suite = rng.choice(
        (
            f'cases = ["{name}"]',
            f'cases = ["c.jsonl"]\nprofile = "{name}"',
            f'cases = ["c.jsonl"]\nmetrics = ["{name}"]',
            f'cases = ["c.jsonl"]\nname = "{name}"\nmetrics = ["token_f1"]',
            f'cases = ["c.jsonl"]\nmetrics = ["token_f1"]\n[target]\ncall = "{name}"',
            f'cases = ["c.jsonl"]\nmetrics = ["token_f1"]\njudge = "{name}"',
            f'cases = ["c.jsonl"]\nmetrics = ["token_f1"]\n[run]\nout = "{name}"',
            f'cases = ["c.jsonl"]\n[retrieval]\ndocuments = "{name}"',
        )
    )
    files = {"s.toml": suite.encode(), "c.jsonl": dumps(rng, ROWS[0]).encode()}
    args = rng.choice(
        (
            ["run", "s.toml", "--dry-run"],
            ["run", "s.toml", "--no-charts"],
            ["sweep", "s.toml", "--no-plots"],
            ["score", "c.jsonl", "--metrics", name[:4096]],
            ["score", "c.jsonl", "--profile", name[:4096]],
            ["cases", name[:4096]],
            ["profiles", "show", name[:4096]],
        )
    )
    return command_input("long names", args, files)


def numbers(rng: Random, world: Path) -> FuzzInput:
    """Absurd numbers as values of cases, in every format."""
    columns = ("score", "response_time", "relevant", "min_score", "label", "retrieved", "page")
    rows = [{**row, rng.choice(columns): rng.choice(NUMBERS)} for row in ROWS]
    ending = rng.choice((".json", ".jsonl", ".csv", ".yaml"))
    if ending == ".csv":
        data = _csv(rng, rows, ",").encode()
    else:
        # Unquoted, so that the parser of the format meets the number itself.
        lines = [
            "{" + ", ".join(f'"{key}": {_bare(each)}' for key, each in row.items()) + "}"
            for row in rows
        ]
        text = "\n".join(lines)
        if ending != ".jsonl":
            text = "[" + ",\n".join(lines) + "]"
        data = text.encode("utf-8", "replace")
    files = {f"cases{ending}": data}
    metrics = "token_f1,recall@3,latency_ms"
    args = ["score", *files, "--metrics", metrics, "--no-charts", "--out", "out", "--json"]
    return command_input("numbers", args, files)


def _bare(value: Any) -> str:
    if isinstance(value, str) and value in NUMBERS:
        return value
    return json.dumps(value)


def _plain_csv(rows: list[dict[str, Any]], delimiter: str) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def same_data(rng: Random, world: Path) -> FuzzInput:
    """The same rows as JSON, JSON lines, CSV, TSV and YAML."""
    texts = [text for text in TEXTS if text.strip() and text.isprintable() and len(text) < 100]
    rows = [
        {
            "id": f"q{n}",
            "question": f"{rng.choice(texts)} {n}?",
            "expected": f"e {rng.choice(texts)}",
            "type": rng.choice(("a", "b")),
            "note": f"n {rng.choice(texts)}",
        }
        for n in range(1, rng.randrange(2, 5))
    ]
    files = {
        "cases.json": json.dumps(rows).encode(),
        "cases.jsonl": "\n".join(json.dumps(row) for row in rows).encode(),
        "cases.csv": _plain_csv(rows, ",").encode(),
        "cases.tsv": _plain_csv(rows, "\t").encode(),
        "cases.yaml": yaml.safe_dump(rows, allow_unicode=True).encode(),
    }
    return FuzzInput("formats", "same data", [], files)
