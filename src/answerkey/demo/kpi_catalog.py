"""What a KPI bot can compute, and the words by which people ask for it, from a TOML file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from answerkey.coerce.decode import parse_toml
from answerkey.errors import SettingsError, did_you_mean

_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Kpi:
    """One figure. `measure` is SQL over the table or view `source`, which has a column `month`."""

    name: str
    title: str
    route: str
    source: str
    measure: str
    unit: str
    dimensions: tuple[str, ...]
    words: tuple[str, ...]
    adds_up: bool = True
    lower_is_better: bool = False


@dataclass(frozen=True, slots=True)
class Catalog:
    kpis: tuple[Kpi, ...]
    views: Mapping[str, str] = field(default_factory=dict[str, str])
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    months: tuple[tuple[str, ...], ...] = ()

    @property
    def routes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(kpi.route for kpi in self.kpis))


def read_catalog(path: Path) -> Catalog:
    """The catalogue, or an error that names the file, the KPI and the field."""
    try:
        given = parse_toml(path.read_text(encoding="utf-8"), path.name)
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path.name}: not valid TOML: {error}") from None
    kpis = tuple(_kpi(path, number, entry) for number, entry in enumerate(given.get("kpi", []), 1))
    if not kpis:
        raise SettingsError(f"{path.name}: no [[kpi]]; each needs name, title, route, from, measure and words")
    words = dict(given.get("words", {}))
    months = tuple(tuple(names) for names in words.pop("months", []))
    if months and len(months) != 12:
        raise SettingsError(f"{path.name}: [words] months has {len(months)} entries, expected 12")
    views = {_checked(path, name): str(sql) for name, sql in given.get("views", {}).items()}
    return Catalog(kpis, views, {key: _lowered(value) for key, value in words.items()}, months)


def _kpi(path: Path, number: int, entry: Mapping[str, Any]) -> Kpi:
    known = {f.name for f in fields(Kpi)} - {"source"} | {"from"}
    where = f"{path.name}, [[kpi]] {entry.get('name', number)}"
    for key in entry:
        if key not in known:
            raise SettingsError(f'{where}: unknown key "{key}"{did_you_mean(key, known)}')
    for key in ("name", "title", "route", "from", "measure", "words"):
        if not entry.get(key):
            raise SettingsError(f"{where}: {key} is missing")
    return Kpi(
        name=entry["name"],
        title=entry["title"],
        route=entry["route"],
        source=_checked(path, entry["from"]),
        measure=entry["measure"],
        unit=entry.get("unit", ""),
        dimensions=tuple(_checked(path, name) for name in entry.get("dimensions", [])),
        words=_lowered(entry["words"]),
        adds_up=bool(entry.get("adds_up", True)),
        lower_is_better=bool(entry.get("lower_is_better", False)),
    )


def _checked(path: Path, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise SettingsError(f'{path.name}: "{name}" is no name of a table or column; use letters, digits and _')
    return name


def _lowered(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)
