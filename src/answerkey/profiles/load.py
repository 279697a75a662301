"""Load a profile from TOML: a built-in name, a file, or the [profile] table of a suite."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from answerkey.coerce.decode import parse_toml
from answerkey.config.declare import Table, TomlTable, about, check_settings, read_table
from answerkey.config.tables import EMPTY
from answerkey.errors import SettingsError, did_you_mean
from answerkey.types import Band, Profile, ProfileLine, ScoringRules, Status

Names = tuple[str, ...]
TomlTables = tuple[TomlTable, ...]
Tables = dict[str, TomlTable]


class CriterionTable(Table, frozen=True):
    """[[criteria]]: a metric that counts."""

    metric: Annotated[str, about("The metric's name.")]
    weight: Annotated[float, about("Its share of the score, beside the other weights.", ge=0)] = 1.0
    maximum: Annotated[float, about("The highest value of the metric.", gt=0)] = 1.0
    floor: Annotated[float | None, about("Below this value the reading is shown.")] = None
    required: Annotated[bool, about("The case fails below the floor, whatever the rest.")] = False
    better: Annotated[Literal["higher", "lower"], about("Which values are good.")] = "higher"
    reading: Annotated[str, about("Meaning of a value below the floor.")] = ""
    evidence: Annotated[
        Literal["always", "labelled", "never"],
        about(
            "Whether a good value shows that the answer is right; `labelled`: only where the case "
            "says what is expected. A case without evidence is UNSCORED."
        ),
    ] = "always"


class BandTable(Table, frozen=True):
    """[[bands]]: a range of scores with a name and a status."""

    name: Annotated[str, about("The name of the band.")]
    at: Annotated[float, about("The score from which it begins.")]
    status: Annotated[str, about("The status of its cases; FAILED fails them.")]
    needs_route: Annotated[bool, about("Only cases on the preferred route reach it.")] = False


class RulesTable(Table, frozen=True):
    """The rules for most routes, or under [on.GROUP] those of a group of routes."""

    criteria: Annotated[
        TomlTables,
        about("A list of `{metric, weight, maximum, floor, required, better, reading}`."),
    ] = ()
    pass_mark: Annotated[float | None, about("The pass mark on quality.")] = msgspec.field(
        name="pass", default=None
    )
    bands: Annotated[
        TomlTables | None,
        about(
            "A list of `{name, at, status}`, highest first; `needs_route` asks for the preferred route."
        ),
    ] = None


class ProfileTable(RulesTable, frozen=True):
    """A profile's TOML."""

    name: Annotated[str, about("The profile's name.")] = ""
    version: Annotated[int, about("A whole number, kept in the run.")] = 1
    summary: Annotated[str, about("One line for `answerkey profiles`.")] = ""
    base: Annotated[str, about("A profile to begin with; keys given here replace its keys.")] = ""
    scale: Annotated[float, about("The top of the scale, 1 or 100.", gt=0)] = 1.0
    route_weight: Annotated[
        float, about("The share of the route score in the overall score.", ge=0, le=1)
    ] = 0.0
    routes: Annotated[
        dict[str, Names], about('Groups of routes: `kpi = ["sales_kpi", "hr_kpi"]`.')
    ] = EMPTY
    informational: Annotated[Names, about("Metrics that are shown and do not count.")] = ()
    settings: Annotated[Tables, about("Settings of metrics.")] = EMPTY
    words: Annotated[
        dict[str, Names],
        about("Word lists of the heuristics, by name: another language needs no code."),
    ] = EMPTY
    on: Annotated[
        Tables, about("Criteria, bands and pass mark for one group of routes: `[on.kpi]`.")
    ] = EMPTY
    without: Annotated[
        Names, about("Criteria of the base to leave out; the other weights are renormalised.")
    ] = ()


_HOME = files("answerkey.profiles") / "builtin"


def builtin_names() -> list[str]:
    """The names of the built-in profiles: `["rag", "retrieval", …]`."""
    # The default word lists stand in the same folder and are no profile.
    names = (entry.name for entry in _HOME.iterdir() if entry.name != "words.toml")
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def builtin_text(name: str) -> str:
    """The TOML of a built-in profile."""
    if name not in builtin_names():
        hint = did_you_mean(name, builtin_names())
        raise SettingsError(
            f'unknown profile "{name}"{hint}; built in: {", ".join(builtin_names())}'
        )
    return (_HOME / f"{name}.toml").read_text(encoding="utf-8")


def words_text() -> str:
    """The TOML of the default word lists, which a profile may replace under [words]."""
    return (_HOME / "words.toml").read_text(encoding="utf-8")


@cache
def default_words() -> Mapping[str, tuple[str, ...]]:
    return {name: tuple(listed) for name, listed in tomllib.loads(words_text()).items()}


def load_profile(source: str | TomlTable, folder: Path | None = None) -> Profile:
    """The profile, fully checked; its digest covers everything that can change a verdict.

    >>> load_profile({"base": "rubric", "pass": 75}).rules.pass_mark
    75.0
    """
    table, name = profile_table(source, folder or Path())
    return _make_profile(table, name)


def profile_table(
    profile: str | TomlTable, folder: Path, chain: tuple[str, ...] = ()
) -> tuple[TomlTable, str]:
    """The profile's TOML as a table, overlaid on the `base` that it names, and where it came from."""
    if not isinstance(profile, str):
        table = dict(profile)
        source = "[profile]"
    # A file need not end in .toml; it wins over a built-in profile of the same name.
    elif profile.endswith(".toml") or (folder / profile).is_file():
        try:
            # Editors on Windows may begin the file with a byte-order mark.
            text = (folder / profile).read_text(encoding="utf-8-sig")
        except OSError as error:
            raise SettingsError(f"profile {profile}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise SettingsError(f"profile {profile}: not valid TOML: {error}") from None
        table = parse_toml(text, f"profile {profile}")
        source = profile
    else:
        table = tomllib.loads(builtin_text(profile))
        source = profile
    # Checked before the overlay, so that an error names the file with the wrong key.
    _check(table, f"profile {source}")
    if "base" in table:
        name = str(table.pop("base"))
        if name in chain:
            raise SettingsError(f'profile {source}: base "{name}" leads back to itself')
        table = _overlay(profile_table(name, folder, (*chain, name))[0], table)
    return table, source


def _overlay(base: TomlTable, own: TomlTable) -> TomlTable:
    """The base with the named keys changed and nothing else: in tables and route groups by key, in criteria by metric."""
    table = _overlay_rules(base, own)
    # These tables are merged by key: a new word list leaves the other lists as they are.
    for key in ("words", "settings", "routes"):
        table[key] = {**base.get(key, {}), **own.get(key, {})}
    groups = dict(base.get("on", {}))
    for group, rules in own.get("on", {}).items():
        groups[group] = _overlay_rules(groups.get(group, {}), rules, inherited=base)
    return {**table, "on": groups}


def _overlay_rules(
    base: TomlTable, own: TomlTable, inherited: TomlTable | None = None
) -> TomlTable:
    """One set of rules; a route group without criteria or bands of its own starts from the `inherited` ones."""
    table = {**base, **own}
    for key, name in (("criteria", "metric"), ("bands", "name")):
        inherited_entries = base.get(key) or (inherited or {}).get(key, [])
        if key in own and inherited_entries:
            table[key] = _merge_entries(inherited_entries, own[key], name)
    # New bands bring their own pass mark, unless the profile sets one beside them.
    if "bands" in own and "pass" not in own and "pass" in table:
        passing = [
            band["at"]
            for band in table["bands"]
            if band.get("status") != Status.FAILED and "at" in band
        ]
        table["pass"] = min(passing, default=table["pass"])
    return table


def _merge_entries(
    base: Sequence[TomlTable], own: Sequence[TomlTable], name: str
) -> list[TomlTable]:
    """The entries of the base with those of the same name changed, and new ones added.

    New bands replace the old ones: a scale with other names is another scale.
    """
    by_name = {item.get(name): item for item in base}
    if name == "name" and any(item.get(name) not in by_name for item in own):
        return list(own)
    for item in own:
        by_name[item.get(name)] = {**by_name.get(item.get(name), {}), **item}
    return list(by_name.values())


def _check(table: TomlTable, where: str) -> None:
    """Every key is known and has its type, before anything is merged; a table that changes another one may be partial."""
    read = check_settings(ProfileTable, table, where)
    groups = {
        f"{where} [on.{group}]": check_settings(RulesTable, own, f"{where} [on.{group}]")
        for group, own in read.get("on", {}).items()
    }
    for place, rules in ({where: read} | groups).items():
        for item in rules.get("criteria", ()):
            check_settings(
                CriterionTable, item, f"{place}, criterion {item.get('metric', '')}".rstrip()
            )
        for item in rules.get("bands") or ():
            check_settings(BandTable, item, f"{place}, band {item.get('name', '')}".rstrip())


def _make_profile(table: TomlTable, source: str) -> Profile:
    where = f"profile {source}"
    read = read_table(ProfileTable, table, where)
    _check_names(read, where)
    profile = Profile(
        name=read.name or Path(source).stem,
        version=read.version,
        summary=read.summary,
        rules=_rules(table, where, read.without),
        group_rules={
            group: _rules({**table, **own}, f"{where} [on.{group}]", read.without)
            for group, own in read.on.items()
        },
        # Metrics look up these two groups by name, also in a profile without routes.
        routes={"kpi": (), "documents": (), **read.routes},
        scale=read.scale,
        route_weight=read.route_weight,
        informational=read.informational,
        settings=read.settings,
        words={**default_words(), **read.words},
    )
    # The summary cannot change a verdict, and the digest cannot contain itself.
    content = {
        key: value for key, value in asdict(profile).items() if key not in {"summary", "digest"}
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
    return replace(profile, digest=digest[:16])


def _check_names(read: ProfileTable, where: str) -> None:
    """Check the names of route groups, word lists and criteria that refer to others."""
    for group in read.on:
        if group not in read.routes:
            raise SettingsError(
                f"{where}: [on.{group}] has no routes; list them as {group} = [...] under [routes]"
            )
    for name in read.words:
        if name not in default_words():
            raise SettingsError(
                f'{where}: unknown word list "{name}"{did_you_mean(name, default_words())}'
            )
    groups = (item for rules in read.on.values() for item in rules.get("criteria", ()))
    # A criterion of one group of routes may be left out, too.
    criteria = {str(item.get("metric")) for item in (*read.criteria, *groups)}
    for name in read.without:
        if name not in criteria:
            names = ", ".join(sorted(criteria))
            hint = did_you_mean(name, criteria) or f"; its criteria are {names}"
            raise SettingsError(f'{where}: without: there is no criterion "{name}"{hint}')


def _rules(table: TomlTable, where: str, without: Names) -> ScoringRules:
    if not table.get("criteria"):
        raise SettingsError(f"{where}: no criteria; add at least one [[criteria]] with a metric")
    for item in table["criteria"]:
        read_table(CriterionTable, item, f"{where}, criterion")
    criteria = tuple(
        ProfileLine(**item) for item in table["criteria"] if item["metric"] not in without
    )
    if sum(criterion.weight for criterion in criteria) <= 0:
        raise SettingsError(f"{where}: the weights add up to 0; at least one must be above 0")
    pass_mark = _pass_mark(table)
    return ScoringRules(
        criteria, pass_mark, _bands(_read_bands(table, pass_mark, where), pass_mark)
    )


def _pass_mark(table: TomlTable) -> float:
    """The pass mark; by default half of the scale."""
    # null, which only JSON has, is no value.
    if table.get("pass") is not None:
        return float(table["pass"])
    scale = table.get("scale")
    return 0.5 if scale is None else float(0.5 * scale)


def _read_bands(table: TomlTable, pass_mark: float, where: str) -> list[Band]:
    if table.get("bands") is None:
        return [Band("passed", pass_mark, "PASSED")]
    if not table["bands"]:
        raise SettingsError(f"{where}: bands is [], expected at least one band")
    for item in table["bands"]:
        read_table(BandTable, item, f"{where}, band")
    return [Band(**item) for item in table["bands"]]


def _bands(bands: Iterable[Band], pass_mark: float) -> tuple[Band, ...]:
    """Highest first, made to agree with the pass mark: the lowest band that passes begins there, and so does every
    passing band below it; a failing band above it can't be reached and is left out."""
    # A verdict takes the first band that its quality reaches.
    ordered = sorted(bands, key=lambda band: -band.at)
    failing = [band for band in ordered if band.status == Status.FAILED and band.at < pass_mark]
    passing = [
        replace(band, at=max(band.at, pass_mark))
        for band in ordered
        if band.status != Status.FAILED
    ]
    passing[-1:] = [replace(band, at=pass_mark) for band in passing[-1:]]
    return (*passing, *(failing or [Band("failed", 0.0, Status.FAILED)]))


_HEADER = re.compile(r"^\s*\[")
_CRITERIA = re.compile(r"^\s*\[\[\s*(on\.[\w-]+\.)?criteria\s*\]\]\s*(#.*)?$")
_METRIC = re.compile(r"""^\s*metric\s*=\s*["']([^"']+)["']""")
_FLOOR = re.compile(r"^(\s*floor\s*=\s*)[^#\n]*?(\s*(#.*)?)$")


def with_floor(text: str, metric: str, floor: float) -> str | None:
    """The TOML with the floor of that metric's criteria set; None where it has no [[criteria]] table."""
    # Edited as text: a TOML writer would drop the comments of the user's file.
    lines = text.splitlines()
    starts = [n for n, line in enumerate(lines) if _HEADER.match(line)] + [len(lines)]
    is_changed = False
    # From the last block to the first, as an inserted line moves everything below it.
    for start, end in reversed(list(pairwise(starts))):
        block = lines[start:end]
        names = [(n, match[1]) for n, line in enumerate(block) if (match := _METRIC.match(line))]
        if not _CRITERIA.match(lines[start]) or not names or names[0][1] != metric:
            continue
        is_changed = True
        floors = [n for n, line in enumerate(block) if _FLOOR.match(line)]
        if floors:
            block[floors[0]] = _FLOOR.sub(rf"\g<1>{floor!r}\g<2>", block[floors[0]])
        else:
            block.insert(names[0][0] + 1, f"floor = {floor!r}")
        lines[start:end] = block
    return "\n".join(lines) + "\n" if is_changed else None
