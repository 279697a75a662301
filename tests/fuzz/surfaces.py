"""The surfaces under attack: each makes one input from a seeded generator."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, get_args, get_origin

import click
from tests.fuzz.file_surfaces import (
    argument,
    beir,
    calibrate,
    check,
    command_input,
    diagnose,
    long_names,
    notices,
    numbers,
    often,
    profile,
    rank,
    readers,
    same_data,
    score,
    table_file,
)
from tests.fuzz.harness import FuzzInput
from tests.fuzz.mutate import NUMBERS, TEXTS, change, dumps, garble, number, text_bytes, value
from tests.fuzz.world import PROFILE, REPLIES, ROWS, toml

from answerkey.cli.commands import COMMANDS, load_command
from answerkey.config import retrieval_tables, tables, target_tables
from answerkey.config.declare import Setting, choices_of, settings_of

Surface = Callable[[Random, Path], FuzzInput]
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
        "run": tables.ExecutionTable,
        "gate": tables.GateTable,
        "judge": tables.JudgeTable,
        "embedding": tables.EmbeddingTable,
        "retrieval": retrieval_tables.RetrievalTable,
    }
    for name in rng.sample(list(more), rng.randrange(3)):
        suite[name] = a_table(rng, more[name], 3)
    if rng.random() < 0.3:
        suite |= a_table(rng, tables.SuiteTable, 2)
    data = often(rng, toml(suite).encode("utf-8", "replace"), 0.2)
    return command_input(
        "settings",
        ["run", "suite/suite.toml", "--dry-run"],
        {"suite/suite.toml": data},
        base="suite",
    )


def a_run(rng: Random, world: Path) -> FuzzInput:
    """A whole run of recorded answers, with settings that change how it goes."""
    suite: dict[str, Any] = {
        "cases": ["cases.jsonl"],
        "profile": "profile.toml",
        "run": a_table(rng, tables.ExecutionTable, 2),
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
    return command_input(
        "run",
        ["run", "suite/suite.toml", "--no-charts", *rng.choice((["--json"], ["--quiet"], []))],
        files,
        base="suite",
    )


def sweep(rng: Random, world: Path) -> FuzzInput:
    table = {
        "documents": "docs",
        "alphas": [0.0],
        "ks": [1, 3],
        "pool": 5,
        **a_table(rng, retrieval_tables.RetrievalTable, 2),
    }
    for name in ("qdrant_url", "reranker", "rewriter"):
        table.pop(name, None)
    suite = {"cases": ["cases.jsonl"], "retrieval": table}
    files = {
        "suite/suite.toml": toml(suite).encode("utf-8", "replace"),
        "suite/cases.jsonl": b'{"id": "1", "question": "When does it open?", "relevant": {"a.md": 1}}\n',
    }
    if rng.random() < 0.5:
        name = rng.choice(("a.md", "b.txt", "c.pdf"))
        files[f"suite/docs/{name}"] = garble(
            rng, b"# Opening\nIt opens at 9.\n\n%PDF-1.4\n1 0 obj\n<< >>\nendobj\n"
        )
    command = rng.choice(
        (
            ["sweep", "suite/suite.toml", "--no-plots", "--json"],
            ["diagnose", "suite/suite.toml", "--json"],
        )
    )
    return command_input("sweep", command, files, base="suite")


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
        lines[at] = (
            dumps(rng, change(rng, json.loads(lines[at])))
            if rng.random() < 0.8
            else dumps(rng, value(rng))
        )
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
    return command_input(
        f"damage {name}",
        args,
        {f"{good}/{name}": made, profile: toml(PROFILE).encode()},
        base="runs",
    )


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
    return FuzzInput(
        "request", "viewer", [method, argument(address), host, origin], files, body, "runs"
    )


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
        path.relative_to(world).as_posix(): path.read_bytes()
        for path in (world / "suite").rglob("*")
        if path.is_file()
    }
    return command_input(
        f"options {' '.join(name)}", args, files, rng.choice((b"", b"{}")), base="runs"
    )


SURFACES: dict[Surface, int] = {
    readers: 26, beir: 2, score: 4, profile: 5, rank: 8, calibrate: 2, diagnose: 3, check: 6, dry_run: 14, a_run: 4, sweep: 1, damage: 9, viewer: 12,
    reply: 65, options: 12, notices: 6, long_names: 5, numbers: 6, same_data: 4,
}  # fmt: skip
