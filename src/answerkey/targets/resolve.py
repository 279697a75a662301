"""From the suite's `[target]` table to something that can be asked."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from answerkey.errors import SettingsError, did_you_mean
from answerkey.targets import live
from answerkey.targets.live import Live, Manners, read_manners
from answerkey.targets.recorded import ReadResponses, Recorded, read_recorded
from answerkey.targets.settings import Table, check_keys, need, take
from answerkey.types import Target

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
_TELLING = {"url": "http", "openai": "http", "chat": "http", "gradio": "http", "call": "python", "make": "python",
            "run": "command", "answers": "recorded"}  # fmt: skip


def make_target(
    table: Table, folder: Path, read_responses: ReadResponses | None = None, timeout: float = 30.0
) -> Target:
    """The target of a suite in `folder`. Wrong settings are found here, before the first question.

    `timeout` holds where the table has none of its own; `read_responses` reads a file of recorded answers.
    """
    kind = kind_of(table)
    if kind == "recorded":
        check_keys(table, ("kind", "answers"))
        answers = take(table, "answers", str, "")
        return read_recorded(folder / answers, read_responses) if answers else Recorded()
    manners = read_manners(table, timeout)
    return Live(_live_target(kind, table, folder, manners), manners)


def kind_of(table: Table) -> str:
    """The table's kind; where it names none, the one its other keys tell; an empty table is `recorded`."""
    kind = take(table, "kind", str, next((_TELLING[key] for key in table if key in _TELLING), ""))
    if not kind and table:
        raise SettingsError(f"[target] needs a kind: {', '.join(KINDS)}")
    if kind and kind not in KINDS:
        raise SettingsError(
            f'[target] kind = "{kind}": expected one of {", ".join(KINDS)}{did_you_mean(kind, KINDS)}'
        )
    return kind or "recorded"


def _live_target(kind: str, table: Table, folder: Path, manners: Manners) -> Target:
    if kind in BOTS:
        return _made(BOTS[kind], table, folder, manners)
    if kind == "python" and "make" in table:
        return _made(need(table, "make", '"bot:make"'), table, folder, manners)
    make: Callable[[Table, Path, Manners], Target] = import_module(_MODULES[kind]).make
    return make(table, folder, manners)


def _made(spec: str, table: Table, folder: Path, manners: Manners) -> Target:
    """Its own settings are the maker's to check: what is left of the table when ours are taken out."""
    from answerkey.targets.function import load_object, object_target

    settings = {key: value for key, value in table.items() if key not in (*live.KEYS, "make")}
    return object_target(load_object(spec, folder, "make")(settings, folder), manners.timeout, spec)
