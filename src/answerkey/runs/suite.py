"""The suite: one TOML file that says what to ask, whom, and how to score it. Paths are relative to its folder."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any

from answerkey.errors import SettingsError, did_you_mean
from answerkey.runs.suite_tables import check_embedding, check_judge, check_retrieval

Table = dict[str, Any]
DEFAULT_MODEL = "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The [run] table. `stop_below` is on the profile's own scale; `out` is where run folders go."""

    workers: int = 5
    timeout: float = 30.0
    stop_below: float | None = None
    out: str = "results"
    max_cost: float | None = None
    max_minutes: float | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """Everything a run is made of, as the TOML file says it."""

    name: str
    cases: tuple[str, ...]
    folder: Path = Path()
    path: Path | None = None
    profile: str | Table | None = None
    metrics: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    target: Table = field(default_factory=Table)
    judge: str | Table | None = None
    embedding: Table = field(default_factory=lambda: {"model": DEFAULT_MODEL})
    run: RunSettings = RunSettings()
    gate: tuple[str, ...] = ()
    retrieval: Table = field(default_factory=Table)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])


_KEYS = (
    "name",
    "cases",
    "profile",
    "metrics",
    "modules",
    "target",
    "judge",
    "embedding",
    "run",
    "gate",
    "retrieval",
    "settings",
)


def load_suite(path: Path, overrides: Mapping[str, Any] | None = None) -> Suite:
    """The suite of a file, checked; `overrides` are settings by dotted name, as `--set run.workers=3` gives them."""
    if path.is_dir():
        path = _suite_in(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        near = (
            did_you_mean(path.name, [p.name for p in path.parent.glob("*.toml")])
            if path.parent.is_dir()
            else ""
        )
        raise SettingsError(f"{path}: cannot be read: {error.strerror}{near}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None
    for dotted, value in (overrides or {}).items():
        _put(table, dotted.split("."), value)
    suite = suite_of(
        table, path.parent, default_name=path.parent.resolve().name if path.stem == "suite" else path.stem
    )
    return replace(suite, path=path)


def _suite_in(folder: Path) -> Path:
    path = folder / "suite.toml"
    if not path.is_file():
        others = ", ".join(sorted(found.name for found in folder.glob("*.toml"))[:5])
        raise SettingsError(
            f"{folder}: a folder without a suite.toml; name the suite's file"
            + (f", such as {others}" if others else ", or write one with `answerkey init`")
        )
    return path


def suite_of(table: Mapping[str, Any], folder: Path, default_name: str = "run") -> Suite:
    """The suite of a table that is already parsed."""
    for key in table:
        if key not in _KEYS:
            raise SettingsError(f'the suite has an unknown key "{key}"{did_you_mean(key, _KEYS)}')
    cases = table.get("cases")
    if isinstance(cases, str):
        cases = [cases]
    if not cases:
        raise SettingsError(
            'the suite names no cases; give cases = ["qa/*.md"] or another file, folder or glob'
        )
    for key in ("name", "profile"):
        _text_or_table(table.get(key), key)
    suite = Suite(
        name=_file_name(table.get("name") or default_name),
        cases=_texts(cases, "cases"),
        folder=folder,
        profile=table.get("profile"),
        metrics=_texts(table.get("metrics", []), "metrics"),
        modules=_texts(table.get("modules", []), "modules"),
        target=_table(table, "target"),
        judge=table.get("judge"),
        embedding=_embedding(table.get("embedding", {})),
        run=_run_settings(_table(table, "run")),
        gate=_gate(_table(table, "gate")),
        retrieval=_table(table, "retrieval"),
        settings=_table(table, "settings"),
    )
    check_judge(suite.judge)
    check_embedding(suite.embedding)
    check_retrieval(suite.retrieval)
    return suite


def _text_or_table(value: Any, key: str) -> None:
    if value is None or isinstance(value, str) or (key == "profile" and isinstance(value, Mapping)):
        return
    wanted = "a built-in name, a file, or a table [profile]" if key == "profile" else "a text"
    raise SettingsError(f"{key} is {value!r}, expected {wanted}")


_LEAST: Mapping[str, float | None] = {
    "workers": 1,
    "timeout": 0.001,
    "stop_below": None,
    "max_cost": 0,
    "max_minutes": 0,
}


def _run_settings(table: Table) -> RunSettings:
    known = [field.name for field in fields(RunSettings)]
    for key in table:
        if key not in known:
            raise SettingsError(f'[run] has an unknown key "{key}"{did_you_mean(key, known)}')
    settings = RunSettings(**table)
    for key, least in _LEAST.items():
        if key in table:
            _check_number(table[key], key, least)
    if not isinstance(table.get("out", ""), str):
        raise SettingsError(f"[run] out is {settings.out!r}, expected the name of a folder")
    return replace(settings, workers=int(settings.workers))


def _check_number(value: Any, key: str, least: float | None) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
    if not number or (least is not None and value < least):
        told = "a number" if least is None else f"a number of {least:g} or more"
        raise SettingsError(f"[run] {key} is {value!r}, expected {told}")


def _gate(table: Table) -> tuple[str, ...]:
    for key in table:
        if key != "require":
            raise SettingsError(f'[gate] has an unknown key "{key}"{did_you_mean(key, ["require"])}')
    return _texts(table.get("require", []), "gate.require")


def _embedding(given: Any) -> Table:
    if isinstance(given, str):
        return {"model": given}
    if not isinstance(given, Mapping):
        raise SettingsError(f"embedding is {given!r}, expected a model's name or a table")
    if not isinstance(given.get("model", ""), str):
        raise SettingsError(f"[embedding] model is {given['model']!r}, expected a model's name")
    return {"model": DEFAULT_MODEL, **given}


def _table(table: Mapping[str, Any], key: str) -> Table:
    value = table.get(key, {})
    if not isinstance(value, Mapping):
        raise SettingsError(f"{key} is {value!r}, expected a table [{key}]")
    return dict(value)


def _texts(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise SettingsError(f"{key} is {value!r}, expected a list of texts")
    return tuple(value)


def _put(table: dict[str, Any], path: list[str], value: Any) -> None:
    for key in path[:-1]:
        inner = table.setdefault(key, {})
        if not isinstance(inner, dict):
            inner = table[key] = {"model" if key == "embedding" else "preset": inner}
        table = inner
    table[path[-1]] = value


def _file_name(name: str) -> str:
    """Safe as the beginning of a folder's name."""
    return "".join(ch if ch.isalnum() or ch in "-_." else "-" for ch in name).strip(".-")[:80] or "run"
