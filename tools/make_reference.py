"""Write docs/reference/*.md from the code: `python tools/make_reference.py` (`--check` only says what is stale).

The code says which commands, metrics, profiles, settings and names there are; this program only lays them out. A
setting that tools/reference_text.py does not describe is an error, and so is a description of one that is gone.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parent))
import reference_text as words

import answerkey
from answerkey.cli.main import COMMANDS, command_module
from answerkey.metrics.registry import Metric, all_metrics
from answerkey.profiles.load import builtin_names, builtin_text, load_profile

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOTE = "<!-- Made by tools/make_reference.py from the code. Do not edit. -->\n\n"


def commands() -> str:
    parts = [
        "# Commands\n",
        "Exit codes: 0 pass, 1 a gate failed, 2 bad input or settings, 3 could not be completed, 130 interrupted.\n",
    ]
    for name, summary in COMMANDS.items():
        parts.append(f"## answerkey {name}\n\n{summary}\n")
        command = import_module(command_module(name)).command
        parts.append(_help(command, f"answerkey {name}"))
        if isinstance(command, click.Group):
            parts += [_help(sub, f"answerkey {name} {key}") for key, sub in sorted(command.commands.items())]
    return "\n".join(parts)


def _help(command: click.Command, path: str) -> str:
    context = click.Context(command, info_name=path, terminal_width=100, max_content_width=100)
    lines = [line.rstrip() for line in command.get_help(context).split("\n")]
    return "```text\n" + "\n".join(lines) + "\n```\n"


def metrics() -> str:
    parts = [
        "# Metrics\n",
        "`recall@5` is spelled the same in TOML, on the command line, in Python and in reports. "
        "Where what a metric needs is missing it does not apply, and is left out of the weighted mean.\n",
    ]
    families: dict[str, list[Metric]] = {}
    for metric in all_metrics():
        families.setdefault(metric.family, []).append(metric)
    for family, members in families.items():
        parts.append(
            f"## {family}\n\n| metric | range | better | needs | gives | when empty |\n|---|---|---|---|---|---|"
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
    span = (
        f"{'' if facts.low is None else f'{facts.low:g}'}–{'' if facts.high is None else f'{facts.high:g}'}"
    )
    cells = (f"`{metric.name}`", span, facts.better, ", ".join(facts.needs), facts.summary, facts.empty)
    return f"| {' | '.join(cell.replace('|', '∣') for cell in cells)} |"


def _own_settings(metric: Metric) -> list[str]:
    return [key for key in metric.keywords() if key not in ("embed", "judge", "words", "routes", "names")]


def profiles() -> str:
    parts = [
        "# Profiles\n",
        "A profile is the ruler. Copy one with `answerkey profiles show NAME > mine.toml`, "
        "or lay your own keys over one with `base`.\n",
    ]
    for name in builtin_names():
        profile = load_profile(name)
        parts.append(
            f"## {name}\n\nVersion {profile.version}.\n\n```toml\n{builtin_text(name).rstrip()}\n```\n"
        )
    parts.append("## The keys of a profile\n\n" + _table(words.PROFILE, _profile_keys(), "profile"))
    return "\n".join(parts)


def _profile_keys() -> Iterable[str]:
    return sorted(import_module("answerkey.profiles.load")._KEYS)


def suite() -> str:
    from answerkey.embed.models import Options
    from answerkey.llm.settings import KEYS as CHAT_KEYS
    from answerkey.llm.settings import ChatSettings
    from answerkey.metrics.judge.judged_metrics import JUDGE_KEYS
    from answerkey.retrieval.settings import RetrievalSettings
    from answerkey.runs.suite import _KEYS, RunSettings
    from answerkey.targets.fields import FIELDS
    from answerkey.targets.live import KEYS as LIVE_KEYS

    parts = [
        "# The suite\n",
        'One TOML file; paths are relative to its folder; an unknown key is an error with "did you mean". Any setting can be '
        "given on the command line too: `--set run.workers=3`.\n",
        _section("", words.SUITE, _KEYS),
        _section("[run]", words.RUN, [f.name for f in fields(RunSettings)], _defaults(RunSettings)),
        _section("[target]: every live kind", words.LIVE, LIVE_KEYS),
        _section(
            "[target]: where things are in a reply (http, command)",
            {k: words.FIELDS[k] for k in FIELDS},
            FIELDS,
        ),
    ]
    for kind, keys in _target_kinds().items():
        parts.append(_section(f'[target] kind = "{kind}"', words.KINDS[kind], keys))
    parts[-1:] = [parts[-1], "`rag` takes every key of `[retrieval]` as well.\n"]
    parts += [
        _section(
            "[judge], and `llm` of a bot",
            words.JUDGE,
            sorted(CHAT_KEYS | JUDGE_KEYS),
            _defaults(ChatSettings),
        ),
        _section(
            "[embedding]", words.EMBEDDING, ["model", *(f.name for f in fields(Options))], _defaults(Options)
        ),
        _section(
            "[retrieval]",
            words.RETRIEVAL,
            [f.name for f in fields(RetrievalSettings)],
            _defaults(RetrievalSettings),
        ),
        _gates(),
    ]
    return "\n".join(parts)


def _target_kinds() -> dict[str, tuple[str, ...]]:
    """The keys of each kind besides those of every live target."""

    def private(module: str, name: str) -> tuple[str, ...]:
        return getattr(import_module(f"answerkey.{module}"), name)

    http = dict.fromkeys(
        private("targets.http", "_KEYS")
        + private("targets.chat", "_KEYS")
        + private("targets.gradio", "_KEYS")
    )
    return {
        "recorded": ("answers",),
        "python": ("call", "make"),
        "http": tuple(http),
        "command": ("run", "processes"),
        "faq": private("targets.faq", "SETTINGS"),
        "full-context": private("targets.full_context", "SETTINGS"),
        "routed-kpi": private("demo.routed_kpi", "SETTINGS"),
        "rag": private("targets.rag", "OWN_SETTINGS"),
    }


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


def _section(
    title: str, described: Mapping[str, str], keys: Iterable[str], defaults: Mapping[str, str] | None = None
) -> str:
    head = f"## {title}\n\n" if title else ""
    return head + _table(described, keys, title or "suite", defaults)


def _table(
    described: Mapping[str, str], keys: Iterable[str], where: str, defaults: Mapping[str, str] | None = None
) -> str:
    names = list(keys)
    if set(names) != set(described):
        missing, gone = sorted(set(names) - set(described)), sorted(set(described) - set(names))
        raise SystemExit(
            f"tools/reference_text.py, {where}: without a line: {missing}; no longer there: {gone}"
        )
    rows = [f"| `{name}` | {(defaults or {}).get(name, '')} | {described[name]} |" for name in names]
    return "\n".join(["| setting | unless given | meaning |", "|---|---|---|", *rows, ""])


def _defaults(settings: type) -> dict[str, str]:
    def shown(field: Field[Any]) -> str:
        return "" if field.default is MISSING or field.default in (None, "") else f"`{_value(field.default)}`"

    return {field.name: shown(field) for field in fields(settings)}


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def python() -> str:
    parts = ["# Python\n", "What `import answerkey` gives; each name is loaded when it is first used.\n"]
    for name in sorted(set(answerkey.__all__) - {"__version__"}):
        thing = getattr(answerkey, name)
        about = inspect.getdoc(thing) or ""
        if name == "AnswerkeyError" or about.startswith(
            f"{name}("
        ):  # what Python writes where nobody wrote anything
            about = words.PYTHON.get(name, "")
        parts.append(
            f"## {name}\n\n```python\nfrom answerkey import {name}\n\n{_signature(name, thing)}\n```\n\n{about}\n"
        )
    return "\n".join(parts)


def _signature(name: str, thing: Any) -> str:
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return f"class {name}(Exception)"
    arguments: list[str] = []
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not any(a.startswith("*") for a in arguments):
            arguments.append("*")
        arguments.append(_argument(parameter))
    listed = ", ".join(arguments)
    return f"{name}({listed})" if len(listed) < 90 else f"{name}(\n    " + ",\n    ".join(arguments) + ",\n)"


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


PAGES: Mapping[str, Callable[[], str]] = {
    "commands": commands, "metrics": metrics, "profiles": profiles, "suite": suite, "python": python,
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
            f"stale: {', '.join(old)}; run python tools/make_reference.py" if (old := stale()) else 0
        )
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (FOLDER / f"{name}.md").write_text(NOTE + make().rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
