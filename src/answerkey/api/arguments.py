"""The arguments of `evaluate` as a suite object. Only what differs from the defaults is checked as settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from answerkey.coerce.values import is_list, is_mapping
from answerkey.config.declare import TomlTable, check_settings, read_table
from answerkey.config.tables import (
    DEFAULT_MODEL,
    EmbeddingTable,
    ExecutionTable,
    JudgeTable,
    UserTable,
    VariantsTable,
)
from answerkey.embed.object_embedder import register_embedder
from answerkey.errors import SettingsError
from answerkey.metrics.registry import Metric
from answerkey.runs.suite import Suite, entailment_table, folder_name

_DEFAULT_RUN = ExecutionTable()


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of `evaluate`; `source` names the data in messages."""

    name: str
    source: str
    metrics: object = ()
    profile: object = None
    judge: object = None
    embedding: object = None
    entailment: object = None
    target: object = None
    gates: Sequence[str] = ()
    workers: int = _DEFAULT_RUN.workers
    timeout: float = _DEFAULT_RUN.timeout
    repeats: int = _DEFAULT_RUN.repeats
    jobs: int | None = _DEFAULT_RUN.jobs
    variants: Sequence[str] = ()
    user: Mapping[str, object] | None = None
    settings: Mapping[str, Mapping[str, object]] | None = None


def make_suite(arguments: Arguments) -> tuple[Suite, list[Metric]]:
    """The suite of these arguments, and the functions among the metrics."""
    names, functions, thresholds = _read_metrics(arguments.metrics)
    profile = arguments.profile
    if isinstance(profile, Path):
        profile = str(profile)
    if thresholds is not None:
        if profile is not None:
            raise SettingsError(
                "metrics with numbers are a profile of their own; leave the numbers or profile= out"
            )
        profile = thresholds
    suite = Suite(
        name=arguments.name if arguments.name.isidentifier() else folder_name(arguments.name),
        cases=(arguments.source,),
        profile=cast("str | TomlTable | None", profile),
        metrics=tuple(names),
        run=_run_table(arguments),
        gate=tuple(arguments.gates),
    )
    if arguments.variants:
        table = {"kinds": list(arguments.variants)}
        suite = replace(suite, variants=read_table(VariantsTable, table, "variants"))
    if arguments.settings is not None:
        settings = {name: dict(table) for name, table in arguments.settings.items()}
        suite = replace(suite, settings=settings)
    if arguments.user is not None:
        suite = replace(suite, user=read_table(UserTable, arguments.user, "user"))
    return replace(suite, **_read_models(arguments)), functions


def _read_models(arguments: Arguments) -> dict[str, Any]:
    """The settings of those among target, judge and models that were given."""
    readers = {
        "target": _target_table,
        "judge": _judge_settings,
        "embedding": _embedding_table,
        "entailment": _entailment_table,
    }
    values = {name: getattr(arguments, name) for name in readers}
    return {name: readers[name](value) for name, value in values.items() if value is not None}


def _read_metrics(metrics: object) -> tuple[list[str], list[Metric], TomlTable | None]:
    """The names, the functions, and the profile that numbers beside the names make."""
    # A string is a sequence, too: its letters would pass for names.
    if isinstance(metrics, str) or callable(metrics):
        metrics = [metrics]
    # Plain names, the usual case, need none of the imports below.
    if is_list(metrics) and all(isinstance(item, str) and "=" not in item for item in metrics):
        return cast("list[str]", list(metrics)), [], None
    from answerkey.api.adapters import metrics_of
    from answerkey.runs.thresholds import read_thresholds, threshold_profile

    if is_mapping(metrics):
        return [], [], threshold_profile(read_thresholds(cast("dict[str, float]", metrics))[1])
    if not is_list(metrics):
        kind = type(metrics).__name__
        raise SettingsError(f'metrics: found {kind}, expected names, as in ["answer_agreement"]')
    names, functions = metrics_of(metrics)
    plain_names, thresholds = read_thresholds(names)
    if thresholds:
        profile = threshold_profile(thresholds)
    else:
        profile = None
    return list(plain_names), functions, profile


def _run_table(arguments: Arguments) -> ExecutionTable:
    jobs = arguments.jobs
    if arguments.embedding is not None and not isinstance(arguments.embedding, (str, Mapping)):
        jobs = 1  # an embedder object is in this process only
    options = {
        "workers": arguments.workers,
        "timeout": arguments.timeout,
        "repeats": arguments.repeats,
        "jobs": jobs,
    }
    if all(value == getattr(_DEFAULT_RUN, name) for name, value in options.items()):
        return _DEFAULT_RUN
    return read_table(ExecutionTable, options, "evaluate")


def _target_table(target: object) -> TomlTable:
    if is_mapping(target):
        return dict(target)
    # A bot that is an object has no settings; run.json keeps its name.
    from answerkey.metrics.judge.judges import name_of

    return {"kind": "python", "call": f"python:{name_of(target)}"}


def _judge_settings(judge: object) -> str | TomlTable | None:
    """The judge as a suite names it; a function has no settings."""
    if isinstance(judge, str):
        return judge
    if not is_mapping(judge):
        return None
    table = dict(judge)
    # Python code may pass the key itself; a suite names only its variable.
    check_settings(JudgeTable, table, "[judge]", others=["api_key"])
    return table


def _entailment_table(entailment: object) -> TomlTable:
    return entailment_table(cast("str | TomlTable", entailment), Path())


def _embedding_table(embedding: object) -> TomlTable:
    if is_mapping(embedding):
        table = dict(embedding)
    elif isinstance(embedding, str):
        table = {"model": embedding}
    else:
        table = {"model": register_embedder(embedding)}
    read_table(EmbeddingTable, table, "[embedding]")
    return {"model": DEFAULT_MODEL, **table}
