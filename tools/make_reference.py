"""Write docs/reference/*.md from the code: `python tools/make_reference.py` (`--check` only says what is stale).

The code says which commands, metrics, profiles, settings and names there are, and what each means; this program only
lays them out.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

import answerkey
from answerkey.cli.commands import COMMANDS, load_command
from answerkey.config.declare import Table, settings_of
from answerkey.config.retrieval_tables import (
    ChunkTable,
    RetrievalTable,
    StoreTable,
    SweepTable,
)
from answerkey.config.tables import (
    EmbeddingTable,
    EntailmentTable,
    ExecutionTable,
    JudgeTable,
    SuiteTable,
)
from answerkey.config.target_tables import TARGET_TABLES, EndpointTable, LiveTable, ReplyTable
from answerkey.metrics.registry import Metric, all_metrics
from answerkey.profiles.load import ProfileTable, builtin_names, builtin_text, load_profile
from answerkey.runs.database import schema_text

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOTE = "<!-- Made by tools/make_reference.py from the code. Do not edit. -->\n\n"

# Names whose docstring is not written in the code.
PYTHON = {
    "AnswerkeyError": "The root of every error a user can meet; its message is one line.",
    "Outcome": "A case, its response, its scores and its verdict.",
}


def commands() -> str:
    parts = [
        "# Commands\n",
        "Exit codes: 0 pass, 1 a gate failed, 2 bad input or settings, 3 could not be completed, 130 interrupted.\n",
    ]
    for name, summary in COMMANDS.items():
        parts.append(f"## answerkey {name}\n\n{summary}\n")
        command = load_command(name)
        parts.append(_help(command, f"answerkey {name}"))
        if isinstance(command, click.Group):
            parts += [
                _help(sub, f"answerkey {name} {key}")
                for key, sub in sorted(command.commands.items())
            ]
    return "\n".join(parts)


def _help(command: click.Command, path: str) -> str:
    context = click.Context(command, info_name=path, terminal_width=100, max_content_width=100)
    lines = [line.rstrip() for line in command.get_help(context).split("\n")]
    return "```text\n" + "\n".join(lines) + "\n```\n"


def metrics() -> str:
    parts = [
        "# Metrics\n",
        "`recall@5` is spelled the same in TOML, on the command line, in Python and in reports. "
        "A metric whose inputs are missing is not applicable, and is left out of the weighted mean.\n",
    ]
    packages: dict[str, list[Metric]] = {}
    for metric in all_metrics():
        packages.setdefault(metric.package, []).append(metric)
    for package, members in packages.items():
        parts.append(
            f"## {package}\n\n| metric | range | better | needs | gives | when empty |\n|---|---|---|---|---|---|"
        )
        parts += [_metric_row(metric) for metric in members]
        own = [
            f"- `{m.name}`: {', '.join(f'`{key}`' for key in _own_settings(m))}"
            for m in members
            if _own_settings(m)
        ]
        parts += ["", "Settings, in `[settings]`:\n", *own, ""] if own else [""]
    return "\n".join(parts)


def _metric_row(metric: Metric) -> str:
    facts = metric.facts
    span = f"{'' if facts.low is None else f'{facts.low:g}'}–{'' if facts.high is None else f'{facts.high:g}'}"
    cells = (
        f"`{metric.name}`",
        span,
        facts.better,
        ", ".join(facts.needs),
        facts.summary,
        facts.empty,
    )
    return f"| {' | '.join(cell.replace('|', '∣') for cell in cells)} |"


def _own_settings(metric: Metric) -> list[str]:
    return [
        key
        for key in metric.keywords()
        if key not in ("embed", "judge", "words", "routes", "names")
    ]


def profiles() -> str:
    parts = [
        "# Profiles\n",
        "A profile sets the weights, bands and pass rules. Copy one with `answerkey profiles show NAME > mine.toml`, "
        "or lay your own keys over one with `base`.\n",
    ]
    for name in builtin_names():
        profile = load_profile(name)
        parts.append(
            f"## {name}\n\nVersion {profile.version}.\n\n```toml\n{builtin_text(name).rstrip()}\n```\n"
        )
    parts.append(
        "## The keys of a profile\n\n"
        + _rows({key: ("", one.help) for key, one in sorted(settings_of(ProfileTable).items())})
    )
    return "\n".join(parts)


def suite() -> str:
    parts = [
        "# The suite\n",
        'One TOML file; paths are relative to its folder; an unknown setting is an error with "did you mean". Every setting '
        "can also be set on the command line: `--set run.workers=3`.\n",
        _section("", SuiteTable),
        _section("[run]", ExecutionTable),
        _section("[target]: every live kind", LiveTable),
        _section("[target]: JSON paths into a reply (http, command)", ReplyTable, but=LiveTable),
        _section("[target]: every HTTP endpoint", EndpointTable, but=ReplyTable),
    ]
    below = (EndpointTable, ReplyTable, RetrievalTable, LiveTable)
    for kind, table in TARGET_TABLES.items():
        base = next((base for base in below if issubclass(table, base)), None)
        parts.append(_section(f'[target] kind = "{kind}"', table, but=base))
    parts += [
        _section("[judge], and `llm` of a bot", JudgeTable),
        _section("[embedding]", EmbeddingTable),
        _section("[entailment]", EntailmentTable),
        _section("[retrieval], and `rag`", RetrievalTable),
        _section("[retrieval.chunks]", ChunkTable),
        _section("[retrieval.sweep]", SweepTable),
        _section("[retrieval.store]", StoreTable),
        _gates(),
    ]
    return "\n".join(parts)


def _gates() -> str:
    from answerkey.runs.gates import FIGURES

    listed = ", ".join(f"`{figure}`" for figure in FIGURES)
    return (
        "## [gate]\n\n`require` is a list of conditions: a figure, a sign, a number. Figures: "
        + listed
        + ". A rate or count may "
        "be that of a type or route, `success[sales] >= 0.80`; a mean names its metric, `mean[quality] >= 0.70`, and may be that "
        "of a type or route, `mean[quality][sales] >= 0.70`. A metric's name alone is its mean, `recall@5 >= 0.60`, and "
        "names joined by dots lead to any number of summary.json, `totals.failed == 0`. A figure that cannot be there "
        "is refused before the first question; one that turns out not to be there fails.\n"
    )


def _section(title: str, table: type[Table], but: type[Table] | None = None) -> str:
    """The settings of a table, without those that it shares with `but`."""
    shared = settings_of(but) if but else {}
    own = [setting for setting in settings_of(table).values() if setting.name not in shared]
    rows = {setting.name: (_default(setting.default), setting.help) for setting in own}
    return (f"## {title}\n\n" if title else "") + _rows(rows)


def _rows(rows: Mapping[str, tuple[str, str]]) -> str:
    lines = [f"| `{name}` | {default} | {help} |" for name, (default, help) in rows.items()]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *lines, ""])


def _default(value: Any) -> str:
    empty = value is msgspec.NODEFAULT or value is None or value in ("", ())
    return "" if empty else f"`{_value(value)}`"


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def python() -> str:
    parts = [
        "# Python\n",
        "What `import answerkey` gives; each name is loaded when it is first used.\n",
    ]
    for name in sorted(set(answerkey.__all__) - {"__version__"}):
        thing = getattr(answerkey, name)
        about = inspect.getdoc(thing) or ""
        if name == "AnswerkeyError" or about.startswith(
            f"{name}("
        ):  # what Python writes where nobody wrote anything
            about = PYTHON.get(name, "")
        parts.append(
            f"## {name}\n\n```python\nfrom answerkey import {name}\n\n{_signature(name, thing)}\n```\n\n{about}\n"
        )
    return "\n".join(parts)


def _signature(name: str, thing: Any) -> str:
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return f"class {name}(Exception)"
    arguments: list[str] = []
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not any(
            a.startswith("*") for a in arguments
        ):
            arguments.append("*")
        as_written = getattr(thing, "__annotations__", {}).get(parameter.name, parameter.annotation)
        arguments.append(_argument(parameter.replace(annotation=as_written)))
    listed = ", ".join(arguments)
    return (
        f"{name}({listed})"
        if len(listed) < 90
        else f"{name}(\n    " + ",\n    ".join(arguments) + ",\n)"
    )


def _argument(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    annotation = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{annotation}"
    default = repr(parameter.default)
    default = (
        "{}"
        if "factory" in default
        else re.sub(r"^(\w+)\(.*", r"\1()", default)
        if "(" in default[1:]
        else default
    )
    return f"{parameter.name}{annotation} = {default}"


RUN_FILE = """
# run.sqlite

A run is one file, `run.sqlite` in its folder, besides the settings in `run.json`. The command line never needs more than
these two; all other files are reports. Any program that reads SQLite reads a run:

How many cases have which status, with `sqlite3`:

```sh
sqlite3 run.sqlite "SELECT status, count(*) FROM cases GROUP BY status ORDER BY 2 DESC"
```

The metrics that are lowest in failed cases, with DuckDB (which downloads its extension `sqlite` at first use; `sqlite3` runs
the same statement):

```sh
duckdb run.sqlite "SELECT metric, avg(value) AS mean FROM scores JOIN cases USING (n) WHERE NOT passed GROUP BY 1 ORDER BY 2"
```

The slowest answers with their question, for `sqlite3`, or to paste into the page that `datasette run.sqlite` opens:

```sh
sqlite3 run.sqlite "SELECT id, seconds, question FROM cases WHERE seconds IS NOT NULL ORDER BY seconds DESC LIMIT 10"
```

Open the file of a run in progress only to read. `answerkey export RUN --sqlite` writes a copy; of a run that an earlier
version stored as `responses.jsonl` and `scores.jsonl`, a database as described here. The answer and the details of a
score are JSON: `SELECT id, response_json ->> '$.answer' FROM answers`.
"""


def run_file() -> str:
    """The tables of run.sqlite, from schema.sql and its comments."""
    head, *tables = re.split(r"\n(?=(?:--[^\n]*\n)+CREATE TABLE)", schema_text())
    about = " ".join(line.removeprefix("--").strip() for line in head.splitlines()[2:])
    return "\n".join([RUN_FILE.strip(), "", about, *map(_stored_table, tables)])


def _stored_table(text: str) -> str:
    intro = " ".join(re.findall(r"^-- (.*)$", text, re.MULTILINE))
    name = re.findall(r"CREATE TABLE (\w+)", text)[0]
    columns = re.findall(r"^    (\w+) ([A-Z]+)[^-\n]*(?:-- (.*))?$", text, re.MULTILINE)
    rows = [
        f"| `{column}` | {kind} | {meaning} |" for column, kind, meaning in columns if kind != "KEY"
    ]
    return "\n".join([f"\n## {name}\n", intro, "\n| column | type | |\n|---|---|---|", *rows])


PAGES: Mapping[str, Callable[[], str]] = {
    "commands": commands, "metrics": metrics, "profiles": profiles, "suite": suite, "python": python,
    "run-file": run_file,
}  # fmt: skip


def stale() -> list[str]:
    """The pages that differ from what the code says now."""
    texts = {name: NOTE + make().rstrip() + "\n" for name, make in PAGES.items()}
    paths = {name: FOLDER / f"{name}.md" for name in texts}
    return [
        name
        for name, text in texts.items()
        if not paths[name].is_file() or paths[name].read_text("utf-8") != text
    ]


def main() -> None:
    if "--check" in sys.argv:
        raise SystemExit(
            f"stale: {', '.join(old)}; run python tools/make_reference.py"
            if (old := stale())
            else 0
        )
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (FOLDER / f"{name}.md").write_text(NOTE + make().rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
