"""From the suite's `[target]` table to something that can be asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from answerkey.config.declare import read_table, settings_of, shown
from answerkey.config.target_tables import TARGET_TABLES, LiveTable, PythonTable, RecordedTable
from answerkey.errors import SettingsError, did_you_mean
from answerkey.targets.function import object_target
from answerkey.targets.live import Live
from answerkey.targets.recorded import ReadResponses, Recorded, read_recorded
from answerkey.types import Target
from answerkey.user_code import load_object

# The built-in bots come through the door that anybody's own `make = "module:function"` comes through.
BOTS = {
    "rag": "answerkey.targets.rag:make",
    "faq": "answerkey.targets.faq:make",
    "full-context": "answerkey.targets.full_context:make",
    "routed-kpi": "answerkey.demo.routed_kpi:make",
}
_MODULES = {
    "python": "answerkey.targets.function",
    "http": "answerkey.targets.http",
    "command": "answerkey.targets.command",
}
KINDS = ("recorded", *_MODULES, *BOTS)
_IMPLIED = {"url": "http", "openai": "http", "chat": "http", "gradio": "http", "call": "python", "make": "python",
            "run": "command", "answers": "recorded"}  # fmt: skip

_LIVE_SETTINGS = settings_of(LiveTable)
Settings = Mapping[str, object]


def make_target(
    table: Settings, folder: Path, read_responses: ReadResponses | None = None, timeout: float = 30.0
) -> Target:
    """The target of a suite in `folder`. Wrong settings are found here, before the first question.

    `timeout` holds where the table has none of its own; `read_responses` reads a file of recorded answers.
    """
    kind = kind_of(table)
    if kind == "recorded":
        answers = read_table(RecordedTable, table, "[target]").answers
        return read_recorded(folder / answers, read_responses) if answers else Recorded()
    live = read_table(LiveTable, {key: table[key] for key in table if key in _LIVE_SETTINGS}, "[target]")
    return Live(_live_target(kind, table, folder, live.timeout or timeout), live)


def check_target(table: Settings, folder: Path) -> None:
    """Check the settings of a target without importing, starting or asking anything of the user's."""
    kind = kind_of(table)
    protocols = {"openai": "http, openai", "chat": "http, openai", "gradio": "http, gradio"} if kind == "http" else {}
    declared = TARGET_TABLES[next((protocols[key] for key in protocols if key in table), kind)]
    own = {key: value for key, value in table.items() if kind not in BOTS or key not in _LIVE_SETTINGS}
    if kind != "recorded":
        read_table(LiveTable, {key: table[key] for key in table if key in _LIVE_SETTINGS}, "[target]")
    if kind == "python" and table.get("make"):
        own = {key: value for key, value in own.items() if key in settings_of(PythonTable)}
    read_table(declared, own, "[target]", folder)
    for key in ("call", "make"):
        if kind == "python" and table.get(key) and not re.fullmatch(r"[\w.]+:[\w.]+", str(table[key])):
            raise SettingsError(f'[target] {key} = {shown(table[key])}: expected "module:function"')


def kind_of(table: Settings) -> str:
    """The table's kind; where it names none, the one its other keys tell; an empty table is `recorded`."""
    implied = next((_IMPLIED[key] for key in table if key in _IMPLIED), "")
    kind = read_table(LiveTable, {"kind": table.get("kind", implied)}, "[target]").kind
    if not kind and table:
        raise SettingsError(f"[target] needs a kind: {', '.join(KINDS)}")
    if kind and kind not in KINDS:
        raise SettingsError(f'[target] kind = "{kind}": expected one of {", ".join(KINDS)}{did_you_mean(kind, KINDS)}')
    return kind or "recorded"


def _live_target(kind: str, table: Settings, folder: Path, timeout: float) -> Target:
    if kind in BOTS:
        return _made(BOTS[kind], table, folder, timeout)
    if kind == "python" and table.get("make"):
        others = [key for key in table if key not in settings_of(PythonTable)]
        return _made(read_table(PythonTable, table, "[target]", others=others).make, table, folder, timeout)
    module = "answerkey.targets.gradio" if kind == "http" and "gradio" in table else _MODULES[kind]
    make: Callable[[Settings, Path, float], Target] = import_module(module).make
    return make(table, folder, timeout)


def _made(spec: str, table: Settings, folder: Path, timeout: float) -> Target:
    """The maker checks its own settings: what is left of the table when ours are taken out."""
    settings = {key: value for key, value in table.items() if key not in (*_LIVE_SETTINGS, "make")}
    return object_target(load_object(spec, folder, "[target] make")(settings, folder), timeout, spec)
