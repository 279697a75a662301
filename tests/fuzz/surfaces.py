"""What is attacked: each surface makes one input from a seeded generator."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, get_args, get_origin

import click
import yaml
from tests.fuzz.harness import FuzzInput
from tests.fuzz.mutate import NUMBERS, TEXTS, change, dumps, garble, number, text_bytes, value
from tests.fuzz.world import CHECK, MARKDOWN, PROFILE, QRELS, RANK_CSV, REPLIES, ROWS, RUN, SHAPES, parquet, toml

from answerkey.cli.main import COMMANDS, load_command
from answerkey.config import tables, target_tables
from answerkey.config.declare import Setting, choices_of, settings_of

Surface = Callable[[Random, Path], FuzzInput]
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
TARGETS: dict[str, Any] = {
    "recorded": target_tables.RecordedTable, "python": target_tables.PythonTable, "http": target_tables.HttpTable,
    "command": target_tables.CommandTable, "rag": target_tables.RagTable, "faq": target_tables.FaqTable,
    "full-context": target_tables.FullContextTable, "routed-kpi": target_tables.RoutedKpiTable, "openai": target_tables.OpenAiTable,
    "gradio": target_tables.GradioTable,
}  # fmt: skip


def generate(seed: int, index: int, world: Path) -> FuzzInput:
    """Input number `index`: always the same for the same seed and world."""
    rng = Random(f"{seed}:{index}")
    while True:
        (surface,) = rng.choices(list(SURFACES), list(SURFACES.values()))
        try:
            return surface(rng, world)
        except Exception:  # nobody can write such a file
            continue


def _command(surface: str, args: list[str], files: dict[str, bytes], stdin: bytes = b"", base: str = "") -> FuzzInput:
    return FuzzInput("command", surface, [_argument(arg) for arg in args], files, stdin, base)


def _argument(text: str) -> str:
    """As a shell can pass it: without NUL, and without half characters."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _often(rng: Random, data: bytes, share: float = 0.5) -> bytes:
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
        return _often(rng, parquet(listed or ROWS), 0.6)
    else:
        data = dumps(rng, made)
    return _often(rng, text_bytes(data), 0.4)


def _csv(rng: Random, rows: list[dict[str, Any]], delimiter: str) -> str:
    file = io.StringIO()
    names = list(dict.fromkeys(str(name) for row in rows for name in row)) or ["question"]
    writer = csv.writer(file, delimiter=delimiter, escapechar="\\")
    writer.writerow(names)
    for row in rows:
        writer.writerow(
            [item if isinstance(item, str) else dumps(rng, item) for item in (row.get(name, "") for name in names)]
        )
    return file.getvalue()


def readers(rng: Random, world: Path) -> FuzzInput:
    ending = rng.choice(
        (".json", ".jsonl", ".csv", ".tsv", ".yaml", ".md", ".parquet", ".qrels", ".json", ".jsonl", ".csv", ".ndjson")
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
    return _command(f"reader {ending}", ["cases", *files, *rng.choice((["--json"], []))], files)


def beir(rng: Random, world: Path) -> FuzzInput:
    files = {
        "b/queries.jsonl": b'{"_id": "q1", "text": "Open?"}\n{"_id": "q2", "text": "Who?"}\n',
        "b/corpus.jsonl": b'{"_id": "d1", "title": "t", "text": "x"}\n{"_id": "d2", "text": "y"}\n',
        "b/qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t0\n",
    }
    name = rng.choice(list(files))
    return _command("reader BEIR", ["cases", "b", "--json"], {**files, name: garble(rng, files[name])})


def score(rng: Random, world: Path) -> FuzzInput:
    ending = rng.choice((".json", ".jsonl", ".csv", ".parquet"))
    files = {f"c{ending}": table_file(rng, ROWS, ending), "p.toml": toml(PROFILE).encode()}
    args = ["score", f"c{ending}", "--profile", "p.toml", "--no-charts", "--out", "out"]
    if rng.random() < 0.3:
        files["answers.jsonl"] = table_file(rng, [{"id": row["id"], "answer": "At nine."} for row in ROWS], ".jsonl")
        args += ["--answers", "answers.jsonl"]
    return _command("score", [*args, *rng.choice((["--json"], []))], files)


def profile(rng: Random, world: Path) -> FuzzInput:
    made = change(rng, PROFILE)
    data = toml(made).encode("utf-8", "replace") if isinstance(made, dict) else b"x"
    files = {"c.jsonl": dumps(rng, ROWS[0]).encode(), "p.toml": _often(rng, data, 0.2)}
    return _command(
        "profile", ["score", "c.jsonl", "--profile", "p.toml", "--no-charts", "--out", "out", "--json"], files
    )


def rank(rng: Random, world: Path) -> FuzzInput:
    metrics = ",".join(rng.sample(METRICS, rng.randrange(1, 4)))
    if rng.random() < 0.3:
        files = {"r.csv": garble(rng, RANK_CSV.encode())}
        args = ["rank", "--run", "r.csv", "--metrics", metrics]
    else:
        labels: Any = rng.choice(({"q1": ["d1"], "q2": {"d3": 2}}, {"q1": {"d1": 1, "d2": 0}}))
        ranked: Any = rng.choice(({"q1": ["d1", "d2", "d1"], "q2": ["d3"]}, {"q1": {"d1": 0.5, "d2": 0.25}}))
        files = {
            "q.json": dumps(rng, change(rng, labels)).encode("utf-8", "replace"),
            "r.json": dumps(rng, change(rng, ranked)).encode("utf-8", "replace"),
        }
        if rng.random() < 0.4:
            files = {"q.qrels": _often(rng, QRELS.encode()), "r.run": garble(rng, RUN.encode())}
        args = ["rank", "--qrels", next(iter(files)), "--run", list(files)[-1], "--metrics", metrics]
    unit = rng.choice(([], ["--unit", "chunk"], ["--unit", "page"]))
    return _command("rank", [*args, *unit, *rng.choice((["--json"], []))], files)


def calibrate(rng: Random, world: Path) -> FuzzInput:
    rows = [{**ROWS[n % 2], "id": f"q{n}", "label": n % 3 % 2, "expected": "At nine."} for n in range(8)]
    ending = rng.choice((".jsonl", ".csv"))
    return _command(
        "calibrate",
        ["calibrate", f"l{ending}", "--metric", "token_f1", "--json"],
        {f"l{ending}": table_file(rng, rows, ending)},
    )


def diagnose(rng: Random, world: Path) -> FuzzInput:
    files = {
        "q.qrels": _often(rng, QRELS.encode()),
        "r.run": _often(rng, RUN.encode()),
        "ids.txt": _often(rng, b"d1\nd2\nd9\n"),
    }
    return _command(
        "diagnose", ["diagnose", "--qrels", "q.qrels", "--run", "r.run", "--index-ids", "ids.txt", "--json"], files
    )


def check(rng: Random, world: Path) -> FuzzInput:
    stdin = _often(rng, text_bytes(dumps(rng, change(rng, CHECK))), 0.3)
    return _command("check", ["check", "--json"] if rng.random() < 0.7 else ["check"], {}, stdin)


def a_setting(rng: Random, setting: Setting) -> Any:
    """A value that the setting may have, or any other."""
    if rng.random() < 0.4:
        return value(rng)
    if choices := choices_of(setting.type):
        return rng.choice(choices)
    kind = get_origin(setting.type) or setting.type
    kinds = [kind, *get_args(setting.type)]
    if bool in kinds:
        return rng.random() < 0.5
    if int in kinds or float in kinds:
        return rng.choice((1, 2, 0, 0.5, 10, -1, number(rng)))
    if kind is tuple:
        return [rng.choice((*TEXTS[-12:], 1, 0.5)) for _ in range(rng.randrange(3))]
    return (
        {rng.choice(TEXTS): rng.choice(TEXTS)}
        if kind is dict
        else rng.choice(("docs", "bot:answer", "cases.jsonl", *TEXTS))
    )


def a_table(rng: Random, kind: Any, most: int) -> dict[str, Any]:
    known = settings_of(kind)
    return {
        name: a_setting(rng, known[name])
        for name in rng.sample(list(known), min(len(known), rng.randrange(1, most + 1)))
    }


def dry_run(rng: Random, world: Path) -> FuzzInput:
    kind = rng.choice(list(TARGETS))
    needed = {"python": {"call": "bot:answer"}, "http": {"url": "http://127.0.0.1:1/"}, "command": {"run": ["true"]}, "rag": {"documents": "docs"},
              "faq": {"faq": "cases.jsonl"}, "openai": {"openai": "http://127.0.0.1:1/v1"}, "gradio": {"gradio": "http://127.0.0.1:1/"}}.get(kind, {})  # fmt: skip
    target = {
        **({"kind": kind} if kind not in ("openai", "gradio") else {}),
        **needed,
        **a_table(rng, TARGETS[kind], 4),
    }
    suite: dict[str, Any] = {"cases": ["cases.jsonl"], "profile": "profile.toml", "target": target}
    more = {
        "run": tables.RunTable,
        "gate": tables.GateTable,
        "judge": tables.JudgeTable,
        "embedding": tables.EmbeddingTable,
        "retrieval": tables.RetrievalTable,
    }
    for name in rng.sample(list(more), rng.randrange(3)):
        suite[name] = a_table(rng, more[name], 3)
    if rng.random() < 0.3:
        suite |= a_table(rng, tables.SuiteTable, 2)
    data = _often(rng, toml(suite).encode("utf-8", "replace"), 0.2)
    return _command("settings", ["run", "suite/suite.toml", "--dry-run"], {"suite/suite.toml": data}, base="suite")


def a_run(rng: Random, world: Path) -> FuzzInput:
    """A whole run of recorded answers, with settings that change how it goes."""
    suite: dict[str, Any] = {
        "cases": ["cases.jsonl"],
        "profile": "profile.toml",
        "run": a_table(rng, tables.RunTable, 2),
        "gate": a_table(rng, tables.GateTable, 1),
    }
    suite["run"].pop("out", None)
    if rng.random() < 0.5:
        suite["gate"] = {
            "require": [
                f"{rng.choice(('pass_rate', 'success[time]', 'mean[token_f1]', 'errors', 'response_time.mean', 'x'))} {rng.choice('<>=')}= {rng.choice(NUMBERS)}"
            ]
        }
    files = {"suite/suite.toml": toml(suite).encode("utf-8", "replace")}
    if rng.random() < 0.6:
        files["suite/cases.jsonl"] = table_file(rng, ROWS, ".jsonl")
    return _command(
        "run",
        ["run", "suite/suite.toml", "--no-charts", *rng.choice((["--json"], ["--quiet"], []))],
        files,
        base="suite",
    )


def sweep(rng: Random, world: Path) -> FuzzInput:
    table = {"documents": "docs", "alphas": [0.0], "ks": [1, 3], "pool": 5, **a_table(rng, tables.RetrievalTable, 2)}
    for name in ("qdrant_url", "reranker", "rewriter"):
        table.pop(name, None)
    suite = {"cases": ["cases.jsonl"], "retrieval": table}
    files = {
        "suite/suite.toml": toml(suite).encode("utf-8", "replace"),
        "suite/cases.jsonl": b'{"id": "1", "question": "When does it open?", "relevant": {"a.md": 1}}\n',
    }
    if rng.random() < 0.5:
        name = rng.choice(("a.md", "b.txt", "c.pdf"))
        files[f"suite/docs/{name}"] = garble(rng, b"# Opening\nIt opens at 9.\n\n%PDF-1.4\n1 0 obj\n<< >>\nendobj\n")
    command = rng.choice(
        (["sweep", "suite/suite.toml", "--no-plots", "--json"], ["diagnose", "suite/suite.toml", "--json"])
    )
    return _command("sweep", command, files, base="suite")


def damage(rng: Random, world: Path) -> FuzzInput:
    """A run folder with one file damaged, and a command that reads it."""
    name = rng.choice(
        (
            "run.json",
            "responses.jsonl",
            "scores.jsonl",
            "responses.jsonl",
            "scores.jsonl",
            "summary.json",
            "results.jsonl",
        )
    )
    data = (world / "runs" / "good" / name).read_bytes()
    import json

    if name.endswith(".jsonl") and rng.random() < 0.7:
        lines = data.decode().splitlines()
        at = rng.randrange(len(lines))
        lines[at] = dumps(rng, change(rng, json.loads(lines[at]))) if rng.random() < 0.8 else dumps(rng, value(rng))
        made = text_bytes("\n".join(lines) + "\n")
    elif name == "run.json" and rng.random() < 0.8:
        made = text_bytes(dumps(rng, change(rng, json.loads(data))))
    else:
        made = garble(rng, data)
    good, other, profile = "runs/good", "runs/other", "p.toml"
    args = rng.choice(
        (
            ["summary", good], ["summary", good, "--json"], ["summary", good, "--by", "type"], ["report", good, "--no-charts"],
            ["report", good, "--json", "--no-charts"], ["compare", good, other], ["compare", other, good, "--json"], ["compare", good, other, "--gate"],
            ["rescore", good, "--profile", profile, "--no-charts"], ["rescore", good, "--resume", "--no-charts"], ["diagnose", good, "--json"], ["baseline", "set", good, "--folder", "."],
            ["calibrate", good, "--metric", "token_f1", "--json"], ["run", good, "--resume", "--no-charts"], ["run", good, "--investigate"],
            ["report", good],
        )
    )  # fmt: skip
    return _command(f"damage {name}", args, {f"{good}/{name}": made, profile: toml(PROFILE).encode()}, base="runs")


def viewer(rng: Random, world: Path) -> FuzzInput:
    run, n = (
        rng.choice(("good", "other", "good%2f..", "nope", "sweep_1", "", "../x")),
        rng.choice(("0", "1", "4", "99999", "-1", "x")),
    )
    path = rng.choice(
        ("/", "/compare", "/trend", "/label", f"/label/{run}", f"/run/{run}", f"/run/{run}/case/{n}", f"/run/{run}/live", f"/run/{run}/file/report.txt",
         f"/run/{run}/file/../../x", f"/run/{run}/export/csv", f"/run/{run}/export/jsonl", "/sweep/sweep_1", "/sweep/sweep_1/file/plots/x.png", "/favicon.ico",
         "/static/../app.py", f"/run/{run}/case/{n}/label", f"/run/{run}/export/{n}")
    )  # fmt: skip
    names = (
        "a",
        "b",
        "q",
        "sort",
        "status",
        "band",
        "type",
        "route",
        "page",
        "format",
        "metric",
        "min",
        "max",
        "json",
        "run",
        "reason",
        "whole",
        "by",
        "n",
        "x",
    )
    wishes = [
        f"{rng.choice(names)}={rng.choice((*TEXTS, *NUMBERS, 'good', 'other', 'json', 'score', '-score', 'token_f1'))}"
        for _ in range(rng.randrange(4))
    ]
    address = path + ("?" + "&".join(wishes) if wishes else "")
    if rng.random() < 0.1:
        address = garble(rng, address.encode("utf-8", "replace")).decode("utf-8", "replace")
    hosts = ("127.0.0.1:8765",) * 12 + (
        "localhost",
        "[::1]:8765",
        "evil.invalid",
        "",
        "127.0.0.1:x",
        "[",
        "a" * 300,
        "127.0.0.1@evil",
    )
    method = rng.choice(("GET",) * 9 + ("POST", "HEAD", "PUT"))
    host = rng.choice(hosts)
    origin = rng.choice((f"http://{host}", "http://evil.invalid", "null", ""))
    body = garble(rng, b"label=good&note=x&n=1") if method == "POST" else b""
    files: dict[str, bytes] = {}
    if rng.random() < 0.4:
        files = damage(rng, world).files
    return FuzzInput("request", "viewer", [method, _argument(address), host, origin], files, body, "runs")


def reply(rng: Random, world: Path) -> FuzzInput:
    parser = rng.choice(("verdict", "verdict", "one score", "objects", "criteria", "criteria", "prefer", "endpoint", "endpoint", "statuses", "embedder",
                         "command", "http", "http", "http paths", "openai", "gradio", "assess"))  # fmt: skip
    text = rng.choice(REPLIES)
    if text.startswith(("{", "[")) and rng.random() < 0.6:
        import json

        text = dumps(rng, change(rng, json.loads(text.split("\n")[0])))
    else:
        text = garble(rng, text.encode()).decode("utf-8", "replace")
    if rng.random() < 0.2:
        text = rng.choice(
            (
                text * rng.choice((2, 50)),
                rng.choice(TEXTS) + text,
                "prose " + text + rng.choice(TEXTS),
                text[: rng.randrange(len(text) + 1)],
            )
        )
    return FuzzInput("reply", f"reply {parser}", [parser], {}, text_bytes(text))


@cache
def _commands() -> list[tuple[list[str], list[click.Parameter]]]:
    found: list[tuple[list[str], list[click.Parameter]]] = []
    for name in COMMANDS:
        command = load_command(name)
        if isinstance(command, click.Group):
            found += [([name, sub], inner.params) for sub, inner in command.commands.items()]
        elif name not in ("demo", "prefer", "doctor"):  # they load models, or ask a judge
            found.append(([name], command.params))
    return found


SLOW_OPTIONS = ("--charts", "--judge", "--plot", "--address", "--open", "--engine")


def options(rng: Random, world: Path) -> FuzzInput:
    name, params = rng.choice(_commands())
    plausible = (
        "runs/good",
        "runs/other",
        "suite/suite.toml",
        "suite/cases.jsonl",
        "suite/profile.toml",
        "token_f1",
        "3",
        "type",
    )
    args = list(name)
    for param in params:
        hostile = rng.choice((*TEXTS, *NUMBERS, *plausible))
        if isinstance(param, click.Argument):
            kind = (
                "runs/good"
                if "run" in (param.name or "")
                else "suite/suite.toml"
                if "suite" in (param.name or "")
                else "suite/cases.jsonl"
            )
            args.append(kind if rng.random() < 0.7 else hostile)
        elif param.opts[-1] not in SLOW_OPTIONS and rng.random() < 0.2:
            is_flag = getattr(param, "is_flag", False)
            args += (
                [param.opts[-1]]
                if is_flag
                else [param.opts[-1], rng.choice(plausible) if rng.random() < 0.4 else hostile]
            )
    opts = {opt for param in params for opt in (*param.opts, *param.secondary_opts)}
    args += [flag for flag in ("--no-charts", "--no-plots") if flag in opts]
    if name == ["compare"]:
        args = [arg for arg in args if arg != "--out"]
    if rng.random() < 0.05:
        args.insert(rng.randrange(len(args)), rng.choice(TEXTS))
    files = {
        path.relative_to(world).as_posix(): path.read_bytes() for path in (world / "suite").rglob("*") if path.is_file()
    }
    return _command(f"options {' '.join(name)}", args, files, rng.choice((b"", b"{}")), base="runs")


SURFACES: dict[Surface, int] = {
    readers: 26, beir: 2, score: 4, profile: 5, rank: 8, calibrate: 2, diagnose: 3, check: 6, dry_run: 14, a_run: 4, sweep: 1, damage: 9, viewer: 12,
    reply: 65, options: 12,
}  # fmt: skip
