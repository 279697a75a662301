"""The suite: one TOML file that says what to ask, whom, and how to score it. Paths are relative to its folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import msgspec

from answerkey.cases.loader import DOCUMENT_ENDINGS, ENDINGS
from answerkey.coerce.decode import parse_toml
from answerkey.coerce.values import is_mapping
from answerkey.config import tables
from answerkey.config.declare import TomlTable, check_settings, old_names, read_table, use_new_names
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.config.tables import (
    DEFAULT_MODEL,
    PACKAGED_NAME,
    ExecutionTable,
    StatisticsTable,
    UserTable,
    VariantsTable,
)
from answerkey.errors import SettingsError, did_you_mean
from answerkey.metrics.judge.own_criteria import read_criteria
from answerkey.runs.thresholds import read_thresholds, threshold_profile
from answerkey.types import Requirement

SCORED_SHARE = "scored_share"  # the gate on the share of cases that were scored


@dataclass(frozen=True, slots=True)
class Suite:
    """Everything a run is made of, as the TOML file has it."""

    name: str
    cases: tuple[str, ...]
    folder: Path = Path()
    path: Path | None = None
    profile: str | TomlTable | None = None
    metrics: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    target: TomlTable = field(default_factory=TomlTable)
    targets: tuple[TomlTable, ...] = ()
    prompts: tuple[TomlTable, ...] = ()
    judge: str | TomlTable | None = None
    embedding: TomlTable = field(default_factory=lambda: {"model": DEFAULT_MODEL})
    entailment: TomlTable = field(default_factory=lambda: {"model": PACKAGED_NAME})
    run: ExecutionTable = field(default_factory=ExecutionTable)
    gate: tuple[str, ...] = ()
    criteria: tuple[Requirement, ...] = ()
    retrieval: TomlTable = field(default_factory=TomlTable)
    statistics: StatisticsTable = field(default_factory=StatisticsTable)
    variants: VariantsTable = field(default_factory=VariantsTable)
    user: UserTable | None = None
    settings: Mapping[str, TomlTable] = field(default_factory=dict[str, TomlTable])
    notices: tuple[str, ...] = ()

    def writing_to(self, folder: Path) -> Suite:
        """The same suite with its run folders in `folder`."""
        return replace(self, run=msgspec.structs.replace(self.run, out=str(folder.resolve())))


def load_suite(
    path: Path, overrides: Mapping[str, Any] | None = None, collection: str | None = None
) -> Suite:
    """The suite of a file, checked; `overrides` are settings by dotted name, as `--set run.workers=3` gives them.
    `collection` replaces that of the vector store. A file of cases, or a document to answer from, stands for a suite
    that has only this."""
    if path.is_dir():
        others = ", ".join(sorted(each.name for each in path.glob("*.toml"))[:5])
        if others:
            hint = f"such as {others}"
        else:
            hint = "or write one with `answerkey init`"
        if not (path / "suite.toml").is_file():
            raise SettingsError(
                f"{path}: a folder without a suite.toml; name the suite's file, {hint}"
            )
        path = path / "suite.toml"
    overrides = overrides or {}
    is_suite_file = False
    try:
        if path.suffix.lower() in ENDINGS and path.is_file():
            table = {"cases": [path.name]}
        elif path.suffix.lower() in DOCUMENT_ENDINGS and path.is_file():
            if "cases" not in overrides:
                raise SettingsError(
                    f"{path}: a document to answer from; name the questions with --dataset cases.csv"
                )
            # `full-context` reads the whole document, `rag` searches it.
            rag = overrides.get("target.kind") != "full-context"
            if rag:
                target = {"kind": "rag", "documents": path.name}
            else:
                target = {"knowledge": path.name}
            table = {"profile": "rag", "target": target}
        else:
            is_suite_file = True
            # Editors on Windows write a byte-order mark.
            table = parse_toml(path.read_text(encoding="utf-8-sig"), str(path))
    except OSError as error:
        if path.parent.is_dir():
            near = did_you_mean(path.name, [p.name for p in path.parent.glob("*.toml")])
        else:
            near = ""
        raise SettingsError(f"{path}: cannot be read: {error.strerror}{near}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None
    for dotted, value in overrides.items():
        name = _present_name(dotted)
        # Before the new value is put in: one setting must not stand there under two names.
        _forget_old_name(table, name)
        _put(table, name.split("."), value)
    suite = suite_of(
        table,
        path.parent,
        # "suite" says nothing; the folder's name tells the projects apart.
        default_name=path.parent.resolve().name if path.stem == "suite" else path.stem,
    )
    suite = replace(suite, path=path)
    if not is_suite_file and "run.out" not in overrides:
        # Beside documents, the results would be read as documents by the next run.
        suite = suite.writing_to(Path(suite.run.out))
    if collection is None:
        return suite
    return _with_collection(suite, collection)


def _with_collection(suite: Suite, name: str) -> Suite:
    """The suite with another collection where its target or its [retrieval] searches one."""
    tables = {"target": suite.target, "retrieval": suite.retrieval}
    changed = {
        part: _set_collection(table, name)
        for part, table in tables.items()
        if _collection_setting(table) or _collection_setting(table.get("store"))
    }
    if not changed and (suite.target.get("call") or suite.target.get("make")):
        # The user's own function or factory opens the collection.
        changed = {"target": {**suite.target, "collection": name}}
    if not changed:
        raise SettingsError(
            f'--collection "{name}": neither the target nor [retrieval] uses a vector store; '
            "use --tag to select cases"
        )
    return replace(suite, **changed)


def _set_collection(table: TomlTable, name: str) -> TomlTable:
    if setting := _collection_setting(table):
        return {**table, setting: name}
    store = table["store"]
    return {**table, "store": {**store, _collection_setting(store): name}}


def _collection_setting(table: object) -> str:
    """The setting that names the collection of a vector store; "" without a store."""
    settings = {
        "qdrant_": "qdrant_collection",
        "postgres_": "postgres_table",
        "collection": "collection",
    }
    if not is_mapping(table):
        return ""
    return next(
        (
            setting
            for start, setting in settings.items()
            if any(str(key).startswith(start) for key in table)
        ),
        "",
    )


def suite_of(table: Mapping[str, Any], folder: Path, default_name: str = "run") -> Suite:
    """The suite of a table that is already parsed. Tables that only some commands use are checked with it:
    a mistake must not wait for the run that needs them."""
    read = read_table(tables.SuiteTable, table, "the suite")
    if isinstance(read.cases, str):
        cases = (read.cases,)
    else:
        cases = read.cases
    if not cases or not all(cases):
        raise SettingsError(
            'the suite names no cases; give cases = ["qa/*.md"] or another file, folder or glob'
        )
    if isinstance(read.judge, dict):
        check_settings(tables.JudgeTable, read.judge, "[judge]", others=["api_key"])
    retrieval = use_new_names(RetrievalTable, read.retrieval, "[retrieval]")
    check_settings(RetrievalTable, retrieval, "[retrieval]")
    name = folder_name(read.name or default_name)
    if isinstance(read.embedding, str):
        embedding = {"model": read.embedding}
    else:
        embedding = read.embedding
    read_table(tables.EmbeddingTable, embedding, "[embedding]")
    if read.facts.judge:
        settings = {**read.settings, "facts": {"by_judge": True}}
    else:
        settings = read.settings
    metrics, thresholds = read_thresholds(read.metrics)
    profile = read.profile
    if thresholds:
        if profile is not None:
            raise SettingsError(
                "metrics with numbers are a profile of their own; leave the numbers or the profile out"
            )
        profile = threshold_profile(thresholds)
    same = (
        "modules",
        "target",
        "targets",
        "prompts",
        "judge",
        "run",
        "statistics",
        "variants",
        "user",
    )
    return Suite(
        name=name,
        cases=cases,
        folder=folder,
        profile=profile,
        metrics=metrics,
        embedding={"model": DEFAULT_MODEL, **embedding},
        entailment=entailment_table(read.entailment, folder),
        gate=_gates(read.gate),
        criteria=read_criteria(read.criteria),
        settings=settings,
        retrieval=retrieval,
        notices=_notices(read.retrieval),
        **{key: getattr(read, key) for key in same},
    )


def folder_name(name: str) -> str:
    """The name of a suite, safe as the beginning of a folder's name."""
    # The name begins a folder's name, which a dot would hide and a slash would split.
    return re.sub(r"[^\w.-]", "-", name).strip(".-")[:80] or "run"


def entailment_table(table: str | TomlTable, folder: Path) -> TomlTable:
    """The table [entailment]; a folder or card beside the suite is found from everywhere."""
    if isinstance(table, str):
        table = {"model": table}
    table = {"model": tables.PACKAGED_NAME, **table}
    read_table(tables.EntailmentTable, table, "[entailment]")
    for key in ("model", "card"):
        path = folder / str(table.get(key, ""))
        if key in table and table[key] != PACKAGED_NAME and path.exists():
            # Absolute, because workers and a later rescore start in other folders.
            table[key] = str(path.resolve())
    return table


def _gates(gate: tables.GateTable) -> tuple[str, ...]:
    """The conditions; the least share of scored cases is one of them where it is not the default."""
    # The default is applied without a gate, so that it does not appear in every report.
    if gate.scored == tables.GateTable().scored:
        return gate.require
    return (*gate.require, f"{SCORED_SHARE} >= {gate.scored:g}")


def _notices(retrieval: TomlTable) -> tuple[str, ...]:
    moved = old_names(RetrievalTable, retrieval)
    if not moved:
        return ()
    pairs = (f"{old} is now retrieval.{new}" for old, new in moved.items())
    return (f"[retrieval] has settings under old names, which still work: {', '.join(pairs)}",)


def _forget_old_name(table: TomlTable, dotted: str) -> None:
    """An override wins over the same setting of the file, also where the file has its old name."""
    retrieval = table.get("retrieval")
    if not isinstance(retrieval, dict):
        return
    old_table = cast("TomlTable", retrieval)
    for old, new in old_names(RetrievalTable, old_table).items():
        if dotted == f"retrieval.{new}":
            del old_table[old]


def _present_name(dotted: str) -> str:
    """The present name of a setting, as `retrieval.sweep.ks` for `retrieval.ks`."""
    table, _, name = dotted.partition(".")
    if table == "retrieval" and name in RetrievalTable.moved:
        return f"retrieval.{RetrievalTable.moved[name]}"
    return dotted


def _put(table: TomlTable, path: list[str], value: Any) -> None:
    for key in path[:-1]:
        inner = table.setdefault(key, {})
        # `embedding = "name"` is short for a table, which an override may add to.
        if not isinstance(inner, dict):
            inner = table[key] = {
                "model" if key in ("embedding", "entailment") else "preset": inner
            }
        table = cast("TomlTable", inner)
    table[path[-1]] = value
