"""Load a profile from TOML: a built-in name, a file, or the [profile] table of a suite."""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from answerkey.coerce.decode import parse_toml
from answerkey.coerce.values import is_list, is_mapping, shown
from answerkey.errors import SettingsError, did_you_mean
from answerkey.types import LARGEST, Band, Criterion, Profile, ScoringRules

Table = Mapping[str, Any]
T = TypeVar("T", Criterion, Band)

FAILED = "FAILED"  # the status of a band that fails a case; any other status passes it
_KEYS = {
    "name", "version", "summary", "base", "scale", "route_weight", "pass", "bands", "routes", "criteria", "informational",
    "settings", "words", "on", "without",
}  # fmt: skip
_GROUP_KEYS = ("criteria", "pass", "bands")
_KINDS = {
    **dict.fromkeys(("metric", "name", "status", "reading", "better", "summary"), "a string"),
    **dict.fromkeys(("required", "needs_route"), "true or false"),
    **dict.fromkeys(("at", "floor", "weight", "maximum", "scale", "pass", "route_weight"), "a number"),
    **dict.fromkeys(("on", "routes", "words", "settings"), "a table"),
    **dict.fromkeys(("criteria", "bands"), "a list of tables"),
    "version": "a whole number",
}
_HOME = files("answerkey.profiles") / "builtin"


def builtin_names() -> list[str]:
    """The names of the built-in profiles: `["rag", "retrieval", …]`."""
    names = (entry.name for entry in _HOME.iterdir() if entry.name != "words.toml")
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def builtin_text(name: str) -> str:
    """The TOML of a built-in profile."""
    if name not in builtin_names():
        hint = did_you_mean(name, builtin_names())
        raise SettingsError(f'unknown profile "{name}"{hint}; built in: {", ".join(builtin_names())}')
    return (_HOME / f"{name}.toml").read_text(encoding="utf-8")


def words_text() -> str:
    """The TOML of the default word lists, which a profile may replace under [words]."""
    return (_HOME / "words.toml").read_text(encoding="utf-8")


@cache
def default_words() -> Mapping[str, tuple[str, ...]]:
    return {name: tuple(listed) for name, listed in tomllib.loads(words_text()).items()}


def load_profile(given: str | Table, folder: Path | None = None) -> Profile:
    """The profile, fully checked; its digest covers everything that can change a verdict.

    >>> load_profile({"base": "rubric", "pass": 75}).rules.pass_mark
    75.0
    """
    table, source = profile_table(given, folder or Path())
    return _profile(table, source)


def profile_table(given: str | Table, folder: Path, chain: tuple[str, ...] = ()) -> tuple[dict[str, Any], str]:
    """The profile's TOML as a table, overlaid on the `base` that it names, and where it came from."""
    if not isinstance(given, str):
        table, source = dict(given), "[profile]"
    elif given.endswith(".toml") or (folder / given).is_file():
        table, source = _read(folder / given, given), given
    else:
        table, source = tomllib.loads(builtin_text(given)), given
    _check_kinds(table, source)
    if "base" in table:
        name = str(table.pop("base"))
        if name in chain:
            raise SettingsError(f'profile {source}: base "{name}" leads back to itself')
        table = _overlaid(profile_table(name, folder, (*chain, name))[0], table)
    return table, source


def _read(path: Path, name: str) -> dict[str, Any]:
    try:
        return parse_toml(path.read_text(encoding="utf-8-sig"), f"profile {name}")
    except OSError as error:
        raise SettingsError(f"profile {name}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"profile {name}: not valid TOML: {error}") from None


def _overlaid(base: Table, own: Table) -> dict[str, Any]:
    """The base with the named keys changed and nothing else: in tables and route groups by key, in criteria by metric."""
    table = _overlaid_rules(base, own)
    for key in ("words", "settings", "routes"):
        table[key] = {**base.get(key, {}), **own.get(key, {})}
    groups = dict(base.get("on", {}))
    for group, rules in own.get("on", {}).items():
        groups[group] = _overlaid_rules(groups.get(group, {}), rules, inherited=base)
    return {**table, "on": groups}


def _overlaid_rules(base: Table, own: Table, inherited: Table | None = None) -> dict[str, Any]:
    """One set of rules; a route group without criteria or bands of its own starts from the `inherited` ones."""
    table = {**base, **own}
    for key, name in (("criteria", "metric"), ("bands", "name")):
        known = base.get(key) or (inherited or {}).get(key, [])
        if key in own and known:
            table[key] = _merged(known, own[key], name)
    if "bands" in own and "pass" not in own and "pass" in table:
        passing = [band["at"] for band in table["bands"] if band.get("status") != FAILED and "at" in band]
        table["pass"] = min(passing, default=table["pass"])
    return table


def _merged(known: Sequence[Table], own: Sequence[Table], name: str) -> list[Table]:
    """The known entries with those of the same name changed, and new ones added. New bands replace the old ones."""
    by_name = {item.get(name): item for item in known}
    if name == "name" and any(item.get(name) not in by_name for item in own):
        return list(own)
    for item in own:
        by_name[item.get(name)] = {**by_name.get(item.get(name), {}), **item}
    return list(by_name.values())


def _profile(table: Table, source: str) -> Profile:
    _check_keys(table, _KEYS, source)
    without = _without(table, source)
    routes = {group: _strings(names, source, f"routes.{group}") for group, names in table.get("routes", {}).items()}
    for group, own in table.get("on", {}).items():
        _check_keys(own, _GROUP_KEYS, source, f" in [on.{group}]")
        if group not in routes:
            fix = f"list them as {group} = [...] under [routes]"
            raise SettingsError(f"profile {source}: [on.{group}] has no routes; {fix}")
    words = {name: _strings(w, source, f"words.{name}") for name, w in table.get("words", {}).items()}
    for name in words:
        if name not in default_words():
            hint = did_you_mean(name, default_words())
            raise SettingsError(f'profile {source}: unknown word list "{name}"{hint}')
    profile = Profile(
        name=table.get("name") or Path(source).stem,
        version=table.get("version", 1),
        summary=table.get("summary", ""),
        rules=_rules(table, source, without),
        group_rules={
            group: _rules({**table, **own}, f"{source} [on.{group}]", without)
            for group, own in table.get("on", {}).items()
        },
        routes={"kpi": (), "documents": (), **routes},
        scale=_within(table.get("scale", 1), source, "scale", above=0),
        route_weight=_within(table.get("route_weight", 0), source, "route_weight", above=-1e-12, below=1),
        informational=_strings(table.get("informational", []), source, "informational"),
        settings=table.get("settings", {}),
        words={**default_words(), **words},
    )
    content = {key: value for key, value in asdict(profile).items() if key not in {"summary", "digest"}}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
    return replace(profile, digest=digest[:16])


def _without(table: Table, source: str) -> frozenset[str]:
    """The criteria to leave out; each must be in the profile, on some route at least."""
    given = _strings(table.get("without", []), source, "without")
    known = {
        str(item.get("metric"))
        for rules in (table, *table.get("on", {}).values())
        for item in rules.get("criteria", [])
    }
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known) or f"; its criteria are {', '.join(sorted(known))}"
            raise SettingsError(f'profile {source}: without: there is no criterion "{name}"{hint}')
    return frozenset(given)


def _rules(table: Table, source: str, without: frozenset[str]) -> ScoringRules:
    if not table.get("criteria"):
        raise SettingsError(f"profile {source}: no criteria; add at least one [[criteria]] with a metric")
    listed = [_filled(Criterion, item, source, "criterion") for item in table["criteria"]]
    for criterion in listed:
        where = f"{source}, criterion {criterion.metric}"
        _within(criterion.weight, where, "weight", above=-1e-12)
        _within(criterion.maximum, where, "maximum", above=0)
        if criterion.better not in {"higher", "lower"}:
            found = f'better is "{criterion.better}"'
            raise SettingsError(f'profile {where}: {found}, expected "higher" or "lower"')
    criteria = tuple(criterion for criterion in listed if criterion.metric not in without)
    if sum(criterion.weight for criterion in criteria) <= 0:
        raise SettingsError(f"profile {source}: the weights add up to 0; at least one must be above 0")
    pass_mark = float(table.get("pass", 0.5 * table.get("scale", 1)))
    if "bands" not in table:
        return ScoringRules(criteria, pass_mark, _bands([Band("passed", pass_mark, "PASSED")], pass_mark))
    if not table["bands"]:
        raise SettingsError(f"profile {source}: bands is [], expected at least one band")
    bands = [_filled(Band, item, source, "band") for item in table["bands"]]
    return ScoringRules(criteria, pass_mark, _bands(bands, pass_mark))


def _bands(bands: Iterable[Band], pass_mark: float) -> tuple[Band, ...]:
    """Highest first, made to agree with the pass mark: the lowest band that passes begins there, and so does every
    passing band below it; a failing band above it can't be reached and is left out."""
    ordered = sorted(bands, key=lambda band: -band.at)
    failing = [band for band in ordered if band.status == FAILED and band.at < pass_mark]
    passing = [replace(band, at=max(band.at, pass_mark)) for band in ordered if band.status != FAILED]
    passing[-1:] = [replace(band, at=pass_mark) for band in passing[-1:]]
    return (*passing, *(failing or [Band("failed", 0.0, FAILED)]))


def _filled(kind: type[T], item: Table, source: str, what: str) -> T:
    _check_keys(item, [field.name for field in fields(kind)], source, f" in a {what}")
    try:
        return kind(**item)
    except TypeError as error:
        missing = str(error).rpartition("argument")[2].strip(": s")
        raise SettingsError(f"profile {source}: a {what} lacks {missing}") from None


def _check_keys(table: Table, known: Iterable[str], source: str, where: str = "") -> None:
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known) or f"; the keys are {', '.join(sorted(known))}"
            raise SettingsError(f'profile {source}: unknown key "{key}"{where}{hint}')


def _check_kinds(table: Table, source: str) -> None:
    """Every value has the type that its key asks for, before anything is merged or built."""
    for key, value in table.items():
        expected = _KINDS.get(key)
        if expected and not _is_kind(value, expected):
            wanted = f"a table [{key}]" if expected == "a table" else expected
            raise SettingsError(f"profile {source}: {key} is {shown(value)}, expected {wanted}")
    for key in ("on", "settings"):
        for name, own in table.get(key, {}).items():
            if not _is_kind(own, "a table"):
                where = f"{key}.{name}"
                raise SettingsError(f"profile {source}: {where} is {shown(own)}, expected a table [{where}]")
            if key == "on":
                _check_kinds(own, f"{source} [on.{name}]")
    for key, what in (("criteria", "criterion"), ("bands", "band")):
        for item in table.get(key, []):
            _check_kinds(item, f"{source}, {what}")


def _is_kind(value: object, expected: str) -> bool:
    if expected == "a number":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST
    if expected == "a whole number":
        return isinstance(value, int) and not isinstance(value, bool)
    if expected == "a list of tables":
        return is_list(value) and all(is_mapping(item) for item in value)
    return isinstance(value, {"a string": str, "true or false": bool, "a table": Mapping}[expected])


def _within(value: float, source: str, key: str, *, above: float, below: float = math.inf) -> float:
    if not above < value <= below:
        limit = f" above {max(above, 0):g}" + (f" and at most {below:g}" if below < math.inf else "")
        raise SettingsError(f"profile {source}: {key} is {shown(value)}, expected a number{limit}")
    return float(value)


def _strings(value: object, source: str, key: str) -> tuple[str, ...]:
    if not is_list(value) or not all(isinstance(item, str) for item in value):
        raise SettingsError(f"profile {source}: {key} is {shown(value)}, expected a list of strings")
    return tuple(value)


_HEADER = re.compile(r"^\s*\[")
_CRITERIA = re.compile(r"^\s*\[\[\s*(on\.[\w-]+\.)?criteria\s*\]\]\s*(#.*)?$")
_METRIC = re.compile(r"""^\s*metric\s*=\s*["']([^"']+)["']""")
_FLOOR = re.compile(r"^(\s*floor\s*=\s*)[^#\n]*?(\s*(#.*)?)$")


def with_floor(text: str, metric: str, floor: float) -> str | None:
    """The TOML with the floor of that metric's criteria set; None where it has no [[criteria]] table."""
    lines = text.splitlines()
    starts = [n for n, line in enumerate(lines) if _HEADER.match(line)] + [len(lines)]
    found = False
    for start, end in reversed(list(pairwise(starts))):
        block = lines[start:end]
        names = [(n, match[1]) for n, line in enumerate(block) if (match := _METRIC.match(line))]
        if not _CRITERIA.match(lines[start]) or not names or names[0][1] != metric:
            continue
        found = True
        floors = [n for n, line in enumerate(block) if _FLOOR.match(line)]
        if floors:
            block[floors[0]] = _FLOOR.sub(rf"\g<1>{floor!r}\g<2>", block[floors[0]])
        else:
            block.insert(names[0][0] + 1, f"floor = {floor!r}")
        lines[start:end] = block
    return "\n".join(lines) + "\n" if found else None
