"""A profile from its TOML: a built-in name, a file, or the [profile] table of a suite."""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from answerkey.errors import SettingsError, did_you_mean
from answerkey.profiles.shapes import check_shapes, check_values
from answerkey.types import Band, Criterion, Profile, ScoringRules

_KEYS = {
    "name", "version", "summary", "base", "scale", "route_weight", "pass", "bands", "routes", "criteria", "informational",
    "settings", "words", "on", "without",
}  # fmt: skip
_HOME = files("answerkey.profiles") / "builtin"


def builtin_names() -> list[str]:
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in _HOME.iterdir()
        if entry.name.endswith(".toml") and entry.name != "words.toml"
    )


def builtin_text(name: str) -> str:
    if name not in builtin_names():
        raise SettingsError(
            f'unknown profile "{name}"{did_you_mean(name, builtin_names())}; built in: {", ".join(builtin_names())}'
        )
    return (_HOME / f"{name}.toml").read_text(encoding="utf-8")


def words_text() -> str:
    return (_HOME / "words.toml").read_text(encoding="utf-8")


@cache
def default_words() -> Mapping[str, tuple[str, ...]]:
    table = tomllib.loads(words_text())
    return {name: tuple(listed) for name, listed in table.items()}


def load_profile(given: str | Mapping[str, Any], folder: Path | None = None) -> Profile:
    """The profile, checked whole; its digest covers everything that can change a verdict."""
    table, source = profile_table(given, folder or Path())
    return _profile(table, source)


def profile_table(given: str | Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], str]:
    """The profile's own TOML as a table, laid over the `base` it names."""
    if isinstance(given, Mapping):
        table, source = dict(given), "[profile]"
    elif given.endswith(".toml") or (folder / given).is_file():
        path = folder / given
        try:
            table, source = tomllib.loads(path.read_text(encoding="utf-8-sig")), str(given)
        except OSError as error:
            raise SettingsError(f"profile {given}: cannot be read: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"profile {given}: not valid TOML: {error}") from None
    else:
        table, source = tomllib.loads(builtin_text(given)), given
    if "base" in table:
        base, _ = profile_table(str(table.pop("base")), folder)
        table = {**base, **table, "words": {**base.get("words", {}), **table.get("words", {})}}
    return table, source


def _profile(table: Mapping[str, Any], source: str) -> Profile:
    for key in table:
        if key not in _KEYS:
            raise SettingsError(f'profile {source}: unknown key "{key}"{did_you_mean(key, _KEYS)}')
    check_shapes(table, source)
    without = _without(table, source)
    rules = _rules(table, source, without)
    group_rules = {
        group: _rules({**table, **own}, f"{source} [on.{group}]", without)
        for group, own in table.get("on", {}).items()
    }
    routes = {
        group: _texts(names, source, f"routes.{group}") for group, names in table.get("routes", {}).items()
    }
    for group in group_rules:
        if group not in routes:
            raise SettingsError(
                f"profile {source}: [on.{group}] has no routes; list them as {group} = [...] under [routes]"
            )
    words = {**default_words()} | {
        name: _texts(w, source, f"words.{name}") for name, w in table.get("words", {}).items()
    }
    for name in words:
        if name not in default_words():
            raise SettingsError(
                f'profile {source}: unknown word list "{name}"{did_you_mean(name, default_words())}'
            )
    profile = Profile(
        name=str(table.get("name") or Path(source).stem),
        version=table.get("version", 1),
        summary=str(table.get("summary", "")),
        rules=rules,
        group_rules=group_rules,
        routes={"kpi": (), "documents": (), **routes},
        scale=_number(table.get("scale", 1), source, "scale", above=0),
        route_weight=_number(table.get("route_weight", 0), source, "route_weight", above=-1e-12, below=1),
        informational=_texts(table.get("informational", []), source, "informational"),
        settings=_settings(table.get("settings", {}), source),
        words=words,
    )
    return replace(profile, digest=_digest(profile))


def _without(table: Mapping[str, Any], source: str) -> frozenset[str]:
    """The criteria to leave out; each must be one of the profile's, on some route at least."""
    given = _texts(table.get("without", []), source, "without")
    group_rules = (table, *table.get("on", {}).values())
    known = {
        str(item["metric"])
        for rules in group_rules
        for item in rules.get("criteria", [])
        if isinstance(item, Mapping) and "metric" in item
    }
    for name in given:
        if name not in known:
            near = did_you_mean(name, known) or f"; its criteria are {', '.join(sorted(known))}"
            raise SettingsError(f'profile {source}: without names no criterion "{name}"{near}')
    return frozenset(given)


def _rules(table: Mapping[str, Any], source: str, without: frozenset[str]) -> ScoringRules:
    given = table.get("criteria")
    if not isinstance(given, list) or not given:
        raise SettingsError(f"profile {source}: no criteria; give at least one [[criteria]] with a metric")
    criteria = tuple(c for c in (_criterion(item, source) for item in given) if c.metric not in without)
    if sum(c.weight for c in criteria) <= 0:
        raise SettingsError(
            f"profile {source}: the weights add up to 0; give at least one criterion a weight above 0"
        )
    pass_mark = _number(table.get("pass", 0.5 * float(table.get("scale", 1))), source, "pass")
    default = [
        {"name": "passed", "at": pass_mark, "status": "PASSED"},
        {"name": "failed", "at": 0, "status": "FAILED"},
    ]
    bands = sorted(
        (_filled(Band, item, source, "band") for item in table.get("bands", default)),
        key=lambda band: -band.at,
    )
    return ScoringRules(criteria, pass_mark, tuple(bands))


def _criterion(item: Any, source: str) -> Criterion:
    criterion = _filled(Criterion, item, source, "criterion")
    where = f"{source}, criterion {criterion.metric}"
    _number(criterion.weight, where, "weight", above=-1e-12)
    _number(criterion.maximum, where, "maximum", above=0)
    if criterion.better not in {"higher", "lower"}:
        raise SettingsError(f'profile {where}: better is "{criterion.better}", expected "higher" or "lower"')
    return criterion


def _filled(kind: Any, item: Any, source: str, what: str) -> Any:
    known = [field.name for field in fields(kind)]
    if not isinstance(item, Mapping):
        raise SettingsError(f"profile {source}: found {item!r}, expected a {what} with named values")
    for key in item:
        if key not in known:
            raise SettingsError(
                f'profile {source}: unknown key "{key}" in a {what}{did_you_mean(key, known)}'
            )
    check_values(item, source, what)
    try:
        return kind(**item)
    except TypeError as error:
        missing = str(error).rpartition("argument")[2].strip(": s")
        raise SettingsError(f"profile {source}: a {what} lacks {missing}") from None


def _number(value: Any, source: str, key: str, *, above: float = -math.inf, below: float = math.inf) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not math.isfinite(value)
        or not above < value <= below
    ):
        raise SettingsError(
            f"profile {source}: {key} is {value!r}, expected a number{f' above {max(above, 0):g}' if above > -1e9 else ''}"
        )
    return float(value)


def _texts(value: Any, source: str, key: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise SettingsError(f"profile {source}: {key} is {value!r}, expected a list of texts")
    return tuple(value)


def _settings(value: Any, source: str) -> Mapping[str, Mapping[str, Any]]:
    if not isinstance(value, Mapping) or not all(isinstance(table, Mapping) for table in value.values()):
        raise SettingsError(
            f"profile {source}: settings is {value!r}, expected tables such as [settings.semantic_relevance]"
        )
    return value


def _digest(profile: Profile) -> str:
    content = {key: value for key, value in asdict(profile).items() if key not in {"summary", "digest"}}
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]
