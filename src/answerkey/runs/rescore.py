"""A new run from the answers of an earlier one: another ruler, and nobody is asked again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from answerkey.errors import InputError
from answerkey.runs.control import Finished, Options, Selection, Stop, Watch
from answerkey.runs.execute import run_prepared
from answerkey.runs.prepare import prepare
from answerkey.runs.store import open_index, read_manifest
from answerkey.runs.suite import Suite, load_suite, suite_of
from answerkey.types import Case


def rescore(
    folder: Path,
    changes: Mapping[str, Any],
    out: Path | None = None,
    watch: Watch | None = None,
    stop: Stop | None = None,
) -> Finished:
    """`changes` are suite settings by name (profile, judge, embedding, metrics); the rest stays as it was."""
    suite = _suite(folder, changes)
    suite = replace(suite, run=replace(suite.run, out=str((out or folder.parent).resolve())))
    index = open_index(folder)

    def answered() -> Iterator[tuple[int, Case]]:
        for n, outcome in enumerate(index.outcomes(unscored=True)):
            yield n, replace(outcome.case, recorded=outcome.response)

    with closing(prepare(suite, Selection(), answered, new=False)) as prepared:
        # The answers are those of the target that was asked then, and its settings stay with them.
        prepared.fingerprint["settings"] = read_manifest(folder)["fingerprint"]["settings"]
        return run_prepared(prepared, Options(), watch or Watch(), Stop() if stop is None else stop)


def _suite(folder: Path, changes: Mapping[str, Any]) -> Suite:
    """The suite as the run's folder tells it; metrics of the user's own come from the suite's file, if it is still there."""
    manifest = read_manifest(folder)
    path = Path(manifest["suite"]) if manifest.get("suite") else None
    beside = load_suite(path) if path and path.is_file() else None
    settings = manifest["settings"]
    names = manifest.get("metrics", [])
    extra = [name for name in names if name not in _profile_metrics(manifest)]
    table = {
        "name": manifest["name"],
        "cases": settings["cases"] or ["-"],
        "profile": manifest.get("profile"),
        "metrics": extra,
        "judge": beside.judge if beside else settings.get("judge"),
        "embedding": beside.embedding if beside else settings.get("embedding", {}),
        "modules": list(beside.modules) if beside else [],
        "gate": {"require": manifest.get("gate", [])},
        **{key: value for key, value in changes.items() if value is not None},
    }
    if not table["metrics"] and table["profile"] is None:
        raise InputError(f"{folder}: this run has no profile; give one with --profile")
    suite = suite_of(
        {key: value for key, value in table.items() if value is not None},
        beside.folder if beside else Path.cwd(),
    )
    return replace(suite, path=path, settings=beside.settings if beside else {})


def _profile_metrics(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    from answerkey.profiles import load_profile

    return load_profile(manifest["profile"]).metrics if manifest.get("profile") else ()
