"""Makes the target that the suite's `[target]` table describes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from answerkey.config.declare import read_table, settings_of, toml_text
from answerkey.config.target_tables import TARGET_TABLES, LiveTable, PythonTable, RecordedTable
from answerkey.errors import SettingsError, did_you_mean
from answerkey.targets.function import object_target
from answerkey.targets.live import Live
from answerkey.targets.recorded import ReadResponses, Recorded, read_recorded
from answerkey.types import Target
from answerkey.user_code import load_object

Settings = Mapping[str, object]

# The built-in bots are made as a user's own `make = "module:function"` is.
BOTS = {
    "rag": "answerkey.targets.rag:make_rag",
    "faq": "answerkey.targets.faq:make_faq",
    "full-context": "answerkey.targets.full_context:make_full_context",
    "routed-kpi": "answerkey.demo.routed_kpi:make_routed_kpi",
}
# Imported when a suite asks for one: most runs need a single kind.
_MAKERS = {
    "python": ("answerkey.targets.function", "make_python_target"),
    "http": ("answerkey.targets.http", "make_http_target"),
    "command": ("answerkey.targets.command", "make_command_target"),
}
KINDS = ("recorded", *_MAKERS, *BOTS)
# The kind that a key implies where the table names none.
_IMPLIED = {
    "url": "http",
    "openai": "http",
    "chat": "http",
    "gradio": "http",
    "call": "python",
    "make": "python",
    "run": "command",
    "answers": "recorded",
}
_PROTOCOLS = {"openai": "http, openai", "chat": "http, openai", "gradio": "http, gradio"}
_LIVE_SETTINGS = settings_of(LiveTable)
_OBJECT_NAME = re.compile(r"[\w.]+:[\w.]+")


def make_target(
    table: Settings,
    folder: Path,
    read_responses: ReadResponses | None = None,
    timeout: float = 30.0,
) -> Target:
    """The target of a suite in `folder`. Wrong settings are found here, before the first question.

    `timeout` holds where the table has none of its own; `read_responses` reads a file of recorded
    answers.
    """
    kind = kind_of(table)
    if kind == "recorded":
        answers = read_table(RecordedTable, table, "[target]").answers
        if answers:
            return read_recorded(folder / answers, read_responses)
        return Recorded()
    live = _read_live_settings(table)
    timeout = live.timeout or timeout
    factory = _factory_of(table, kind)
    if factory:
        # The factory checks its own settings: it is given the table without ours.
        own = {key: value for key, value in table.items() if key not in (*_LIVE_SETTINGS, "make")}
        bot = load_object(factory, folder, "[target] make")(own, folder)
        return Live(object_target(bot, timeout, factory), live, folder)
    module, maker = _MAKERS[kind]
    make: Callable[[Settings, Path, float], Target] = getattr(import_module(module), maker)
    return Live(make(table, folder, timeout), live, folder)


def _factory_of(table: Settings, kind: str) -> str:
    """`module:function` that makes the bot; "" where the kind has no factory."""
    if kind == "python" and table.get("make"):
        others = [key for key in table if key not in settings_of(PythonTable)]
        return read_table(PythonTable, table, "[target]", others=others).make
    return BOTS.get(kind, "")


def _read_live_settings(table: Settings) -> LiveTable:
    settings = {key: value for key, value in table.items() if key in _LIVE_SETTINGS}
    return read_table(LiveTable, settings, "[target]")


def check_target(table: Settings, folder: Path) -> None:
    """Check the settings of a target without importing, starting or asking the user's bot."""
    kind = kind_of(table)
    declaration = kind
    if kind == "http":
        declaration = next((_PROTOCOLS[key] for key in _PROTOCOLS if key in table), kind)
    own = dict(table)
    # The tables of built-in bots have no settings of live targets; those are checked below.
    if kind in BOTS:
        own = {key: value for key, value in table.items() if key not in _LIVE_SETTINGS}
    if kind != "recorded":
        _read_live_settings(table)
    if kind == "python" and table.get("make"):
        own = {key: value for key, value in own.items() if key in settings_of(PythonTable)}
    read_table(TARGET_TABLES[declaration], own, "[target]", folder)
    if kind == "python":
        for key in ("call", "make"):
            name = table.get(key)
            if name and not _OBJECT_NAME.fullmatch(str(name)):
                expected = 'expected "module:function"'
                raise SettingsError(f"[target] {key} = {toml_text(name)}: {expected}")


def kind_of(table: Settings) -> str:
    """The table's kind, or else the one that its other keys imply; an empty table is `recorded`."""
    implied = next((_IMPLIED[key] for key in table if key in _IMPLIED), "")
    kind = read_table(LiveTable, {"kind": table.get("kind", implied)}, "[target]").kind
    if not kind and table:
        raise SettingsError(f"[target] needs a kind: {', '.join(KINDS)}")
    if kind and kind not in KINDS:
        expected = f"expected one of {', '.join(KINDS)}{did_you_mean(kind, KINDS)}"
        raise SettingsError(f'[target] kind = "{kind}": {expected}')
    return kind or "recorded"
